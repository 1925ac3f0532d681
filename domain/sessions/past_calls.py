"""Calls of recorded sessions with what became of their permission, as permission rules are replayed on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events.event import BatchPlanned, CallFinished, ReviewRequested
from quorum.domain.review.past_call import PastAnswer, PastCall
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.past_session import LedgerRecord
from quorum.domain.text.json_value import JsonObject

CALL_EVENTS = (BatchPlanned.type, ReviewRequested.type, CallFinished.type)
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
    """The calls of a session that were decided about, in the order in which they ended."""
    planned: dict[tuple[str, str], tuple[JsonObject, RiskLevel]] = {}
    for record in records:
        match record.event:
            case BatchPlanned(batch_id=batch_id, lanes=lanes):
                for lane in lanes:
                    planned[batch_id, lane.context.call_id] = (lane.arguments, lane.risk)
            case ReviewRequested(context=context, packet=packet):
                planned[context.batch_id, context.call_id] = (packet.call.arguments, RiskLevel.HIGH)
            case CallFinished(context=context, tool=tool, decision=decision):
                found = planned.pop((context.batch_id, context.call_id), None)
                if found is not None and (answer := _ANSWERS.get(decision)) is not None:
                    yield PastCall(tool=tool, arguments=found[0], risk=found[1], answer=answer)
            case _:
                continue
