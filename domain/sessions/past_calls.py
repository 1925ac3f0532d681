"""Calls of recorded sessions with what became of their permission, as permission rules are replayed on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events.event import BatchPlanned, CallFinished, ReviewDecided, ReviewRequested
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.review.rule_replay import PastAnswer, PastCall
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.staging.effects_answer import is_about_effects
from quorum.domain.text.json_value import JsonObject

CALL_EVENTS = (BatchPlanned.type, ReviewRequested.type, ReviewDecided.type, CallFinished.type)
"""The types of the events that past calls are made of."""


_ANSWERS = {
    DecisionLabel.ALLOWED: PastAnswer.UNASKED,
    DecisionLabel.APPROVED: PastAnswer.APPROVED,
    DecisionLabel.EDITED: PastAnswer.APPROVED,
    DecisionLabel.REJECTED: PastAnswer.REJECTED,
    DecisionLabel.DENIED: PastAnswer.DENIED,
    DecisionLabel.NEEDS_APPROVAL: PastAnswer.WITHHELD,
}


def list_past_calls(records: Iterable[LedgerRecord]) -> Iterator[PastCall]:
    """The calls of a session that were decided about, in the order in which they ended; last those without an
    end on record, as of a process that was killed."""
    planned: dict[tuple[str, str], tuple[str, JsonObject, RiskLevel]] = {}
    reviewed: dict[tuple[str, str], PastAnswer] = {}
    for record in records:
        match record.event:
            case BatchPlanned(batch_id=batch_id, lanes=lanes):
                for lane in lanes:
                    planned[batch_id, lane.context.call_id] = (lane.tool, lane.arguments, lane.risk)
            case ReviewRequested(context=context) | ReviewDecided(context=context) if is_about_effects(context):
                continue
            case ReviewRequested(context=context, packet=packet):
                key = (context.batch_id, context.call_id)
                planned[key] = (packet.call.tool_name, packet.call.arguments, RiskLevel.HIGH)
                reviewed.pop(key, None)  # an earlier answer was about other bytes
            case ReviewDecided(context=context, decision=decision):
                if (answer := _ANSWERS.get(decision)) is not None:
                    reviewed[context.batch_id, context.call_id] = answer
            case CallFinished(context=context, tool=tool, decision=decision):
                key = (context.batch_id, context.call_id)
                found, in_review = planned.pop(key, None), reviewed.pop(key, None)
                if found is not None and (answer := _ANSWERS.get(decision, in_review)) is not None:
                    yield PastCall(tool=tool, arguments=found[1], risk=found[2], answer=answer)
            case _:
                continue
    for key, answer in reviewed.items():
        if (found := planned.get(key)) is not None:
            yield PastCall(tool=found[0], arguments=found[1], risk=found[2], answer=answer)
