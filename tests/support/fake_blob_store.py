"""A store that keeps outputs in memory."""

from __future__ import annotations

from quorum.application.identifiers import generate_id
from quorum.application.ports.storage import LineSource, Spill
from quorum.domain.calls.summary import count_lines, extract_text
from quorum.domain.errors import BlobError
from quorum.domain.events.masking import SecretMask
from quorum.domain.text.json_text import count_utf8_bytes
from quorum.domain.text.output import Content, Stored, Structured, Text


class FakeBlobStore:
    """Keeps what it is given in `contents`, by id, without what `mask` hides."""

    def __init__(self, contents: dict[str, Content] | None = None, mask: SecretMask | None = None) -> None:
        self.contents: dict[str, Content] = {} if contents is None else contents
        self._mask = mask

    async def store(self, content: Content) -> str:
        blob_id = generate_id()
        self.contents[blob_id] = self._masked(content)
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
        return _Lines(extract_text(Stored(self.contents[blob_id])))

    def open_spill(self) -> Spill:
        return _FakeSpill(self.contents, self._mask)

    def _masked(self, content: Content) -> Content:
        if self._mask is None:
            return content
        match content:
            case Text(text):
                return Text(self._mask.mask_text(text))
            case Structured(value):
                return Structured(self._mask.mask_json(value))


class _FakeSpill:
    """Grows in memory: only tests print so little."""

    def __init__(self, contents: dict[str, Content], mask: SecretMask | None) -> None:
        self._contents = contents
        self._mask = mask
        self._text: str | None = ""
        self._kept = False

    @property
    def lines(self) -> int:
        return count_lines(self._text or "")

    @property
    def size_bytes(self) -> int:
        return count_utf8_bytes(self._text or "")

    def write(self, text: str) -> None:
        if self._text is not None:
            self._text += text

    def keep(self) -> str:
        if self._text is None:
            raise BlobError("it was discarded")
        blob_id = generate_id()
        self._contents[blob_id] = Text(self._text if self._mask is None else self._mask.mask_text(self._text))
        self._kept = True
        return blob_id

    def discard(self) -> None:
        if not self._kept:
            self._text = None


class _Lines:
    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")[: count_lines(text)]

    def read_lines(self, start: int, count: int) -> list[str]:
        return self._lines[start : start + count]

    def find(self, needle: str, start: int, *, backwards: bool) -> int | None:
        places = range(start, -1, -1) if backwards else range(start, len(self._lines))
        return next((place for place in places if needle in self._lines[place]), None)

    def count_so_far(self) -> tuple[int, bool]:
        return len(self._lines), True
