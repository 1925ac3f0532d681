"""What waits in a layer is asked about as a call is: until it is applied, dropped, left or sent back."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.application.event_bus import EventBus
from quorum.application.export.effects_report import render_effects
from quorum.application.ports.people import ReviewContext
from quorum.application.staging.effects_review import EffectsReview
from quorum.application.staging.staged_turns import EffectsInquiry
from quorum.domain.events.event import EffectsReviewed, ReviewDecided, ReviewRequested
from quorum.domain.events.report import EFFECTS_WAIT, RunReport, RunStatus
from quorum.domain.events.staging import EffectsDecision
from quorum.domain.review.person_question import PersonReply
from quorum.domain.review.questions import (
    Approve,
    DecisionLabel,
    NobodyThere,
    Reject,
    ReviewAnswer,
    ReviewRequest,
)
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.staging.effects_answer import EffectsAnswer
from quorum.infrastructure.files.diff import render_unified_diff
from tests.support.fake_layer import FakeLayer
from tests.support.fake_ledger import FakeLedger

REPORT = RunReport(
    session_id="s", status=RunStatus.NEEDS_APPROVAL, stop_reason=EFFECTS_WAIT, text="I am done.", turns=1
)


class InquiryRig:
    """A layer in which two files changed. `given` are the answers in their order, and then nobody is there."""

    def __init__(self, *given: EffectsAnswer | Reject, records: Sequence[LedgerRecord] = ()) -> None:
        self.layer = FakeLayer({"a.py": b"one\n"})
        self.layer.write("a.py", b"two\n")
        self.layer.write("Makefile", b"all:\n")
        self.layer.write(".env", b"TOKEN=hidden\n")
        self.ledger = FakeLedger()
        self.given = [*given]
        self.asked: list[ReviewRequest] = []
        self.notes: list[str] = []
        events = EventBus((), ledger=self.ledger)
        self.review = EffectsReview(
            self.layer,
            events,
            queue_note=self._note,
            render_diff=render_unified_diff,
            is_sensitive=lambda path: path.endswith(".env"),
        )
        self.inquiry = EffectsInquiry(
            self.review, self._answer, events, render=render_effects, machine="here", records=records
        )

    async def _note(self, text: str) -> None:
        self.notes.append(text)

    async def _answer(self, request: ReviewRequest, _context: ReviewContext) -> ReviewAnswer:
        self.asked.append(request)
        if not self.given:
            return NobodyThere()
        given = self.given.pop(0)
        if isinstance(given, Reject):
            return given
        return Approve(request.packet.digest, by="Anna@there", reply=PersonReply(text=given.encode()))

    @property
    def decisions(self) -> list[DecisionLabel]:
        return [event.decision for event in self.ledger.events if isinstance(event, ReviewDecided)]

    @property
    def ends(self) -> list[EffectsDecision]:
        return [event.decision for event in self.ledger.events if isinstance(event, EffectsReviewed)]


async def test_what_is_asked_shows_the_changes_what_speaks_against_them_and_no_sensitive_content() -> None:
    rig = InquiryRig()

    assert await rig.inquiry.settle(REPORT) == REPORT

    (request,) = rig.asked
    assert request.preamble == "I am done."
    assert "Makefile: adds a program that make runs" in request.reasons
    assert request.packet.seal.diff is not None
    assert "+two" in request.packet.seal.diff
    assert "hidden" not in request.packet.to_canonical_json()
    assert "1 file not shown" in request.packet.seal.diff
    assert request.packet.call.arguments["machine"] == "here"


async def test_what_is_approved_is_recorded_and_applied_but_for_what_is_left_out() -> None:
    rig = InquiryRig(EffectsAnswer(left_out=("Makefile", ".env")))

    settled = await rig.inquiry.settle(REPORT)

    assert isinstance(settled, RunReport)
    assert (settled.status, settled.stop_reason) == (RunStatus.COMPLETED, "effects_reviewed")
    assert rig.layer.workspace == {"a.py": b"two\n"}
    assert (rig.decisions, rig.ends) == ([DecisionLabel.APPROVED], [EffectsDecision.APPLIED])


async def test_what_cannot_be_done_is_asked_about_anew_with_the_reason_and_another_digest() -> None:
    rig = InquiryRig(EffectsAnswer(left_out=("other",)), EffectsAnswer())

    await rig.inquiry.settle(REPORT)

    first, second = rig.asked
    assert any("other is not among the changes" in reason for reason in second.reasons)
    assert first.packet.digest != second.packet.digest
    assert rig.decisions == [DecisionLabel.REJECTED, DecisionLabel.APPROVED]
    assert rig.ends == [EffectsDecision.APPLIED]


async def test_words_send_it_back_no_words_leave_it_and_it_can_be_dropped() -> None:
    back, left, dropped = (
        InquiryRig(Reject("smaller")),
        InquiryRig(Reject()),
        InquiryRig(EffectsAnswer(discards=True)),
    )

    assert await back.inquiry.settle(REPORT) == "smaller"
    kept = await left.inquiry.settle(REPORT)
    gone = await dropped.inquiry.settle(REPORT)

    assert back.ends == [EffectsDecision.REJECTED]
    assert isinstance(kept, RunReport)
    assert kept.status is RunStatus.COMPLETED
    assert left.layer.upper
    assert not left.ends
    assert isinstance(gone, RunReport)
    assert (dropped.ends, dropped.layer.upper) == ([EffectsDecision.DISCARDED], {})
    assert all(rig.layer.workspace == {"a.py": b"one\n"} for rig in (back, left, dropped))


async def test_a_later_process_asks_what_the_earlier_one_did_so_that_an_answer_to_that_counts() -> None:
    earlier = InquiryRig()
    await earlier.inquiry.settle(REPORT)
    (request,) = earlier.asked
    asked = ReviewRequested(
        context=request.packet.context,
        packet=request.packet,
        digest=request.packet.digest,
        reasons=("what it said then",),
    )
    later = InquiryRig(records=[LedgerRecord(seq=0, at_ms=0, event=asked)])
    changed = InquiryRig(records=[LedgerRecord(seq=0, at_ms=0, event=asked)])
    changed.layer.write("a.py", b"three\n")

    await later.inquiry.settle(REPORT)
    await changed.inquiry.settle(REPORT)

    assert later.asked[0].packet.digest == request.packet.digest
    assert later.asked[0].reasons == ("what it said then",)
    assert changed.asked[0].packet.digest != request.packet.digest


async def test_what_cannot_be_read_counts_as_something_to_ask_about() -> None:
    rig = InquiryRig()
    rig.layer.upper.clear()
    assert not await rig.inquiry.has_effects()

    rig.layer.trouble = "the disk is gone"

    assert await rig.inquiry.has_effects()


async def test_where_nothing_waits_nothing_is_asked() -> None:
    rig = InquiryRig()
    rig.layer.upper.clear()

    settled = await rig.inquiry.settle(REPORT)

    assert isinstance(settled, RunReport)
    assert settled.status is RunStatus.COMPLETED
    assert rig.asked == []
