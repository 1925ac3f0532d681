"""What happens in a debate beside what its panel tells: objections, responses, rulings, revised answers."""

from __future__ import annotations

from typing import ClassVar

from quorum.domain.events.panel import PanelEvent
from quorum.domain.fact import CanonicalPlace
from quorum.domain.panel.debate_record import (
    AnswerDefence,
    DebateRecord,
    RaisedObjections,
    RevisedAnswer,
    RoundRulings,
)


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
