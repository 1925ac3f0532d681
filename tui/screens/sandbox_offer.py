"""The dialog at first use that offers the review mode `sandboxed`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import ClassVar

from textual.binding import Binding, BindingType

from quorum.tui.screens.question_card import QuestionCard
from quorum.tui.screens.review.text.rows import Line, LineKind, clean_line

_MEANING = (
    "Edits inside the workspace and commands inside the sandbox then run without a question. You are "
    "asked about everything else: the network, commands outside the sandbox, protected and sensitive "
    "files.",
    "",
    "A command can change or delete all other files of the workspace. /undo gives back what they were.",
    "",
    "The answer is kept in your settings (review.mode); Shift+Tab and /mode change the mode at any time.",
)


class SandboxOfferDialog(QuestionCard):
    """Asks whether commands may run unasked inside the sandbox."""

    HEADING = "Run commands unasked inside the sandbox?"
    REFUSE = ("{offer_refuse=n}", "ask about each")
    ACCEPT = ("{offer_accept=y}", "run them in the sandbox")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Choose the mode sandboxed", id="offer_accept"),
        Binding("n", "refuse", "Keep the mode ask", id="offer_refuse"),
        Binding("escape", "put_off", "Decide nothing: ask again at the next start", id="offer_put_off"),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="offer_up"),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="offer_down"),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="offer_mark"),
    ]

    def __init__(self, sandbox: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock=clock)
        self._sandbox = sandbox
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
        yield Line("sandbox  ", clean_line(self._sandbox), LineKind.STRONG)
        yield Line("", "")
        for paragraph in _MEANING:
            yield Line("", paragraph)
