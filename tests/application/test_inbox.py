"""Decisions that wait are listed and answered from another process, without writing to their session."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from quorum.application.inbox import Inbox, InboxApprover, build_request, read_board
from quorum.application.ports.people import ReviewContext, ReviewQuestion
from quorum.application.review.approvers import NonInteractiveApprover
from quorum.cli.inbox.report import encode_review, render_inbox, render_review
from quorum.domain.calls.execution import Seal
from quorum.domain.calls.job import JobStatus
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.errors import AnswerRefused, LedgerError
from quorum.domain.events.event import (
    Event,
    JobEnded,
    JobStarted,
    ResponseCompleted,
    ReviewDecided,
    ReviewRequested,
    SessionResumed,
    SessionStarted,
    TurnFinished,
    TurnStarted,
)
from quorum.domain.events.masking import MaskedPacket
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import (
    Approve,
    DecisionLabel,
    NobodyThere,
    Reject,
    RemoteAnswer,
    ReviewAnswer,
    ReviewRequest,
)
from quorum.domain.review.signing import ApprovalSignature, SigningDemand, SigningTerms
from quorum.domain.sessions.session_summary import ContinuedSession, LedgerRecord, NewSession
from quorum.tui.screens.review.card import reveal_hidden
from tests.support.builders import a_call, a_context, calls_response
from tests.support.fake_answers import FakeAnswers
from tests.support.fake_ports import FakePerson
from tests.support.fake_storage import FakeStorage
from tests.support.review_contexts import a_review_context

CALL = a_call("write", {"path": "a.txt", "text": "x"}, id_="one")


def a_packet(command: str = "make") -> ReviewPacket:
    call = replace(CALL, arguments={"command": command})
    return ReviewPacket(call=call, context=a_context(call_id="one"), seal=Seal(cwd="/work"))


def a_report(session_id: str) -> RunReport:
    return RunReport(session_id=session_id, status=RunStatus.INTERRUPTED, stop_reason=None, text="", turns=1)


def asks(packet: ReviewPacket) -> ReviewRequested:
    return ReviewRequested(
        context=packet.context, packet=packet, digest=packet.digest, reasons=("it writes a file",)
    )


def up_to_review(packet: ReviewPacket, session_id: str = "s") -> list[Event]:
    return [
        SessionStarted(session_id=session_id, model="fake/model", mode=Mode.ASK, cwd="/work"),
        TurnStarted(prompt="go"),
        ResponseCompleted(turn_index=0, response=calls_response(packet.call)),
        asks(packet),
    ]


def decides(packet: ReviewPacket, reason: str | None = None) -> ReviewDecided:
    return ReviewDecided(
        context=packet.context, digest=packet.digest, decision=DecisionLabel.APPROVED, reason=reason
    )


def inbox_of(storage: FakeStorage, who: str = "ada@laptop") -> Inbox:
    return Inbox(storage.archive, storage.answers, clock=storage.clock, answered_by=who)


async def a_waiting_session(storage: FakeStorage, packet: ReviewPacket, *, is_open: bool = False) -> str:
    opened = storage.open_session(NewSession(), cwd="/work")
    assert opened.ledger is not None
    for event in up_to_review(packet, opened.session_id):
        await opened.ledger.append(event)
    if not is_open:
        await opened.ledger.aclose()
    return opened.session_id


async def add(storage: FakeStorage, session_id: str, *events: Event) -> None:
    opened = storage.open_session(ContinuedSession(session_id), cwd="/work")
    assert opened.ledger is not None
    for event in events:
        await opened.ledger.append(event)
    await opened.ledger.aclose()


async def test_what_waits_in_any_session_is_listed_with_the_longest_wait_first() -> None:
    storage = FakeStorage()
    first = await a_waiting_session(storage, a_packet("one"))
    second = await a_waiting_session(storage, a_packet("two"), is_open=True)

    waiting = await inbox_of(storage).list_waiting()

    assert [(each.session.id, each.is_open) for each in waiting] == [(first, False), (second, True)]
    assert [each.digest for each in waiting] == [a_packet("one").digest, a_packet("two").digest]
    assert waiting[0].reasons == ("it writes a file",)


async def test_a_session_is_read_again_only_once_it_has_changed_and_those_left_out_are_not_read() -> None:
    storage = FakeStorage()
    kept, packet = await a_waiting_session(storage, a_packet("one")), a_packet("two")
    changed = await a_waiting_session(storage, packet)
    reads: list[str] = []
    read = storage.archive.read

    async def count(session_id: str, types: Sequence[str] = ()) -> tuple[LedgerRecord, ...]:
        reads.append(session_id)
        return await read(session_id, types)

    storage.archive.read = count  # type: ignore[method-assign]
    inbox = inbox_of(storage)
    assert [each.session.id for each in await inbox.list_waiting({kept})] == [changed]
    assert reads == [changed]
    await inbox.list_waiting()
    await inbox.list_waiting()
    assert reads == [changed, kept]

    await add(storage, changed, decides(packet, "you"))
    assert [each.session.id for each in await inbox.list_waiting()] == [kept]
    assert reads == [changed, kept, changed]


async def test_the_board_parts_sessions_that_wait_from_those_that_are_open_and_those_that_ended() -> None:
    storage = FakeStorage()
    asking = await a_waiting_session(storage, a_packet("one"))
    here = await a_waiting_session(storage, a_packet("two"), is_open=True)
    ended = await a_waiting_session(storage, a_packet("three"))
    await add(storage, ended, TurnFinished(report=a_report(ended)))

    board = await read_board(inbox_of(storage), storage.archive, without={here})

    assert [review.session.id for review in board.waiting] == [asking]
    assert board.open == ()
    assert [session.id for session in board.ended] == [ended]


async def test_an_ended_session_whose_changes_are_staged_waits_for_the_person() -> None:
    storage = FakeStorage()
    staged, ended = [await a_waiting_session(storage, a_packet(name)) for name in ("one", "two")]
    for session in (staged, ended):
        await add(storage, session, TurnFinished(report=a_report(session)))
    inbox = Inbox(
        storage.archive,
        storage.answers,
        clock=storage.clock,
        answered_by="me",
        list_staged=lambda: {staged, "of another storage"},
    )

    board = await read_board(inbox, storage.archive)

    assert [session.id for session in board.staged] == [staged]
    assert [session.id for session in board.ended] == [ended]


async def test_the_board_knows_in_which_of_the_open_sessions_something_runs() -> None:
    storage = FakeStorage()

    async def open_with(*events: Event) -> str:
        opened = storage.open_session(NewSession(), cwd="/work")
        assert opened.ledger is not None
        started, turn, *_ = up_to_review(a_packet(), opened.session_id)
        for event in (started, turn, *events):
            await opened.ledger.append(event)
        return opened.session_id

    begun = JobStarted(job_id="job-1", context=a_context(), command="make watch")
    over = JobEnded(job_id="job-1", status=JobStatus.ENDED, exit_code=0, duration_secs=1.0)
    done = TurnFinished(report=a_report("one"))
    again = SessionResumed(session_id="one", model="fake/model-1", mode=Mode.ASK, cwd="/work")
    in_turn = await open_with()
    in_background = await open_with(begun, done)
    at_rest = [await open_with(done), await open_with(begun, done, over), await open_with(begun, again)]

    board = await read_board(inbox_of(storage), storage.archive)

    assert {session.id for session in board.open} == {in_turn, in_background, *at_rest}
    assert board.at_work == {in_turn, in_background}


async def test_what_the_model_wrote_before_the_call_is_part_of_the_question() -> None:
    storage, packet = FakeStorage(), a_packet()
    opened = storage.open_session(NewSession(), cwd="/work")
    assert opened.ledger is not None
    started, turn, _, asked = up_to_review(packet, opened.session_id)
    response = calls_response(packet.call, text="First.\n\nNow I run `make`.")
    for event in (started, turn, ResponseCompleted(turn_index=0, response=response), asked):
        await opened.ledger.append(event)

    (waiting,) = await inbox_of(storage).list_waiting()

    assert build_request(waiting).preamble == "First.\n\nNow I run `make`."
    assert "model       Now I run make." in render_review(waiting, str, now_ms=0)
    assert encode_review(waiting, str)["preamble"] == "First.\n\nNow I run `make`."


async def a_session_to_sign(storage: FakeStorage, packet: ReviewPacket, terms: SigningTerms) -> str:
    opened = storage.open_session(NewSession(), cwd="/work")
    assert opened.ledger is not None
    *before, asked = up_to_review(packet, opened.session_id)
    assert isinstance(asked, ReviewRequested)
    for event in (*before, replace(asked, signing=terms)):
        await opened.ledger.append(event)
    await opened.ledger.aclose()
    return opened.session_id


async def sign(storage: FakeStorage, session_id: str, packet: ReviewPacket, *people: str) -> None:
    for person in people:
        await storage.answers.add_signature(
            ApprovalSignature(session_id=session_id, digest=packet.digest, person=person, at_ms=1)
        )


async def test_of_a_call_that_people_sign_it_is_said_who_has_and_who_is_missing() -> None:
    storage, packet = FakeStorage(), a_packet()
    terms = SigningTerms(demands=(SigningDemand(2, ("bob", "cyn")),))
    session_id = await a_session_to_sign(storage, packet, terms)
    (unsigned,) = await inbox_of(storage).list_waiting()
    assert unsigned.signatures == ""
    await sign(storage, session_id, packet, "bob", "eve")

    (waiting,) = await inbox_of(storage).list_waiting()

    said = "signed by bob; still to sign: cyn"
    assert build_request(waiting).notices == (terms.describe(), said)
    assert said in render_review(waiting, str, now_ms=0)
    assert f"{said} · " in render_inbox([waiting], str, now_ms=0, width=None)[1]
    assert encode_review(waiting, str)["signed_by"] == ["bob"]


@pytest.mark.parametrize("forged", ["", "cyn"])
async def test_what_enough_people_have_signed_waits_no_more_unless_a_signature_does_not_hold(
    forged: str,
) -> None:
    storage, packet = FakeStorage(), a_packet()
    terms = SigningTerms(demands=(SigningDemand(2, ("bob", "cyn")),))
    session_id = await a_session_to_sign(storage, packet, terms)
    await sign(storage, session_id, packet, "bob", "cyn")

    async def verify(signature: ApprovalSignature) -> str:
        return "it was made with another key" if signature.person == forged else ""

    inbox = Inbox(storage.archive, storage.answers, clock=storage.clock, answered_by="dan", verify=verify)
    listed = [each.digest for each in await inbox.list_waiting()]
    if forged:
        assert listed == [packet.digest]
        return

    assert listed == []
    with pytest.raises(AnswerRefused, match="does not wait any more: signed by bob, cyn; all have signed"):
        await inbox.answer(packet.digest, approves=False)
    # Where the policy names nobody, no signature can be verified.
    assert [each.digest for each in await inbox_of(storage).list_waiting()] == [packet.digest]


async def test_the_reasons_that_only_the_mode_gives_come_last_and_are_no_dangers() -> None:
    storage, packet = FakeStorage(), a_packet()
    opened = storage.open_session(NewSession(), cwd="/work")
    assert opened.ledger is not None
    *before, asked = up_to_review(packet, opened.session_id)
    assert isinstance(asked, ReviewRequested)
    reasons = ("the mode asks", "a sensitive path")
    for event in (*before, replace(asked, reasons=reasons, routine_reasons=reasons[:1])):
        await opened.ledger.append(event)

    (waiting,) = await inbox_of(storage).list_waiting()

    assert waiting.dangers == ("a sensitive path",)
    assert waiting.ordered_reasons == ("a sensitive path", "the mode asks")


async def test_an_answer_by_digest_is_kept_apart_from_the_events_of_the_session() -> None:
    storage, packet = FakeStorage(), a_packet()
    session_id = await a_waiting_session(storage, packet)
    before = await storage.archive.read(session_id)

    await inbox_of(storage).answer(packet.digest[:16], approves=True)

    assert await storage.archive.read(session_id) == before
    answer = await storage.answers.find(session_id, packet.digest)
    assert answer is not None
    assert answer.to_review_answer() == Approve(packet.digest, by="ada@laptop")
    assert await inbox_of(storage).list_waiting() == ()


@pytest.mark.parametrize("digest", ["", "5f0c", "rm -rf /", "0" * 65])
async def test_what_is_no_digest_is_refused(digest: str) -> None:
    with pytest.raises(AnswerRefused, match="is no digest of a packet: give at least 16"):
        await inbox_of(FakeStorage()).answer(digest, approves=True)


async def test_an_answer_that_comes_too_late_is_refused_with_what_happened() -> None:
    storage, packet = FakeStorage(), a_packet()
    session_id = await a_waiting_session(storage, packet)
    inbox = inbox_of(storage)
    with pytest.raises(AnswerRefused, match="was ever put to review here"):
        await inbox.answer("0" * 16, approves=True)

    await inbox.answer(packet.digest, approves=True)
    with pytest.raises(AnswerRefused, match="does not wait any more: it was approved by ada@laptop already"):
        await inbox_of(storage, "bob").answer(packet.digest, approves=False)

    await add(storage, session_id, decides(packet, "in the inbox, by ada@laptop"))
    with pytest.raises(
        AnswerRefused, match=r"it was decided already: approved \(in the inbox, by ada@laptop\)"
    ):
        await inbox.answer(packet.digest, approves=False)


async def test_what_has_changed_or_gone_on_since_is_refused() -> None:
    storage, packet, changed = FakeStorage(), a_packet("make"), a_packet("make clean")
    session_id = await a_waiting_session(storage, packet)
    await add(storage, session_id, asks(changed))

    with pytest.raises(AnswerRefused, match=f"has changed since, and {changed.digest[:16]} is its digest now"):
        await inbox_of(storage).answer(packet.digest, approves=True)

    await add(storage, session_id, TurnFinished(report=a_report(session_id)))
    with pytest.raises(AnswerRefused, match="its session continued or ended without it"):
        await inbox_of(storage).answer(changed.digest, approves=True)
    assert await inbox_of(storage).list_waiting() == ()


async def test_a_decision_is_found_by_its_session_unless_several_wait_under_that_name() -> None:
    storage = FakeStorage()
    first = await a_waiting_session(storage, a_packet("one"))

    assert (await inbox_of(storage).find(first)).session.id == first
    with pytest.raises(AnswerRefused, match="no decision waits under 'nobody'"):
        await inbox_of(storage).find("nobody")
    with pytest.raises(AnswerRefused, match="no decision waits under ''"):
        await inbox_of(storage).find("")

    second = await a_waiting_session(storage, a_packet("two"))
    shared = next(first[:n] for n in range(len(first), 0, -1) if second.startswith(first[:n]))
    with pytest.raises(AnswerRefused, match="2 decisions wait under"):
        await inbox_of(storage).find(shared)


# ---------------------------------------------------------------- the process that asks


def asked(packet: ReviewPacket) -> ReviewRequest:
    return ReviewRequest(packet=packet, reasons=(), batch_size=1)


class PatientPerson(FakePerson):
    """Answers nothing; `taken_off` tells that its question was taken off the screen."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = asyncio.Event()
        self.taken_off = False

    async def review(self, request: ReviewRequest, review_context: ReviewContext) -> ReviewAnswer:
        self.shown.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.taken_off = True
        raise AssertionError


