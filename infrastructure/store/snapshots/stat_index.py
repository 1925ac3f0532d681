"""What is known of files that were read before, so that those that are as they were are not read again."""

from __future__ import annotations

import stat
from collections.abc import Collection, Mapping

from msgspec import Struct

from quorum.domain.calls.effects import FileKind, FileMark, FileState
from quorum.infrastructure.store.snapshots.saved_index import IndexedFile

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
