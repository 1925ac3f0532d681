"""The choice among the plans that several models made: which one stands, and what was said of all of them."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.panel.open_panel import OpenPanel
from quorum.domain.panel.panel_answer import PanelAnswer
from quorum.domain.panel.peer_review import RankedAnswer, rank_answers
from quorum.domain.panel.synthesis import Point


class PlanChoice(Struct, frozen=True, kw_only=True):
    """`panel` is the one that made the plans, each answer a plan as Markdown. `chosen` is the label of the plan
    that stands, `additions` are what others have that it lacks, and `reason` says why these are not known."""

    panel: OpenPanel
    chosen: str
    additions: tuple[Point, ...] = ()
    reason: str = ""

    @property
    def plan(self) -> PanelAnswer:
        """The plan that stands."""
        return next(each for each in self.panel.given if each.label == self.chosen)

    @property
    def ranked(self) -> tuple[RankedAnswer, ...]:
        """The places of all plans, the best first."""
        labels = [each.label for each in self.panel.participants]
        given = {each.label for each in self.panel.given}
        return rank_answers([label for label in labels if label in given], self.panel.reviews)
