"""Images that a tool has read: the model sees them in the request that brings the result."""

from __future__ import annotations

from application.turn.attachments import Attachments
from application.turn.steering import PendingMessage, PendingMessages
from domain.conversation.history import UserMessage
from domain.conversation.image import Image


class CallImages:
    """Implements `ImageViewer`: keeps the image, and has it said after the results of the batch."""

    def __init__(self, attachments: Attachments, pending_messages: PendingMessages) -> None:
        self._attachments = attachments
        self._pending_messages = pending_messages

    async def show(self, image: Image, content: bytes, *, call_id: str) -> Image:
        """Show it with the result of this call, which has to hold its label. Raises ImageError."""
        kept = await self._attachments.keep(image, content)
        said = UserMessage(kept.label, (kept,), of_call=call_id)
        self._pending_messages.add(PendingMessage(said, is_notice=True))
        return kept
