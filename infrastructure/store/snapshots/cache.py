"""The store of former contents, with what is known of the files they came from."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from quorum.application.ports.storage import ContentStore
from quorum.domain.calls.effects import FileKind, FileMark, FileState
from quorum.domain.errors import LedgerError
from quorum.infrastructure.store.snapshots.reading import FileContent
from quorum.infrastructure.store.snapshots.saved_index import IndexedFile, SavedIndex

# A file that changed just before it was read may change again within the same tick of its clock, unnoticed.
# Two seconds are the coarsest tick of a file system in use.
_TICK_NS = 2_000_000_000


class _KnownFile(Struct, frozen=True):
    mark: FileMark
    state: FileState
    settled: bool


class StatIndex:
    """States by path, each good for as long as the file's mark stays the same."""

    def __init__(self) -> None:
        self._known: dict[str, _KnownFile] = {}
        self.read_paths: list[str] = []
        """The paths of files that were read, in the order of reading."""
        self.learned = 0
        """How many files were read whose states can be taken over by another session."""

    def learn(self, path: str, mark: FileMark, state: FileState, at_ns: int) -> None:
        """A file with this mark was read at this time, and is so."""
        settled = max(mark.modified_ns, mark.changed_ns) < at_ns - _TICK_NS
        before = self._known.get(path)
        # The very same object tells those who compare thousands of them that nothing changed.
        same = before.state if before is not None and before.state == state else state
        self._known[path] = known = _KnownFile(mark, same, settled)
        self.read_paths.append(path)
        self.learned += known != before and _can_be_saved(known)

    def find_state(self, path: str, mark: FileMark) -> FileState | None:
        """The state of a file with this mark; None where it must be read."""
        known = self._known.get(path)
        return known.state if known is not None and known.settled and known.mark == mark else None

    def take_over(self, files: Mapping[str, IndexedFile], absent: Collection[str]) -> None:
        """Know what an earlier session knew, but for files read since and for contents that are absent."""
        for path, file in files.items():
            if file.sha256 not in absent:
                mode, size = stat.S_IMODE(file.mark.kind), file.mark.size
                state = FileState(kind=FileKind.FILE, mode=mode, size=size, sha256=file.sha256)
                self._known.setdefault(path, _KnownFile(file.mark, state, settled=True))

    def forget(self, hashes: Collection[str]) -> None:
        """Know no more of files with these contents."""
        gone = [path for path, known in list(self._known.items()) if known.state.sha256 in hashes]
        for path in gone:
            del self._known[path]

    def list_files(self, marks: Mapping[str, FileMark]) -> dict[str, IndexedFile]:
        """What another session may take over, of the files that have these marks."""
        return {
            path: IndexedFile(known.mark, known.state.sha256)
            for path, known in list(self._known.items())
            if _can_be_saved(known) and known.state.sha256 is not None and marks.get(path) == known.mark
        }


def _can_be_saved(known: _KnownFile) -> bool:
    return known.settled and known.state.sha256 is not None and known.state.unkept is None


# So many files that a later session would have to read again are worth writing an index.
_WORTH_SAVING = 1_000


class ContentCache:
    """Stores each content once, and remembers the state of each file whose content it took.

    `saved` is the index that an earlier session left. The contents that it names may have been pruned since,
    and may be until a stored list names them: until then they are unproven.
    """

    def __init__(self, contents: ContentStore, saved: SavedIndex | None = None) -> None:
        self._contents = contents
        self._index = StatIndex()
        self._stored: set[str] = set()
        self._saved = saved
        self._is_recalled = saved is None
        self._recalling = asyncio.Lock()
        self._unproven: set[str] = set()

    async def recall(self) -> None:
        """Take over what an earlier session knew, once. Never raises for what cannot be read of it."""
        async with self._recalling:
            if self._is_recalled or self._saved is None:
                return
            files = await asyncio.to_thread(self._saved.load)
            hashes = {file.sha256 for file in files.values()}
            try:
                absent = await self._contents.list_absent(hashes)
            except LedgerError:
                absent = frozenset(hashes)
            self._unproven = hashes - absent
            await asyncio.to_thread(self._index.take_over, files, absent)
            self._is_recalled = True

    async def prove(self, states: Mapping[str, FileState], *, whole: bool) -> bool:
        """Whether all contents of a list that is stored by now are there still; else they must be read anew.

        No prune takes what a list names that was stored while its session is open. `whole` says that the list
        is that of all files: what it does not name is forgotten. Raises LedgerError.
        """
        if not self._unproven:
            return True
        named = {state.sha256 for state in states.values() if state.sha256 is not None} & self._unproven
        absent = await self._contents.list_absent(named) if named else frozenset()
        gone = absent | (self._unproven - named if whole else set())
        if gone:
            await asyncio.to_thread(self._index.forget, gone)
        self._unproven -= named | gone
        return not absent

    def save(self, marks: Mapping[str, FileMark]) -> None:
        """Leave what is known of the files that have these marks to a later session, if that is worth it."""
        if self._saved is not None and self._is_recalled and self._index.learned >= _WORTH_SAVING:
            self._index.learned = 0
            self._saved.save(self._index.list_files(marks))

    @property
    def reads(self) -> int:
        """How many times a file was read so far."""
        return len(self._index.read_paths)

    def list_read(self, since: int) -> frozenset[str]:
        """Return the paths of the files that were read after so many reads."""
        return frozenset(self._index.read_paths[since:])

    def find_state(self, path: str, mark: FileMark) -> FileState | None:
        return self._index.find_state(path, mark)

    def get_proven_state(self, path: str, mark: FileMark) -> FileState | None:
        """The same, of a file that this process read."""
        state = self._index.find_state(path, mark)
        return None if state is None or state.sha256 in self._unproven else state

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
        self._unproven.difference_update(new)
        for reading in readings:
            if reading.mark is not None and reading.state is not None:
                self._index.learn(reading.path, reading.mark, reading.state, reading.at_ns)
        return hashes[len(missing) :]