def an_answer(packet: ReviewPacket, *, approves: bool = True, session_id: str = "s") -> RemoteAnswer:
    return RemoteAnswer(
        session_id=session_id,
        digest=packet.digest,
        approves=approves,
        reason=None if approves else "not now",
        answered_by="ada@laptop",
        at_ms=1,
    )


def about(packet: ReviewPacket) -> ReviewQuestion:
    return ReviewQuestion(asked(packet), a_review_context())


async def test_an_answer_from_elsewhere_takes_the_question_off_the_screen() -> None:
    person, answers, packet = PatientPerson(), FakeAnswers(), a_packet()
    approver = InboxApprover(person, answers, "s", look_secs=0)
    asking = asyncio.create_task(approver.ask(about(packet)))
    await person.shown.wait()

    await answers.add(an_answer(packet, approves=False))

    assert await asking == Reject("not now", by="ada@laptop")
    assert person.taken_off


async def test_only_an_answer_to_this_very_packet_in_this_session_counts() -> None:
    answers, packet = FakeAnswers(), a_packet()
    await answers.add(an_answer(a_packet("another")))
    await answers.add(an_answer(packet, session_id="another"))
    approver = InboxApprover(NonInteractiveApprover(), answers, "s")

    assert await approver.ask(about(packet)) == NobodyThere()

    await answers.add(an_answer(packet))
    assert await approver.ask(about(packet)) == Approve(packet.digest, by="ada@laptop")


