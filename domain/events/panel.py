"""What happens while several models answer the same question: their answers, their reviews, the synthesis."""

from __future__ import annotations

from typing import ClassVar

from quorum.domain.fact import CanonicalPlace, Fact
from quorum.domain.panel.cost_estimate import CostEstimate
from quorum.domain.panel.panel_answer import PanelAnswer, Participant
from quorum.domain.panel.panel_form import PanelForm
from quorum.domain.panel.peer_review import PeerReview
from quorum.domain.panel.synthesis import Point, Synthesis


class PanelEvent(Fact, frozen=True, kw_only=True):
    """Something that happens in the panel of this id."""

    panel_id: str


class PanelStarted(PanelEvent, frozen=True, kw_only=True, tag="panel_started"):
    """These models are asked this question; `moderator` makes one text of their answers.

    `costs` is what each of them, the moderator last, is estimated to cost; empty in records of before that.
    """

    question: str
    participants: tuple[Participant, ...]
    moderator: str
    form: PanelForm = PanelForm.DISCUSSION
    costs: tuple[CostEstimate, ...] = ()


class PanelResumed(PanelEvent, frozen=True, kw_only=True, tag="panel_resumed"):
    """A panel that was cut off is continued: what is missing is asked for, and nothing else."""

    durable: ClassVar = False


class AnswerProgressed(PanelEvent, frozen=True, kw_only=True, tag="answer_progressed"):
    """A participant is writing. `text` is the end of what it has written, `characters` how much that is."""

    durable: ClassVar = False
    label: str
    text: str
    characters: int


class PanelAnswered(PanelEvent, frozen=True, kw_only=True, tag="panel_answered"):
    """A participant's answer is there, or never will be. It is not asked again, in this process or another."""

    place: ClassVar = CanonicalPlace.BY_CHANCE
    answer: PanelAnswer


class PanelReviewed(PanelEvent, frozen=True, kw_only=True, tag="panel_reviewed"):
    """A participant has reviewed the answers of the others, or could not."""

    place: ClassVar = CanonicalPlace.BY_CHANCE
    review: PeerReview


class PanelConcluded(PanelEvent, frozen=True, kw_only=True, tag="panel_concluded"):
    """The panel is over. Without a synthesis `chosen` is the label of the answer that stands for all of them,
    and `additions` are what other answers have that it lacks; `reason` says what there should be and is not.
    `merged` is the text that was made of drafts; then `additions` are where these contradict each other."""

    synthesis: Synthesis | None
    chosen: str | None = None
    reason: str = ""
    additions: tuple[Point, ...] = ()
    merged: str = ""
