"""What commands, keys and pastes do with images: a label in the prompt stands for each, and can be deleted."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on

from tui.chat.actions.base import ChatActions
from tui.prompt_box.prompt import Prompt
from tui.prompt_box.prompt_text import as_prompt

if TYPE_CHECKING:
    from domain.conversation.image import Image

_WISH = "attach the image"


class ImageActions(ChatActions):
    """The part of the chat that attaches images to what is being written."""

    _cwd: Path

    def action_attach_image(self, file: str = "") -> None:
        """Attach the image in a file; without one, the image in the clipboard."""
        if not file:
            self.action_paste_image()
        elif (session := self._begun(_WISH)) is not None:
            path = file.strip().strip("'\"")
            self.run_worker(self._put_label(session.agent.attachments.attach(path)), group="images")

    def action_paste_image(self) -> None:
        """Attach the image in the clipboard."""
        if (session := self._begun(_WISH)) is not None:
            self.run_worker(self._put_label(session.agent.attachments.paste()), group="images")

    @on(Prompt.ImageDropped)
    def _image_dropped(self, message: Prompt.ImageDropped) -> None:
        message.stop()
        if self.session is None:
            self.prompt.insert_pasted(message.pasted)
        else:
            attaching = self.session.agent.attachments.attach(message.path)
            self.run_worker(self._put_label(attaching, otherwise=message.pasted), group="images")

    async def _put_label(self, attaching: Coroutine[object, object, Image], *, otherwise: str = "") -> None:
        """Put the label of what is being attached where the cursor is; where that fails, say why."""
        from domain.errors import QuorumError

        try:
            self.prompt.insert(f"{(await attaching).label} ")
        except QuorumError as error:
            self.tell(str(error))
            if otherwise:
                self.prompt.insert_pasted(otherwise)

    async def with_images(self, text: str) -> str | None:
        """The prompt with the images attached that it mentions; None where one of them cannot be: the prompt is
        back then where it was written, and why is said."""
        from tui.images.mentions import mentioned_images, with_labels

        if "@" not in text or not (mentioned := mentioned_images(text, self._cwd)):
            return text
        if (session := self._begun(_WISH)) is None:
            self.prompt.put(as_prompt(text))
            return None
        from domain.errors import QuorumError

        try:
            labels = [(await session.agent.attachments.attach(path)).label for path in mentioned]
        except QuorumError as error:
            self.tell(str(error))
            self.prompt.put(as_prompt(text))
            return None
        return with_labels(text, labels)
