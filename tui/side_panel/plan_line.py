"""The plan above the prompt, while it is carried out and the side panel has no room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.widgets import Static

if TYPE_CHECKING:
    from quorum.application.view.present import Step

_LEAST_HEIGHT = 10
"""Of the screen: on a lower one, the line belongs to the transcript."""


class PlanLine(Static):
    """How far it is, in one line."""

    DEFAULT_CSS = """
    PlanLine {
        height: 1;
        padding: 0 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        display: none;
    }
    """

    def show(self, plan: Sequence[Step]) -> None:
        """Show this plan; without steps, take no room."""
        self.display = bool(plan) and self.app.size.height >= _LEAST_HEIGHT
        if not self.display:
            return
        from quorum.tui.side_panel.plan_text import render_plan_line

        text = render_plan_line(plan)
        if text != self.content:  # each update has the whole screen laid out again
            self.update(text)
