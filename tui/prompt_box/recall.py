"""What Up and Down show in the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.tui.prompt_box.prompt_text import escape_command

if TYPE_CHECKING:
    from quorum.tui.prompt_box.history import History


class Recall:
    """What Up and Down bring back: first the prompt that waits last, then the history; the draft is kept."""

    def __init__(self, cwd: Path, take_back: Callable[[], str | None]) -> None:
        self._cwd = cwd
        self._take_back = take_back
        self._opened: History | None = None
        self._place: int | None = None
        self._draft = ""

    @property
    def history(self) -> History:
        """The project's history; opened at its first use, since nobody needs it to start."""
        if self._opened is None:
            from quorum.tui.prompt_box.history import History, locate_history

            self._opened = History(locate_history(self._cwd))
        return self._opened

    def recall_older(self, present: str) -> str | None:
        """The prompt before the one shown, or None. `present` is kept as the draft when leaving it."""
        if self._place is None and not present and (waiting := self._take_back()) is not None:
            return escape_command(waiting)
        entries = self.history.entries
        place = len(entries) if self._place is None else self._place
        if place == 0:
            return None
        if self._place is None:
            self._draft = present
        self._place = place - 1
        return entries[self._place]

    def recall_newer(self) -> str | None:
        """The prompt after the one shown, at the end the draft; None when the draft is what is shown."""
        if self._place is None:
            return None
        entries = self.history.entries
        self._place += 1
        if self._place >= len(entries):
            self._place = None
            return self._draft
        return entries[self._place]

    def forget_place(self) -> None:
        """Begin at the end again: what was typed has been sent."""
        self._place, self._draft = None, ""

    def list_prompts(self) -> Sequence[str]:
        """All prompts that are remembered, oldest first."""
        return self.history.entries

    def keep(self, draft: str) -> None:
        """Remember a prompt that was never sent, so that Up finds it the next time; nobody is left to see it
        that it cannot be written."""
        with suppress(OSError):
            self.history.add(draft)
