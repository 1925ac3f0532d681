"""Images and PDFs that a tool has read: the model sees them in the request that brings the result."""

from __future__ import annotations

from collections.abc import Callable

from quorum.application.turn.attachments import Attachments
from quorum.application.turn.steering import PendingMessage, PendingMessages
from quorum.domain.conversation.attachment import Attachment
from quorum.domain.conversation.document import Document
from quorum.domain.errors import AttachmentError
from quorum.domain.replacing import replace

_NO_ROOM = (
    "{name} takes about {needed:,} tokens, and the context window has room for {room:,}; "
    "`pdftotext` with -f and -l prints some of its pages"
)


class CallAttachments:
    """Implements `AttachmentViewer`: stores the attachment and sends it after the results of the batch.

    `room` answers how many tokens the conversation has room for.
    """

    def __init__(
        self, attachments: Attachments, pending_messages: PendingMessages, room: Callable[[], int]
    ) -> None:
        self._attachments = attachments
        self._pending_messages = pending_messages
        self._room = room

    async def show(self, attachment: Attachment, content: bytes, *, call_id: str) -> Attachment:
        """Show it with the result of this call, which has to hold its label. Raises AttachmentError."""
        if isinstance(attachment, Document) and attachment.tokens > (room := self._room()):
            raise AttachmentError(_NO_ROOM.format(name=attachment.name, needed=attachment.tokens, room=room))
        kept = await self._attachments.keep(attachment, content)
        said = self._attachments.build_message(kept.label)
        self._pending_messages.add(PendingMessage(replace(said, of_call=call_id), is_notice=True))
        return kept
