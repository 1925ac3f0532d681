"""The images that the person attached: kept first, then found in a prompt by the labels that stand for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from application.ports.storage import ContentStore
from application.ports.workspace import ImageSource
from domain.conversation.history import UserMessage
from domain.conversation.image import Image
from domain.errors import ImageError, LedgerError
from domain.events.event import Event, MessageAdded

_LABEL = re.compile(r"\[image [^\]\n]+ \d+×\d+\]")
_LOST = "quorum ended before it was shown; it has to be attached again"


class Attachments:
    """The images of a session, also those of its `past`.

    A label stands in a text for its image, wherever that text goes: into the queue, into a draft, back to be
    edited. What is deleted from it is not shown. `hide` takes secrets out of names.
    """

    def __init__(
        self,
        source: ImageSource,
        contents: ContentStore,
        *,
        hide: Callable[[str], str],
        past: Iterable[Event] = (),
    ) -> None:
        self._source = source
        self._contents = contents
        self._hide = hide
        self._by_label: dict[str, Image] = {}
        for event in past:
            if isinstance(event, MessageAdded) and isinstance(event.message, UserMessage):
                self._by_label.update({image.label: image for image in event.message.images})

    async def attach(self, path: str) -> Image:
        """Keep the image in this file; it can be named in prompts from now on. Raises ImageError."""
        return await self.keep(*await self._source.read(path))

    async def paste(self) -> Image:
        """Keep the image in the clipboard. Raises ImageError."""
        return await self.keep(*await self._source.from_clipboard())

    def build_message(self, text: str) -> UserMessage:
        """What the person says with this text: with the images whose labels stand in it, in their order."""
        if "[image " not in text:
            return UserMessage(text)
        found = sorted((text.find(label), label) for label in self._by_label if label in text)
        return UserMessage(text, tuple(self._by_label[label] for _, label in found))

    def rebuild_message(self, text: str) -> UserMessage:
        """What the person said with this text to a process before this one, which kept the text alone."""
        said = self.build_message(text)
        lost = (label for label in _LABEL.findall(text) if label not in self._by_label)
        for label in dict.fromkeys(lost):
            text = text.replace(label, f"{label[:-1]}: {_LOST}]")
        return UserMessage(text, said.images)

    async def keep(self, image: Image, content: bytes) -> Image:
        """Keep an image that was read already; it has a name of its own then. Raises ImageError."""
        try:
            await self._contents.put([content])
        except LedgerError as error:
            raise ImageError(f"{image.name} cannot be attached: {error}") from error
        image = self._disambiguate(replace(image, name=self._hide(image.name)))
        self._by_label[image.label] = image
        return image

    def _disambiguate(self, image: Image) -> Image:
        """The image under a name that no other of the session has."""
        named, number = image, 1
        taken = {known.name: known.sha256 for known in self._by_label.values()}
        while taken.get(named.name, image.sha256) != image.sha256:
            number += 1
            named = replace(image, name=f"{image.name} #{number}")
        return named
