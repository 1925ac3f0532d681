"""A store that keeps outputs in memory."""

from __future__ import annotations

from application.identifiers import new_id
from application.ports import LineSource
from domain.errors import BlobError
from domain.output import Content, Stored
from domain.summary import text_of


class FakeBlobStore:
    """Keeps what it is given in `contents`, by id."""

    def __init__(self) -> None:
        self.contents: dict[str, Content] = {}

    async def store(self, content: Content) -> str:
        blob_id = new_id()
        self.contents[blob_id] = content
        return blob_id

    async def load(self, blob_id: str) -> Content:
        if blob_id not in self.contents:
            raise BlobError(f"there is no stored output {blob_id!r}")
        return self.contents[blob_id]

    async def exists(self, blob_id: str) -> bool:
        return blob_id in self.contents

    def open_lines(self, blob_id: str) -> LineSource:
        if blob_id not in self.contents:
            raise BlobError(f"there is no stored output {blob_id!r}")
        return _Lines(text_of(Stored(self.contents[blob_id])).splitlines())


class _Lines:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def lines(self, start: int, count: int) -> list[str]:
        return self._lines[start : start + count]

    def find(self, needle: str, start: int, *, backwards: bool) -> int | None:
        places = range(start, -1, -1) if backwards else range(start, len(self._lines))
        return next((place for place in places if needle in self._lines[place]), None)

    def count_so_far(self) -> tuple[int, bool]:
        return len(self._lines), True