async def test_where_answers_cannot_be_read_the_person_here_is_asked() -> None:
    class Away(FakeAnswers):
        async def find(self, session_id: str, digest: str) -> RemoteAnswer | None:
            raise LedgerError("the server is away")

    packet = a_packet()
    person = FakePerson()

    assert await InboxApprover(person, Away(), "s", look_secs=0).ask(about(packet)) == Approve(packet.digest)


async def test_an_answer_here_counts_also_where_the_look_for_one_elsewhere_takes_no_notice_of_its_end() -> None:
    class Deaf(FakeAnswers):
        looks = 0

        async def find(self, session_id: str, digest: str) -> RemoteAnswer | None:
            self.looks += 1
            if self.looks == 2:
                person.may_answer.set()
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:  # as a read does that ended in this moment
                    return None
            return await super().find(session_id, digest)

    class AnsweringPerson(FakePerson):
        may_answer = asyncio.Event()

        async def review(self, request: ReviewRequest, review_context: ReviewContext) -> ReviewAnswer:
            await self.may_answer.wait()
            return Reject("no")

    person = AnsweringPerson()
    approver = InboxApprover(person, Deaf(), "s", look_secs=0.01)

    async with asyncio.timeout(60):
        assert await approver.ask(about(a_packet())) == Reject("no")


