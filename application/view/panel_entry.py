"""A panel as the person sees it: who is asked, what each writes, and what came of it."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum

from msgspec import Struct, field

from quorum.domain.code_review.review_result import ReviewResult
from quorum.domain.panel.cost_estimate import CostEstimate
from quorum.domain.panel.debate_record import DebateRecord
from quorum.domain.panel.panel_answer import (
    PanelAnswer,
    PanelForm,
    Participant,
    PeerReview,
    Point,
    RankedAnswer,
    Synthesis,
    rank_answers,
)


class PanelStep(StrEnum):
    ANSWERS = "answers"
    REVIEWS = "reviews"
    SYNTHESIS = "synthesis"
    OVER = "over"


class PanelMember(Struct):
    """A participant. `writing` is the end of what it has written so far, `characters` how much that is."""

    participant: Participant
    answer: PanelAnswer | None = None
    review: PeerReview | None = None
    writing: str = ""
    characters: int = 0

    @property
    def label(self) -> str:
        """What other models know it by."""
        return self.participant.label


class PanelEntry(Struct):
    """`began` and `ended` are times of the view's clock, in seconds; `ended` is None while it is at work.

    `chosen` is the label of the answer that stands alone, `additions` what the others have that it lacks,
    `synthesis` what was made of all answers, `reason` says what there should be and is not, `result` is what a
    code review came to, and `debate` what was said in a debate after the first answer.
    """

    panel_id: str
    moderator: str
    members: list[PanelMember]
    began: float
    costs: tuple[CostEstimate, ...] = ()
    form: PanelForm = PanelForm.DISCUSSION
    chosen: str | None = None
    additions: tuple[Point, ...] = ()
    synthesis: Synthesis | None = None
    ended: float | None = None
    reason: str = ""
    is_concluded: bool = False
    expanded: bool = False
    version: int = 0
    undone: bool = False
    result: ReviewResult | None = None
    debate: DebateRecord = field(default_factory=DebateRecord)

    def find_member(self, label: str) -> PanelMember | None:
        return next((member for member in self.members if member.label == label), None)

    @property
    def answered(self) -> list[PanelMember]:
        """Those that gave an answer."""
        return [member for member in self.members if member.answer is not None and member.answer.is_answer]

    @property
    def step(self) -> PanelStep:
        """What it is at, or was at when it broke off."""
        if self.is_concluded:
            return PanelStep.OVER
        if any(member.answer is None for member in self.members):
            return PanelStep.ANSWERS
        is_reviewed = self.form is not PanelForm.DRAFT
        if is_reviewed and len(self.answered) > 1 and any(member.review is None for member in self.answered):
            return PanelStep.REVIEWS
        return PanelStep.SYNTHESIS

    @property
    def is_running(self) -> bool:
        return self.ended is None

    def rank(self) -> dict[str, RankedAnswer]:
        """The place and score of each answer, by label; the best first."""
        reviews = [member.review for member in self.members if member.review is not None]
        ranked = rank_answers([member.label for member in self.answered], reviews)
        return {each.label: each for each in ranked}

    @property
    def cost_usd(self) -> Decimal | None:
        """What the answers cost; None where the price of any is not known."""
        costs = [member.answer.cost_usd for member in self.answered if member.answer is not None]
        return sum((cost for cost in costs if cost is not None), Decimal(0)) if None not in costs else None
