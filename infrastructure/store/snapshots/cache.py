"""The store of former contents, with what is known of the files they came from."""

from __future__ import annotations

from collections.abc import Sequence

from application.ports.storage import ContentStore
from domain.calls.effects import FileMark, FileState
from infrastructure.store.snapshots.reading import FileContent
from infrastructure.store.snapshots.stat_index import StatIndex


class ContentCache:
    """Stores each content once, and remembers the state of each file whose content it took."""

    def __init__(self, contents: ContentStore) -> None:
        self._contents = contents
        self._index = StatIndex()
        self._stored: set[str] = set()

    def state(self, path: str, mark: FileMark) -> FileState | None:
        """The state of a file with this mark; None where it must be read."""
        return self._index.state(path, mark)

    async def get(self, sha256: str) -> bytes:
        """The content of that hash. Raises LedgerError where there is none."""
        return await self._contents.get(sha256)

    async def store(self, readings: Sequence[FileContent], *more: bytes) -> tuple[str, ...]:
        """Store what is not stored yet, in one step, and remember it; the hashes of `more`.

        Raises LedgerError, and then nothing is remembered.
        """
        new: dict[str, bytes] = {}
        for reading in readings:
            if reading.content is not None and reading.state is not None and reading.state.sha256 is not None:
                new[reading.state.sha256] = reading.content
        missing = [content for sha256, content in new.items() if sha256 not in self._stored]
        hashes = await self._contents.put([*missing, *more]) if missing or more else ()
        self._stored.update(new)
        for reading in readings:
            if reading.mark is not None and reading.state is not None:
                self._index.learn(reading.path, reading.mark, reading.state, reading.at_ns)
        return hashes[len(missing) :]
