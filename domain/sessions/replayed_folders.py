"""The folders added to the workspace, replayed from a session's events."""

from __future__ import annotations


class ReplayedFolders:
    """Collects the folders that were added, until the session goes back to before that.

    A redo does not bring them back: the person is asked about their files again.
    """

    def __init__(self) -> None:
        self._turn = -1
        self._added: dict[str, int] = {}

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that belong to the workspace now, oldest first."""
        return tuple(self._added)

    def begin_turn(self) -> None:
        """Start another turn: what is added later belongs to it."""
        self._turn += 1

    def add(self, folder: str) -> None:
        """Add a folder; one that was added before keeps its place."""
        self._added.setdefault(folder, self._turn)

    def undo(self, turn: int) -> None:
        """Forget the folders that were added in this turn or later."""
        self._added = {folder: added for folder, added in self._added.items() if added < turn}
