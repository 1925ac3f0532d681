"""What waits for people elsewhere, as the records of sessions tell: reviews of calls and of effects, and
approvals to sign; and whether anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UNSET, Struct

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.events.event import (
    CallFinished,
    JobEnded,
    JobStarted,
    ReviewDecided,
    ReviewRequested,
    SessionResumed,
    TurnFinished,
    TurnStarted,
)
from quorum.domain.events.masking import MaskedPacket
from quorum.domain.events.report import EFFECTS_REVIEWED, EFFECTS_WAIT, RunReport, RunStatus
from quorum.domain.events.staging import EffectsDecision, EffectsReviewed, LayerEntered, LayerWaits
from quorum.domain.replacing import replace
from quorum.domain.review.questions import DecisionLabel, find_dangers
from quorum.domain.review.signing import ApprovalSignature, SigningTerms
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord, SessionSummary
from quorum.domain.staging.effects_answer import is_about_effects
from quorum.domain.text.printable import make_printable

MIN_DIGEST = 16
"""How many hexadecimal digits name a packet at least: fewer could be met by another packet on purpose."""


class WaitingReview(Struct, frozen=True, kw_only=True):
    """A packet that waits for a person. `since_ms` is when it was asked, in milliseconds since 1970;
    `routine_reasons`, `preamble` and `signing` are as in `ReviewRequest`; those in `signed_by` have signed,
    which nobody has verified yet.

    Secrets are hidden in the recorded `packet`; its digest is that of the real one.
    """

    session: SessionSummary
    packet: ReviewPacket
    reasons: tuple[str, ...]
    since_ms: int
    routine_reasons: tuple[str, ...] = ()
    preamble: str = ""
    signing: SigningTerms | None = None
    signed_by: tuple[str, ...] = ()

    @property
    def signatures(self) -> str:
        """Who has signed it by now and who is missing, as a clause; empty where nobody has, or need."""
        return "" if self.signing is None else self.signing.describe_signed(self.signed_by)

    @property
    def dangers(self) -> tuple[str, ...]:
        """What speaks against this very call, each reason once."""
        return find_dangers(self.reasons, self.routine_reasons)

    @property
    def ordered_reasons(self) -> tuple[str, ...]:
        """Why it is asked, each reason once: what speaks against the call first."""
        return tuple(dict.fromkeys((*self.dangers, *self.reasons)))

    @property
    def digest(self) -> str:
        """What an answer names."""
        return self.packet.digest

    @property
    def short_digest(self) -> str:
        """The beginning of the digest, as it is typed."""
        return self.digest[:MIN_DIGEST]

    @property
    def is_open(self) -> bool:
        """Whether a process has the session, and takes the answer by itself."""
        return self.session.open_in is not None


def find_waiting_reviews(session: SessionSummary, records: Sequence[LedgerRecord]) -> tuple[WaitingReview, ...]:
    """The reviews of a session that can be answered now, in the order of its calls.

    Of a session that no process has, these are the ones that are asked again when it is resumed: not those of a
    subagent, which ends with the process, nor those about something secret, which is not recorded.
    """
    waiting = [*_find_waiting_effects(session, records)]
    state = replay_state(records)
    for call in state.open_calls:
        if call.pending is None or call.pending_digest is None or call.started or call.end is not None:
            continue
        is_repeatable = session.owner is None and call.pending.digest == call.pending_digest
        if session.open_in is None and not is_repeatable:
            continue
        asked = _find_request(records, call.pending_digest)
        if asked is None:
            continue
        at_ms, event = asked
        waiting.append(
            WaitingReview(
                session=session,
                packet=_keep_digest(call.pending, call.pending_digest),
                reasons=event.reasons,
                routine_reasons=event.routine_reasons,
                signing=event.signing or None,
                since_ms=at_ms,
                preamble=state.preamble,
            )
        )
    return tuple(waiting)


def _find_waiting_effects(session: SessionSummary, records: Sequence[LedgerRecord]) -> Iterator[WaitingReview]:
    if (found := find_asked_effects(records)) is not None:
        since_ms, asked = found
        report = find_last_report(records)
        yield WaitingReview(
            session=session,
            packet=_keep_digest(asked.packet, asked.digest),
            reasons=asked.reasons,
            routine_reasons=asked.routine_reasons,
            since_ms=since_ms,
            preamble=report.text if report is not None else "",
        )


def find_decision(records: Sequence[LedgerRecord], digest: str) -> ReviewDecided | None:
    """The last recorded decision about the packet whose digest begins so, if there is one."""
    for record in reversed(records):
        if isinstance(record.event, ReviewDecided) and record.event.digest.startswith(digest):
            return record.event
    return None


def explain_no_longer_waiting(records: Sequence[LedgerRecord], digest: str) -> str:
    """What became of a review that was asked with a digest that begins so and does not wait any more."""
    if (decided := find_decision(records, digest)) is not None:
        because = f" ({make_printable(decided.reason, newlines=False)})" if decided.reason else ""
        return f"it was decided already: {decided.decision}{because}"
    asked = _find_request(records, digest)
    if asked is not None:
        context = asked[1].context
        requests = (record.event for record in reversed(records) if isinstance(record.event, ReviewRequested))
        latest = next(event for event in requests if event.context == context)
        if not latest.digest.startswith(digest):
            return f"what would run has changed since, and {latest.digest[:MIN_DIGEST]} is its digest now"
        if any(isinstance(one.event, CallFinished) and one.event.context == context for one in records):
            return "its call has ended without it"
    return "its session continued or ended without it"


def _find_request(records: Sequence[LedgerRecord], digest: str) -> tuple[int, ReviewRequested] | None:
    """The first time that a packet was asked about."""
    for record in records:
        if isinstance(record.event, ReviewRequested) and record.event.digest.startswith(digest):
            return record.at_ms, record.event
    return None


def _keep_digest(packet: ReviewPacket, digest: str) -> ReviewPacket:
    """The packet as it is recorded, with the digest of the real one."""
    if packet.digest == digest:
        return packet
    return MaskedPacket(
        call=packet.call,
        context=packet.context,
        seal=packet.seal,
        asked_by=packet.asked_by,
        sealed_digest=digest,
    )


_RUNS = (DecisionLabel.APPROVED, DecisionLabel.EDITED)


class SignedDecision(Struct, frozen=True, kw_only=True):
    """An approval at a place of a record: what it took, and the signatures it was given."""

    seq: int
    digest: str
    terms: SigningTerms
    signatures: tuple[ApprovalSignature, ...]


def list_signed_decisions(records: Sequence[LedgerRecord]) -> tuple[SignedDecision, ...]:
    """The approvals of calls that people had to sign, in their order."""
    asked: dict[str, SigningTerms] = {}
    found: list[SignedDecision] = []
    for record in records:
        match record.event:
            case ReviewRequested(digest=digest, signing=SigningTerms() as terms):
                asked[digest] = terms
            case ReviewDecided(digest=digest, decision=decision) if decision in _RUNS and digest in asked:
                given = record.event.signatures
                found.append(
                    SignedDecision(
                        seq=record.seq,
                        digest=digest,
                        terms=asked[digest],
                        signatures=() if given is UNSET else given,
                    )
                )
    return tuple(found)


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


WORK_EVENTS = tuple(kind.type for kind in (SessionResumed, TurnStarted, TurnFinished, JobStarted, JobEnded))


def is_at_work(records: Sequence[LedgerRecord]) -> bool:
    """Whether a turn or a background command runs, by the records of `WORK_EVENTS` of a session that a process
    has. What ran in a process before that one ended with it."""
    in_turn, jobs = False, set[str]()
    for record in records:
        match record.event:
            case SessionResumed():
                in_turn, jobs = False, set()
            case TurnStarted():
                in_turn = True
            case TurnFinished():
                in_turn = False
            case JobStarted(job_id=job_id):
                jobs.add(job_id)
            case JobEnded(job_id=job_id):
                jobs.discard(job_id)
    return in_turn or bool(jobs)
