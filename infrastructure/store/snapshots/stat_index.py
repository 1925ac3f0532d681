"""What is known of files that were read before, so that those that are as they were are not read again."""

from __future__ import annotations

from dataclasses import dataclass

from domain.calls.effects import FileMark, FileState

# A file that changed just before it was read may change again within the same tick of its clock, unnoticed.
# Two seconds are the coarsest tick of a file system in use.
_TICK_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class _Known:
    mark: FileMark
    state: FileState
    settled: bool


class StatIndex:
    """States by path, each good for as long as the file's mark stays the same."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def learn(self, path: str, mark: FileMark, state: FileState, at_ns: int) -> None:
        """A file with this mark was read at this time, and is so."""
        settled = max(mark.modified_ns, mark.changed_ns) < at_ns - _TICK_NS
        before = self._known.get(path)
        # The very same object tells those who compare thousands of them that nothing changed.
        same = before.state if before is not None and before.state == state else state
        self._known[path] = _Known(mark, same, settled)

    def state(self, path: str, mark: FileMark) -> FileState | None:
        """The state of a file with this mark; None where it must be read."""
        known = self._known.get(path)
        return known.state if known is not None and known.settled and known.mark == mark else None
