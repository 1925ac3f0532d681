"""The review of effects that a session has put to people elsewhere, as its records tell."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

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


class UsedLayer(Struct, frozen=True, kw_only=True):
    """The layer in which the last turn of a session worked; on earlier records no machine is named.

    `waits`: the turn ended, and what it changed waits there. Else it did not end.
    """

    layer: str
    machine: str
    waits: bool

    def explain_absence(self, machine: str, *, is_in_layer: bool) -> str:
        """Why the session cannot go on here, where its layer is not; empty where it can, without what the layer
        held. `is_in_layer`: it would go on in another one."""
        where = self.machine or machine
        if where != machine:
            return (
                f"what it changed is in the layer {self.layer} on {where}, where a worker goes on with it; if "
                "that machine is gone, quorum fleet cancel gives the session up"
            )
        if not is_in_layer:
            return f"it works in the layer {self.layer}: a worker in the mode staged goes on with it there"
        if self.waits:
            return (
                f"what it changed waits in the layer {self.layer}, which is not in the state folder any more: "
                "put it back there, or give the session up with quorum fleet cancel"
            )
        return ""


def find_used_layer(records: Sequence[LedgerRecord]) -> UsedLayer | None:
    """The layer without which a session cannot go on as it stands; None where it needs none."""
    layer = machine = ""
    is_open = waits = False
    for record in records:
        match record.event:
            case LayerEntered():
                layer, machine = record.event.layer, record.event.machine or ""
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
    return UsedLayer(layer=layer, machine=machine, waits=waits) if layer and (is_open or waits) else None
