"""The dialog that offers the review mode `sandboxed` before the first review that it would spare."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import ClassVar

from textual.binding import Binding, BindingType

from quorum.tui.keys.keyed_app import fill_in_keys
from quorum.tui.screens.question_card import QuestionCard
from quorum.tui.transcript.kinds.rows import Line, LineKind, clean_line

_MEANING = (
    "If you agree, edits in this folder and commands inside the sandbox run without a question. Such a command "
    "does not see your home folder, other running programs or quorum's own files. It can change or delete the "
    "files of this folder, and no others; /undo gives back what they were.",
    "",
    "You are asked about everything else: the network, commands outside the sandbox, protected and sensitive "
    "files.",
    "",
    "You are asked this once. Shift+Tab and /mode change what runs without a question at any time.",
)
_LONGEST_CALL = 140
_SETTING = "review.mode, or where you refuse review.offer_sandboxed, in your settings"


class SandboxOfferDialog(QuestionCard):
    """Asks whether commands may run unasked inside the sandbox."""

    HEADING = "Let edits and sandboxed commands run unasked?"
    REFUSE = ("{offer_refuse=n}", "ask about each")
    ACCEPT = ("{offer_accept=y}", "let them run")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Choose the mode sandboxed", id="offer_accept"),
        Binding("n", "refuse", "Keep the mode ask", id="offer_refuse"),
        Binding("escape", "put_off", "Decide nothing: ask again at the next start", id="offer_put_off"),
        Binding("d", "toggle_details", "Show or hide which sandbox and setting it is", id="offer_details"),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="offer_up"),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="offer_down"),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="offer_mark"),
    ]

    def __init__(self, sandbox: str, call: str = "", *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock=clock)
        self._sandbox, self._call = sandbox, call
        self._shows_details = False
        self.is_put_off = False
        """Whether it was closed without an answer."""

    def format_subtitle(self) -> str:
        """What leaves it open."""
        return "esc decides nothing: you are asked again at the next start"

    def action_put_off(self) -> None:
        """Continue in the mode ask, and have it asked again."""
        self.is_put_off = True
        self.dismiss(False)

    def build_lines(self) -> Iterator[Line]:
        """What the sandbox holds commands to, and what the mode lets run."""
        if self._call:
            line = clean_line(self._call)
            yield Line(
                "now: ", f"{line[:_LONGEST_CALL]}…" if len(line) > _LONGEST_CALL else line, LineKind.STRONG
            )
            yield Line("", "")
        for paragraph in _MEANING:
            yield Line("", paragraph)
        if self._shows_details:
            yield Line("", "")
            yield Line("sandbox  ", clean_line(self._sandbox))
            yield Line("setting  ", _SETTING)
        else:
            yield Line("", fill_in_keys("{offer_details=d} shows the details", self.app), LineKind.QUIET)

    def action_toggle_details(self) -> None:
        """Show which sandbox and which setting it is about, or hide that."""
        self._shows_details = not self._shows_details
        self._lay_out()
        if self._shows_details:
            self._rows.scroll_end(animate=False)
