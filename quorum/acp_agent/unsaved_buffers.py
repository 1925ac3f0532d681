"""What the editor holds of a file and has not saved yet. It is shown, and never written or sealed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from acp.exceptions import RequestError
from pydantic import ValidationError

from quorum.domain.review.questions import ReviewRequest

ReadBuffer = Callable[[str], Awaitable[str]]

_PATIENCE_SECS = 3.0
_LARGEST_BYTES = 1_000_000
_MOST_FILES = 20


class UnsavedBuffers:
    """Compares files of the workspace with what the client has of them; `read` is None where it has no way.

    A client that does not answer in time, or answers with an error, has nothing unsaved.
    """

    def __init__(self, read: ReadBuffer | None, root: Path) -> None:
        self._read = read
        self._root = root.resolve()

    async def find(self, path: Path) -> str | None:
        """The text of the buffer where it is another than that on disk."""
        if self._read is None or (saved := await asyncio.to_thread(self._read_saved, path)) is None:
            return None
        try:
            text = await asyncio.wait_for(self._read(str(path)), _PATIENCE_SECS)
        except (RequestError, ValidationError, ConnectionError, TimeoutError):
            return None
        return text if _normalise(text) != _normalise(saved) else None

    async def describe(self, request: ReviewRequest) -> tuple[str, ...]:
        """A sentence for each file of a packet that has unsaved changes."""
        paths = [Path(file.path) for file in request.packet.seal.files[:_MOST_FILES]]
        found = await asyncio.gather(*map(self.find, paths))
        return tuple(
            f"your editor has unsaved changes in {path}; this call is about the file on disk"
            for path, text in zip(paths, found, strict=True)
            if text is not None
        )

    def _read_saved(self, path: Path) -> str | None:
        """What is on disk, where that is a text of the workspace."""
        try:
            file = path.resolve(strict=True)
            if (
                not file.is_relative_to(self._root)
                or not file.is_file()
                or file.stat().st_size > _LARGEST_BYTES
            ):
                return None
            return file.read_text(encoding="utf-8")
        except (OSError, RuntimeError, ValueError):
            return None


def _normalise(text: str) -> str:
    """Editors hold lines, not their ends."""
    return text.replace("\r\n", "\n").removesuffix("\n")
