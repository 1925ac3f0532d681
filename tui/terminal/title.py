"""The terminal's title: which folder is worked on, and from afar whether it is at work or wants an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from textual.app import App

from quorum.domain.text.printable import make_printable

Mark: TypeAlias = Literal["", "●", "!"]
"""`●`: a turn runs; `!`: an answer is needed."""

_LONGEST = 60


class TerminalTitle:
    """Names the folder in the title, with a mark in front, from `begin` to `end`."""

    def __init__(self, app: App[None], cwd: Path) -> None:
        self._app = app
        self._name = clean_title(cwd.name or str(cwd))
        self._mark: Mark = ""
        self._is_ours = False

    def begin(self) -> None:
        """Have the terminal remember its present title, and set ours; once, until `end`."""
        if not self._is_ours:
            self._is_ours = True
            write_to_terminal(self._app, "\x1b[22;2t")
            write_to_terminal(self._app, self._build_sequence())

    def show(self, mark: Mark) -> None:
        """Put this mark in front of the folder's name."""
        if mark != self._mark:
            self._mark = mark
            if self._is_ours:
                write_to_terminal(self._app, self._build_sequence())

    def end(self) -> None:
        """Bring back the title from before."""
        if self._is_ours:
            self._is_ours = False
            write_to_terminal(self._app, "\x1b[23;2t")

    def _build_sequence(self) -> str:
        return f"\x1b]2;{self._mark}{' ' if self._mark else ''}{self._name} · quorum\x07"


def write_to_terminal(app: App[None], sequence: str) -> None:
    """Write what Textual has no call of its own for."""
    driver = app._driver
    if driver is not None and not app.is_headless:
        driver.write(sequence)


def clean_title(text: str) -> str:
    """A name as it may stand in a title or a notification: printable, on one line, and not long."""
    safe = make_printable(text, newlines=False)
    return safe if len(safe) <= _LONGEST else safe[: _LONGEST - 1] + "…"
