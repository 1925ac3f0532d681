"""The images and PDFs that the person attached: kept first, then found in a prompt by their labels.

Images and PDFs that a tool has read: the model sees them in the request that brings the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from quorum.application.ports.storage import ContentStore
from quorum.application.ports.workspace import AttachmentSource
from quorum.application.turn.steering import PendingMessage, PendingMessages
from quorum.domain.conversation.attachment import Attachment, Document, Image
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import AttachmentError, LedgerError
from quorum.domain.events.event import Event, MessageAdded
from quorum.domain.replacing import replace

_LABEL = re.compile(r"\[(?:image [^\]\n]+ \d+×\d+|PDF [^\]\n]+ [\d,.]+ [a-zA-Z]+)\]")
_LOST = "quorum ended before it was shown; it has to be attached again"


class Attachments:
    """The images and PDFs of a session, also those of its `past`.

    A label stands in a text for what is attached, wherever that text goes: into the queue, into a draft, back
    to be edited. What is deleted from it is not shown. `hide` takes secrets out of names.
    """

    def __init__(
        self,
        source: AttachmentSource,
        contents: ContentStore,
        *,
        hide: Callable[[str], str],
        past: Iterable[Event] = (),
    ) -> None:
        self._source = source
        self._contents = contents
        self._hide = hide
        self._by_label: dict[str, Attachment] = {}
        for event in past:
            if isinstance(event, MessageAdded) and isinstance(event.message, UserMessage):
                self._by_label.update({each.label: each for each in event.message.attachments})

    async def attach(self, path: str) -> Attachment:
        """Store the image or PDF in this file, so that later prompts can name it. Raises
        AttachmentError."""
        return await self.keep(*await self._source.read(path))

    async def paste(self) -> Attachment:
        """Store the image in the clipboard. Raises AttachmentError."""
        return await self.keep(*await self._source.read_clipboard())

    def build_message(self, text: str) -> UserMessage:
        """Return the message for a prompt: its text, and the attachments whose labels it holds, in order."""
        if "[image " not in text and "[PDF " not in text:
            return UserMessage(text)
        places = sorted((text.find(label), label) for label in self._by_label if label in text)
        found = [self._by_label[label] for _, label in places]
        return UserMessage(
            text,
            tuple(each for each in found if isinstance(each, Image)),
            documents=tuple(each for each in found if isinstance(each, Document)),
        )

    def rebuild_message(self, text: str) -> UserMessage:
        """Return the message for a prompt of an earlier process, of which only the text was recorded."""
        said = self.build_message(text)
        lost = (label for label in _LABEL.findall(text) if label not in self._by_label)
        for label in dict.fromkeys(lost):
            text = text.replace(label, f"{label[:-1]}: {_LOST}]")
        return replace(said, text=text)

    async def keep(self, attachment: Attachment, content: bytes) -> Attachment:
        """Store an attachment that was read already, under a unique name. Raises AttachmentError."""
        try:
            await self._contents.put([content])
        except LedgerError as error:
            raise AttachmentError(f"{attachment.name} cannot be attached: {error}") from error
        attachment = self._disambiguate(replace(attachment, name=self._hide(attachment.name)))
        self._by_label[attachment.label] = attachment
        return attachment

    def _disambiguate(self, attachment: Attachment) -> Attachment:
        """Return the attachment under a name that no other of the session has."""
        named, number = attachment, 1
        taken = {known.name: known.sha256 for known in self._by_label.values()}
        while taken.get(named.name, attachment.sha256) != attachment.sha256:
            number += 1
            named = replace(attachment, name=f"{attachment.name} #{number}")
        return named


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
