"""A third store of outputs, written against the text of the port alone: rows of a database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from quorum.application.identifiers import generate_id
from quorum.application.ports.storage import LineSource, Spill
from quorum.domain.errors import BlobError
from quorum.domain.text.output import Content, Structured, Text


class SqliteBlobStore:
    """Implements `BlobStore` and nothing else."""

    def __init__(self, file: Path) -> None:
        self._file = file
        with self._open() as database:
            database.execute("CREATE TABLE IF NOT EXISTS outputs (id TEXT PRIMARY KEY, kind TEXT, body BLOB)")

    async def store(self, content: Content) -> str:
        text = content.text if isinstance(content, Text) else json.dumps(content.value)
        return self.insert("text" if isinstance(content, Text) else "json", text)

    async def load(self, blob_id: str) -> Content:
        kind, text = self._row(blob_id)
        return Text(text) if kind == "text" else Structured(json.loads(text))

    async def exists(self, blob_id: str) -> bool:
        try:
            self._row(blob_id)
        except BlobError:
            return False
        return True

    def open_lines(self, blob_id: str) -> LineSource:
        return _Lines(self._row(blob_id)[1])

    def open_spill(self) -> Spill:
        return _Spill(self)

    def insert(self, kind: str, text: str) -> str:
        blob_id = generate_id()
        with self._open() as database:
            row = (blob_id, kind, text.encode("utf-8", "surrogatepass"))
            database.execute("INSERT INTO outputs VALUES (?, ?, ?)", row)
        return blob_id

    def _row(self, blob_id: str) -> tuple[str, str]:
        key = blob_id.encode("utf-8", "replace").decode()
        with self._open() as database:
            row = database.execute("SELECT kind, body FROM outputs WHERE id = ?", (key,)).fetchone()
        if row is None:
            raise BlobError(f"there is no stored output {blob_id[:40]!r}")
        return row[0], row[1].decode("utf-8", "surrogatepass")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection that commits and is closed (its own `with` only commits)."""
        with closing(sqlite3.connect(self._file)) as database, database:
            yield database


class _Spill:
    def __init__(self, store: SqliteBlobStore) -> None:
        self._store = store
        self._pieces: list[str] = []
        self._discarded = False

    @property
    def _text(self) -> str:
        return "".join(self._pieces)

    @property
    def lines(self) -> int:
        return self._text.count("\n") + (not self._text.endswith("\n") and self._text != "")

    @property
    def size_bytes(self) -> int:
        return len(self._text.encode("utf-8", "surrogatepass"))

    def write(self, text: str) -> None:
        self._pieces.append(text)

    def keep(self) -> str:
        if self._discarded:
            raise BlobError("it was discarded")
        return self._store.insert("text", self._text)

    def discard(self) -> None:
        self._discarded = True


class _Lines:
    def __init__(self, text: str) -> None:
        self._lines = text.removesuffix("\n").split("\n") if text else []

    def read_lines(self, start: int, count: int) -> list[str]:
        return self._lines[start : start + count]

    def find(self, needle: str, start: int, *, backwards: bool) -> int | None:
        places = range(start, -1, -1) if backwards else range(start, len(self._lines))
        return next((place for place in places if needle in self._lines[place]), None)

    def count_so_far(self) -> tuple[int, bool]:
        return len(self._lines), True
