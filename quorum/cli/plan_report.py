"""What a run prints of a plan that it ends with."""

from __future__ import annotations

from domain.events.event import Event, PlanProposed
from domain.plan.plan_text import render_plan_text
from domain.text.json_value import JsonObject


class PlanReport:
    """Follows the events of a run. It stays empty unless a plan was made that nobody could approve."""

    def __init__(self) -> None:
        self._proposed: PlanProposed | None = None

    def follow(self, event: Event) -> None:
        """Take an event in."""
        if isinstance(event, PlanProposed):
            self._proposed = event

    @property
    def text(self) -> str:
        """The plan as a Markdown document; empty where there is none."""
        return "" if self._proposed is None else render_plan_text(self._proposed.plan).rstrip("\n")

    def to_json(self) -> JsonObject:
        """`plan`, and `digest` in it; empty as above."""
        if self._proposed is None:
            return {}
        return {"plan": {**self._proposed.plan.to_json(), "digest": self._proposed.digest}}
