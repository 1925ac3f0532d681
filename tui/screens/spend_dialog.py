"""The spend dialog: a cap that the next request would exceed, and the person's choice to raise it or stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import ClassVar

from textual.binding import Binding, BindingType

from quorum.domain.conversation.cost import SpendQuestion
from quorum.tui.screens.question_card import QuestionCard
from quorum.tui.transcript.kinds.rows import Line, LineKind, clean_line


class SpendDialog(QuestionCard):
    """Asks whether to continue past a spend cap."""

    HEADING = "Continue past the spend cap?"
    REFUSE = ("{spend_stop=n}", "stop here")
    ACCEPT = ("{spend_raise=y}", "continue")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Continue past the spend cap", id="spend_raise"),
        Binding("n,escape", "refuse", "Stop the turn at the spend cap", id="spend_stop"),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="spend_up"),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="spend_down"),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="spend_mark"),
    ]

    def __init__(self, question: SpendQuestion, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock=clock)
        self._question = question

    @property
    def question(self) -> SpendQuestion:
        return self._question

    def build_lines(self) -> Iterator[Line]:
        """Which cap it is, what was spent, and what continuing means."""
        question = self._question
        cap = question.cap
        yield Line("cap     ", f"agent.{cap} = {cap.render(question.limit)}", LineKind.STRONG)
        yield Line("used    ", cap.render(question.spent))
        for number, model in enumerate(question.models):
            yield Line("        " if number else "next    ", clean_line(model))
        if question.estimate is not None:
            yield Line("", f"        about {cap.render(question.estimate)} with its request", LineKind.STRONG)
        yield Line("", "")
        if question.raise_to is None:
            yield Line(
                "", "No price is known, so the cap cannot be kept. To continue means that", LineKind.WARNING
            )
            yield Line("", "these requests are not counted against the cap in this session.")
        else:
            until = "for this turn" if cap.is_per_turn else "for this session"
            yield Line("", f"To continue raises the cap to {cap.render(question.raise_to)} {until}.")
        yield Line("", "To stop ends the turn here; Enter asks again.")
