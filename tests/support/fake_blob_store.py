"""A store that keeps outputs in memory."""

from __future__ import annotations

from application.identifiers import new_id
from domain.errors import BlobError
from domain.output import Content


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
