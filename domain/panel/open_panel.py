"""A panel whose answer is not on record yet: what of it need not be asked for again."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from quorum.domain.code_review.finding import Trial
from quorum.domain.code_review.review_result import PartReview, ReviewResult
from quorum.domain.panel.debate_record import DebateRecord
from quorum.domain.panel.panel_answer import PanelAnswer, Participant
from quorum.domain.panel.panel_form import PanelForm
from quorum.domain.panel.peer_review import PeerReview
from quorum.domain.panel.synthesis import Point, Synthesis


class PanelConclusion(Struct, frozen=True, kw_only=True):
    """What a panel came to: a synthesis, a text that was `merged` of drafts, or else the label of the answer
    that was `chosen`. `additions` are what others say beside it, `reason` why something of it is missing."""

    synthesis: Synthesis | None = None
    chosen: str | None = None
    reason: str = ""
    additions: tuple[Point, ...] = ()
    merged: str = ""


class OpenPanel(Struct, frozen=True, kw_only=True):
    """What is recorded of it. `answers` and `reviews` are those that came, also the failed ones.

    A code review has `parts`, what reviewers said of parts of the change, `trials` by the digest of what was
    asked, and a `result` once all is counted; `debate` is what was said in a debate after the first answer.
    It has a `conclusion` where the process ended before the answer that comes of it was recorded.
    """

    panel_id: str
    question: str
    participants: tuple[Participant, ...]
    form: PanelForm = PanelForm.DISCUSSION
    answers: tuple[PanelAnswer, ...] = ()
    reviews: tuple[PeerReview, ...] = ()
    parts: tuple[PartReview, ...] = ()
    trials: Mapping[str, tuple[Trial, ...]] = field(default_factory=dict)
    result: ReviewResult | None = None
    debate: DebateRecord = field(default_factory=DebateRecord)
    conclusion: PanelConclusion | None = None

    @property
    def given(self) -> tuple[PanelAnswer, ...]:
        """The answers that are answers; the others are asked for again."""
        return tuple(answer for answer in self.answers if answer.is_answer)
