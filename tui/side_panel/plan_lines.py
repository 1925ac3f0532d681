"""The plan above the prompt, while it is carried out and the side panel has no room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.widgets import Static

if TYPE_CHECKING:
    from quorum.application.view.present import Step

_SHARE = 5
"""The plan has one of so many lines of the screen."""


class PlanLines(Static):
    """Its steps as boxes that fill, at most on a fifth of the screen's lines."""

    DEFAULT_CSS = """
    PlanLines {
        height: auto;
        padding: 0 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        display: none;
    }
    """

    def show(self, plan: Sequence[Step]) -> None:
        """Show this plan; without steps, take no room."""
        lines = self.app.size.height // _SHARE
        self.display = bool(plan) and lines > 1
        if not self.display:
            return
        from quorum.tui.side_panel.plan_text import render_plan

        text = render_plan(plan, lines)
        if text != self.content:  # each update has the whole screen laid out again
            self.update(text)
