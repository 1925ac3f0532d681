"""What is known of the files of a workspace at one look: their states, and what is still to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from quorum.domain.calls.effects import FileLook, FileMark, FileState
from quorum.infrastructure.store.snapshots.reading import FileContent


@dataclass(slots=True)
class Survey:
    """Files at one look: those whose states are known, and those still to be read.

    `reads` counts those of files before it, by anybody; `left` are files that it did not look up again.
    """

    marks: dict[str, FileMark]
    states: dict[str, FileState] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    kept_bytes: int = 0
    reads: int = 0
    left: frozenset[str] = frozenset()

    def know(self, path: str, state: FileState) -> None:
        """Add the state of a file that has none yet."""
        self.states[path] = state
        self.kept_bytes += count_stored_bytes(state)

    def add(self, readings: Sequence[FileContent]) -> None:
        for reading in readings:
            if reading.state is None or reading.mark is None:
                self.marks.pop(reading.path, None)
            else:
                self.marks[reading.path] = reading.mark
                self.know(reading.path, reading.state)


@dataclass(frozen=True, slots=True)
class LastSurvey:
    """What the last survey of the whole workspace led to. `again` are files of which more may become known,
    `reads` counts those of files before it."""

    look: FileLook
    states: Mapping[str, FileState]
    kept_bytes: int
    again: frozenset[str]
    reads: int


def count_stored_bytes(state: FileState) -> int:
    """The size of a content that is known to be stored."""
    return state.size if state.unkept is None else 0


def may_improve(state: FileState | None) -> bool:
    return state is None or state.unkept is not None
