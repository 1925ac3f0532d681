"""The lines above the conversation that lead through the tour."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from tui.demo.tour import TOUR, TourStep

if TYPE_CHECKING:
    from domain.events.event import Event


class Guide(Static):
    """Says what there is to see and what to do next. `suggest` puts a prompt where the person can send it."""

    DEFAULT_CSS = """
    Guide {
        height: auto;
        padding: 0 1;
        border-left: thick $accent;
        background: $surface;
        color: $text;
    }
    """

    def __init__(self, suggest: Callable[[str], object]) -> None:
        super().__init__(id="guide", markup=False)
        self._suggest = suggest
        self._place = 0

    @property
    def step(self) -> TourStep:
        """The present one."""
        return TOUR[self._place]

    def on_mount(self) -> None:
        """Begin."""
        self._show()

    def apply(self, event: Event) -> None:
        """Go on where this is what the step waits for."""
        if event.type == self.step.on:
            self.advance()

    def advance(self) -> None:
        """To the next step; the last one stays."""
        if self._place + 1 < len(TOUR):
            self._place += 1
            self._show()

    def _show(self) -> None:
        number = Content(f"{self._place + 1}/{len(TOUR)} ").stylize("bold $text-accent")
        skip = Content(" F2 skips." if self.step.on else "").stylize("$text-muted")
        self.update(number + Content(self.step.says) + skip)
        if self.step.prompt:
            self._suggest(self.step.prompt)
