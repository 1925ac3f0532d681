"""Events of panels: answers of several models, their reviews and conclusion, debates and code reviews."""

from __future__ import annotations

from typing import ClassVar

from quorum.domain.calls.execution import Outcome
from quorum.domain.code_review.review_result import PartReview, ReviewResult, Trial
from quorum.domain.fact import CanonicalPlace, Fact
from quorum.domain.panel.cost_estimate import CostEstimate
from quorum.domain.panel.debate_record import (
    AnswerDefence,
    DebateRecord,
    RaisedObjections,
    RevisedAnswer,
    RoundRulings,
)
from quorum.domain.panel.panel_answer import PanelAnswer, PanelForm, Participant, PeerReview, Point, Synthesis
from quorum.domain.text.json_value import JsonObject


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


class ObjectionsRaised(PanelEvent, frozen=True, kw_only=True, tag="objections_raised"):
    """What one model objects to in a round is there, or never will be."""

    place: ClassVar = CanonicalPlace.BY_CHANCE
    raised: RaisedObjections


class AnswerDefended(PanelEvent, frozen=True, kw_only=True, tag="answer_defended"):
    """The one whose answer it is has responded to objections, or could not."""

    defence: AnswerDefence


class ObjectionsRuled(PanelEvent, frozen=True, kw_only=True, tag="objections_ruled"):
    """The moderator has ruled on objections, or could not."""

    ruled: RoundRulings


class AnswerRevised(PanelEvent, frozen=True, kw_only=True, tag="answer_revised"):
    """The answer is revised for the objections that were upheld, or stays as it was."""

    revised: RevisedAnswer


def follow_debate(record: DebateRecord, event: PanelEvent) -> DebateRecord:
    """The record of a debate after an event; as it was after one that is no part of a debate."""
    match event:
        case ObjectionsRaised():
            return record.add(event.raised)
        case AnswerDefended():
            return record.add(event.defence)
        case ObjectionsRuled():
            return record.add(event.ruled)
        case AnswerRevised():
            return record.add(event.revised)
        case _:
            return record


class ReviewerLooked(PanelEvent, frozen=True, kw_only=True, tag="reviewer_looked"):
    """A call has ended with which a reviewer, or a participant that makes a plan or a draft, looks at the
    repository. `characters` is how much it was shown."""

    place: ClassVar = CanonicalPlace.BY_CHANCE
    label: str
    tool: str
    arguments: JsonObject
    outcome: Outcome
    characters: int


class PartReviewed(PanelEvent, frozen=True, kw_only=True, tag="part_reviewed"):
    """A reviewer's answer about a part of the change is there, or never will be."""

    place: ClassVar = CanonicalPlace.BY_CHANCE
    review: PartReview


class FindingsTried(PanelEvent, frozen=True, kw_only=True, tag="findings_tried"):
    """A model has tried findings of others; where it gave no answer, `error` says why. `question` is the digest
    of what it was asked."""

    place: ClassVar = CanonicalPlace.BY_CHANCE
    label: str
    question: str
    trials: tuple[Trial, ...] = ()
    error: str = ""


class ChangeReviewed(PanelEvent, frozen=True, kw_only=True, tag="change_reviewed"):
    """What a code review comes to."""

    result: ReviewResult
