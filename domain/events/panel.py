"""What happens while several models answer the same question: their answers, their reviews, the synthesis."""

from __future__ import annotations

from typing import ClassVar

from domain.lazy_dataclass import dataclass
from domain.panel.cost_estimate import CostEstimate
from domain.panel.panel_answer import PanelAnswer, Participant
from domain.panel.panel_form import PanelForm
from domain.panel.peer_review import PeerReview
from domain.panel.synthesis import Point, Synthesis


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelEvent:
    """Something that happens in the panel of this id."""

    panel_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelStarted(PanelEvent):
    """These models are asked this question; `moderator` makes one text of their answers.

    `costs` is what each of them, the moderator last, is estimated to cost; empty in records of before that.
    """

    type: ClassVar = "panel_started"
    durable: ClassVar = True
    question: str
    participants: tuple[Participant, ...]
    moderator: str
    form: PanelForm = PanelForm.DISCUSSION
    costs: tuple[CostEstimate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelResumed(PanelEvent):
    """A panel that was cut off is continued: what is missing is asked for, and nothing else."""

    type: ClassVar = "panel_resumed"
    durable: ClassVar = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerProgressed(PanelEvent):
    """A participant is writing. `text` is the end of what it has written, `characters` how much that is."""

    type: ClassVar = "answer_progressed"
    durable: ClassVar = False
    label: str
    text: str
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelAnswered(PanelEvent):
    """A participant's answer is there, or never will be. It is not asked again, in this process or another."""

    type: ClassVar = "panel_answered"
    durable: ClassVar = True
    answer: PanelAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelReviewed(PanelEvent):
    """A participant has reviewed the answers of the others, or could not."""

    type: ClassVar = "panel_reviewed"
    durable: ClassVar = True
    review: PeerReview


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelConcluded(PanelEvent):
    """The panel is over. Without a synthesis `chosen` is the label of the answer that stands for all of them,
    and `additions` are what other answers have that it lacks; `reason` says what there should be and is not.
    `merged` is the text that was made of drafts; then `additions` are where these contradict each other."""

    type: ClassVar = "panel_concluded"
    durable: ClassVar = True
    synthesis: Synthesis | None
    chosen: str | None = None
    reason: str = ""
    additions: tuple[Point, ...] = ()
    merged: str = ""