async def test_a_question_that_is_cancelled_is_taken_off_the_screen() -> None:
    person = PatientPerson()
    approver = InboxApprover(person, FakeAnswers(), "s", look_secs=0)
    asking = asyncio.create_task(approver.ask(about(a_packet())))
    await person.shown.wait()

    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    assert person.taken_off


async def test_what_is_hidden_in_the_record_is_not_approved_from_elsewhere_and_can_be_rejected() -> None:
    storage, packet = FakeStorage(), a_packet("git fetch --x1y2z3 origin")
    opened = storage.open_session(NewSession(), cwd="/work")
    assert opened.ledger is not None
    *before, asked = up_to_review(packet, opened.session_id)
    assert isinstance(asked, ReviewRequested)
    for event in (*before, replace(asked, packet=a_packet("git fetch [secret:API_KEY] origin"))):
        await opened.ledger.append(event)

    with pytest.raises(AnswerRefused, match="is hidden here"):
        await inbox_of(storage).answer(packet.digest, approves=True)
    await inbox_of(storage).answer(packet.digest, approves=False)

    answer = await storage.answers.find(opened.session_id, packet.digest)
    assert answer is not None
    assert not answer.approves


async def test_what_is_hidden_in_the_record_and_known_here_is_shown_and_can_be_approved() -> None:
    storage, packet = FakeStorage(), a_packet("git fetch --x1y2z3 origin")
    opened = storage.open_session(NewSession(), cwd="/work")
    assert opened.ledger is not None
    *before, asked = up_to_review(packet, opened.session_id)
    assert isinstance(asked, ReviewRequested)
    for event in (*before, replace(asked, packet=a_packet("git fetch [secret:API_KEY] origin"))):
        await opened.ledger.append(event)
    asked_for: list[str] = []

    def restore(recorded: MaskedPacket, cwd: str) -> ReviewPacket:
        asked_for.append(cwd)
        return replace(recorded, original=packet)

    inbox = Inbox(
        storage.archive, storage.answers, clock=storage.clock, answered_by="ada@laptop", restore=restore
    )
    (waiting,) = await inbox.list_waiting()
    assert reveal_hidden(build_request(waiting)).packet == packet
    await inbox.answer(packet.digest, approves=True)

    answer = await storage.answers.find(opened.session_id, packet.digest)
    assert answer is not None
    assert answer.approves
    assert asked_for[0] == "/work"
