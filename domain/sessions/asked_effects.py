"""The review of effects that a session has put to people elsewhere, as its records tell."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.domain.events.event import ReviewDecided, ReviewRequested, TurnFinished, TurnStarted
from quorum.domain.events.report import EFFECTS_REVIEWED, EFFECTS_WAIT, RunReport, RunStatus
from quorum.domain.events.staging import EffectsDecision, EffectsReviewed, LayerEntered, LayerWaits
from quorum.domain.replacing import replace
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.staging.effects_answer import is_about_effects

_SETTLED = (EffectsDecision.APPLIED, EffectsDecision.DISCARDED)


def find_asked_effects(records: Sequence[LedgerRecord]) -> tuple[int, ReviewRequested] | None:
    """The question about effects that has no answer yet, and the time at which it was put first; None where
    none waits."""
    found: tuple[int, ReviewRequested] | None = None
    for record in records:
        match record.event:
            case ReviewRequested() as asked if is_about_effects(asked.context):
                if found is None or found[1].digest != asked.digest:
                    found = record.at_ms, asked
            case ReviewDecided(context=context) if is_about_effects(context):
                found = None
            case TurnStarted():
                found = None
            case EffectsReviewed(decision=decision) if decision in _SETTLED:
                found = None
            case _:
                continue
    return found


def count_answered_effects(records: Sequence[LedgerRecord]) -> int:
    """How many questions about effects were answered in the session."""
    return sum(
        isinstance(each.event, ReviewDecided) and is_about_effects(each.event.context) for each in records
    )


def find_last_report(records: Sequence[LedgerRecord]) -> RunReport | None:
    """How the last turn of a session ended, its effects reviewed since or not; None where none has ended."""
    report: RunReport | None = None
    for record in records:
        match record.event:
            case TurnFinished():
                report = record.event.report
            case ReviewDecided(context=context) if report is not None and is_about_effects(context):
                report = end_review(report)
            case EffectsReviewed(decision=decision) if report is not None and decision in _SETTLED:
                report = end_review(report)
            case _:
                continue
    return report


def end_review(report: RunReport) -> RunReport:
    """The report of a turn once somebody has decided about its effects."""
    if report.stop_reason != EFFECTS_WAIT:
        return report
    return replace(report, status=RunStatus.COMPLETED, stop_reason=EFFECTS_REVIEWED)


def explain_layer_elsewhere(records: Sequence[LedgerRecord], machine: str) -> str:
    """Why a session cannot go on here, on a machine that has no layer with its changes: these lie on another
    one. Empty where they do not."""
    layer = where = ""
    is_open = waits = False
    for record in records:
        match record.event:
            case LayerEntered(layer=entered, machine=str(named)):
                layer, where = entered, named
            case TurnStarted():
                is_open = True
            case LayerWaits():
                waits = True
            case TurnFinished():
                is_open = False
            case EffectsReviewed(decision=decision) if decision in _SETTLED:
                waits = False
            case _:
                continue
    if not (is_open or waits) or where in ("", machine):
        return ""
    return (
        f"what it changed waits in the layer {layer} on {where}: a worker there goes on; if that machine is "
        "gone, quorum fleet cancel gives it up"
    )
