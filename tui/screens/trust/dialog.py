"""The trust dialog: what a project's file wants, and the person's yes or not now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import ClassVar

from textual.binding import Binding, BindingType

from domain.sessions.trust import TrustQuestion
from domain.text.ages import shorten_home
from tui.screens.question_card import QuestionCard
from tui.screens.review.text.rows import Line, LineKind, clean_line, digest_in_short

_EXPLANATION = (
    "Settings may start programs with your rights, let calls run without",
    "asking, and choose who can read your work. Instructions are put to the",
    "model as if they were yours. Until you trust them, only stricter",
    "settings apply. Trust covers the files as they are now, not the",
    "programs they name. They ask for:",
)


class TrustDialog(QuestionCard):
    """Asks whether to trust files of a project."""

    HEADING = "Trust this folder?"
    REFUSE = ("{trust_refuse=n}", "not now")
    ACCEPT = ("{trust_accept=y}", "trust it as it is now")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Trust this file as it is now", id="trust_accept"),
        Binding("n,escape", "refuse", "Not now: only stricter settings apply", id="trust_refuse"),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="trust_up"),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="trust_down"),
        Binding("ctrl+up,shift+up", "scroll(-10)", "Scroll up by ten lines", show=False, id="trust_far_up"),
        Binding(
            "ctrl+down,shift+down", "scroll(10)", "Scroll down by ten lines", show=False, id="trust_far_down"
        ),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="trust_mark"),
    ]

    def __init__(self, question: TrustQuestion, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock=clock)
        self._question = question

    @property
    def question(self) -> TrustQuestion:
        """What is asked."""
        return self._question

    def subtitle(self) -> str:
        """What the answer is bound to."""
        return f"sha256 {digest_in_short(self._question.digest)}"

    def lines(self) -> Iterator[Line]:
        """What the files want, and what trust means."""
        return _lines(self._question)


def _lines(question: TrustQuestion) -> Iterator[Line]:
    """Everything the answer may depend on, each line of it safe to draw."""
    yield Line("folder  ", clean_line(shorten_home(question.folder)), LineKind.STRONG)
    for number, item in enumerate(question.items):
        yield Line("file    " if not number else "        ", clean_line(shorten_home(item.file)))
    yield Line("", "")
    for sentence in _EXPLANATION:
        yield Line("", sentence)
    for item in question.items:
        yield Line("", "")
        if len(question.items) > 1:
            yield Line("", clean_line(shorten_home(item.file)), LineKind.STRONG)
        if item.changed:
            yield Line("", "This file has changed since you trusted it.", LineKind.WARNING)
        for want in item.wants:
            yield Line("  ", clean_line(want))
