"""What happens in a debate beside what its panel tells: objections, responses, rulings, revised answers."""

from __future__ import annotations

from typing import ClassVar

from domain.events.panel import PanelEvent
from domain.lazy_dataclass import dataclass
from domain.panel.debate_record import (
    AnswerDefence,
    DebateRecord,
    RaisedObjections,
    RevisedAnswer,
    RoundRulings,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectionsRaised(PanelEvent):
    """What one model objects to in a round is there, or never will be."""

    type: ClassVar = "objections_raised"
    durable: ClassVar = True
    raised: RaisedObjections


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerDefended(PanelEvent):
    """The one whose answer it is has responded to objections, or could not."""

    type: ClassVar = "answer_defended"
    durable: ClassVar = True
    defence: AnswerDefence


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectionsRuled(PanelEvent):
    """The moderator has ruled on objections, or could not."""

    type: ClassVar = "objections_ruled"
    durable: ClassVar = True
    ruled: RoundRulings


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRevised(PanelEvent):
    """The answer is revised for the objections that were upheld, or stays as it was."""

    type: ClassVar = "answer_revised"
    durable: ClassVar = True
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
