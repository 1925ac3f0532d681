"""The terminal's title and bell: how the program asks for attention when nobody looks at it."""

from __future__ import annotations

from pathlib import Path

from textual.app import App

from tui.transcript.printable import printable


class TerminalTitle:
    """Names the project in the title and marks it while an answer is needed; `rings`: with the bell, too."""

    def __init__(self, app: App[None], cwd: Path) -> None:
        self.rings = True
        self._app = app
        self._name = printable(cwd.name or str(cwd), newlines=False)

    def begin(self) -> None:
        """Have the terminal remember its present title, and set ours."""
        self._write("\x1b[22;2t")
        self.mark(answer_needed=False)

    def mark(self, *, answer_needed: bool) -> None:
        """Say whether an answer is needed."""
        self._write(f"\x1b]2;{'● answer needed · ' if answer_needed else ''}quorum · {self._name}\x07")
        if answer_needed:
            self.ring()

    def ring(self) -> None:
        """Ring the bell, unless that is not wanted."""
        if self.rings:
            self._app.bell()

    def end(self) -> None:
        """Bring back the title from before."""
        self._write("\x1b[23;2t")

    def _write(self, sequence: str) -> None:
        driver = self._app._driver  # Textual has no call of its own for the title
        if driver is not None and not self._app.is_headless:
            driver.write(sequence)
