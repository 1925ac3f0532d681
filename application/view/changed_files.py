"""The files that calls of a session changed, with the lines they added and removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from quorum.domain.text.unified_diff import parse_diff


class ChangedFile(Struct, frozen=True):
    """A file as the diffs of calls name it, and how many lines they added to it and removed from it.

    It has no lines where no edit changed it.
    """

    path: str
    added: int = 0
    removed: int = 0


class ChangedFiles:
    """Counts the diffs of calls that ended well, and what else changed. What went back with its turn counts
    no more."""

    def __init__(self) -> None:
        self._diffs: list[tuple[int, ChangedFile]] = []
        self._undone: list[tuple[int, list[tuple[int, ChangedFile]]]] = []

    def add(self, diff: str, turn: int) -> None:
        """A call of the turn of this number changed files like this."""
        self._undone.clear()
        self._diffs += ((turn, file) for file in _list_files(diff))

    def add_unread(self, paths: Iterable[str], turn: int) -> None:
        """A call of the turn of this number changed these files in ways that no diff tells."""
        self._undone.clear()
        self._diffs += ((turn, ChangedFile(path)) for path in paths)

    def take_back(self, turn: int) -> None:
        """The files are as they were before the turn of this number."""
        self._undone.append((turn, self._diffs))
        self._diffs = [(made, file) for made, file in self._diffs if made < turn]

    def redo(self, turn: int) -> None:
        """The files are as they were before the last return to before the turn of this number."""
        while self._undone:
            number, diffs = self._undone.pop()
            if number == turn:
                self._diffs = diffs
                return

    def list_files(self) -> tuple[ChangedFile, ...]:
        """Each file once, the one changed last in front."""
        files: dict[str, ChangedFile] = {}
        for _, one in self._diffs:
            before = files.pop(one.path, ChangedFile(one.path))
            files[one.path] = ChangedFile(one.path, before.added + one.added, before.removed + one.removed)
        return tuple(reversed(files.values()))


def _list_files(diff: str) -> Iterator[ChangedFile]:
    counts: dict[str, list[int]] = {}
    for line in parse_diff(diff):
        if line.sign in ("+", "-"):
            counts.setdefault(line.path, [0, 0])[line.sign == "-"] += 1
    return (ChangedFile(path, added, removed) for path, (added, removed) in counts.items() if path)
