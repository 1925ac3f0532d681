import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import BatchResult, ToolBatch, ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.application.ports.people import ReviewContext
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.planners import plan_serializable
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import (
    CallFinished,
    CallQueued,
    CallStarted,
    Event,
    ModeChanged,
    PlanApproved,
    PlanWithdrawn,
    QuorumConcluded,
    ResponseCompleted,
    ReviewDecided,
    ReviewRequested,
    VoteCast,
)
from quorum.domain.plan.plan import Plan, PlanTask
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import (
    Approve,
    ApproveEdits,
    Edit,
    NobodyThere,
    Reject,
    RejectAndInterrupt,
    ReviewAnswer,
    ReviewRequest,
)
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.support.builders import a_call, a_context
from tests.support.fake_gateway import Answers, ballot
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import FakePerson, FakeWriter, RecordingObserver, World
from tests.support.fake_session import Step
from tests.support.reviews import a_review

DOWN = ProviderError("down", kind=ProviderErrorKind.OVERLOADED)
LETTERS: Mapping[str, Sequence[LlmResponse | ProviderError]] = {
    "a": [ballot("approve", "fine")],
    "r": [ballot("reject", "risky")],
    "s": [ballot("abstain", "who knows")],
    "e": [DOWN],
}


class NobodyAtHome(FakePerson):
    is_there = False

    def __init__(self) -> None:
        super().__init__(lambda _request: NobodyThere())


class Bench:
    """A runtime with one writing tool, reviewed by scripted models and a scripted person."""

    def __init__(
        self,
        votes: str | Mapping[str, Answers] = "",
        *,
        mode: Mode = Mode.QUORUM,
        person: FakePerson | None = None,
        rounds: int = 1,
        escalate_below: float | None = None,
        ledger: FakeLedger | None = None,
        **rules: Sequence[str],
    ) -> None:
        if isinstance(votes, str):
            votes = {f"p/{i}": list(LETTERS[letter]) * rounds for i, letter in enumerate(votes)}
        self.world, self.seen, self.person = World(), RecordingObserver(), person or FakePerson()
        self.events = events = EventBus([self.seen], ledger=ledger)
        self.review = review = a_review(
            person=self.person, events=events, mode=mode, votes=votes, escalate_below=escalate_below, **rules
        )
        tool = FakeWriter(self.world)
        self.runtime = ToolRuntime(
            hooks=HookChain((), events),
            outputs=Outputs(None, OutputLimits()),
            tools=ToolSet({tool.definition.name: tool}, JsonSchema()),
            schema=JsonSchema(),
            review=review,
            events=events,
            planner=plan_serializable,
            cwd="/ws",
        )

    async def write(self, *cells: str, text: str = "new", task: str = "write it") -> BatchResult:
        calls = tuple(
            (a_context(i), a_call("write", {"cell": cell, "text": text}, id_=f"call-{i}"))
            for i, cell in enumerate(cells or ("x",))
        )
        async with asyncio.timeout(60):
            return await self.runtime.run(ToolBatch(id="batch-1", calls=calls, scope=RequestedScope(task=task)))

    @property
    def record(self) -> QuorumConcluded:
        (only,) = self.seen.of(QuorumConcluded)
        assert isinstance(only, QuorumConcluded)
        return only


def _fate(result: BatchResult) -> tuple[str, str]:
    (record,) = result.records
    return record.outcome.value, record.decision.value


async def test_what_the_quorum_approves_runs_without_a_question() -> None:
    bench = Bench("aa")
    assert _fate(await bench.write()) == ("ok", "allowed")
    assert bench.person.requests == []
    assert bench.world.cells == {"x": "new"}


async def test_what_the_quorum_rejects_is_put_to_the_person_who_has_the_last_word() -> None:
    bench = Bench("rr")
    assert _fate(await bench.write()) == ("ok", "approved")
    (request,) = bench.person.requests
    assert "the quorum did not approve it: 0 for, 2 against (majority): rejected" in request.reasons
    assert request.dangers == ()
    assert len(bench.person.review_contexts[0].ballots) == 2


async def test_only_the_start_of_a_call_that_the_quorum_approves_waits_for_its_record() -> None:
    bench = Bench("aa", ledger=(ledger := FakeLedger()))
    await bench.write()

    kept = [type(event) for event in ledger.events]
    assert [type(event) for event in ledger.waited_for] == [CallStarted]
    for earlier in (VoteCast, QuorumConcluded, ReviewDecided):
        assert kept.index(earlier) < kept.index(CallStarted)


async def test_the_answer_of_a_person_is_on_record_before_anything_follows_from_it() -> None:
    bench = Bench("rr", ledger=(ledger := FakeLedger()))
    await bench.write()

    assert [type(event) for event in ledger.waited_for][-2:] == [ReviewDecided, CallStarted]


async def test_what_the_quorum_approves_does_not_run_where_nothing_can_be_recorded() -> None:
    ledger = FakeLedger()
    ledger.trouble = "the disk is full"
    bench = Bench("aa", ledger=ledger)

    assert _fate(await bench.write()) == ("error", "allowed")
    assert bench.world.cells == {}


class _SlowStart(FakeLedger):
    """A ledger that takes its time for the start of a call."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.may_go_on = asyncio.Event(), asyncio.Event()

    async def append(self, event: Event, *, urgent: bool = False, may_wait: bool = False) -> None:
        if isinstance(event, CallStarted):
            self.reached.set()
            await self.may_go_on.wait()
        await super().append(event, urgent=urgent, may_wait=may_wait)


async def test_a_call_that_is_stopped_while_its_start_goes_onto_the_record_does_not_run() -> None:
    bench = Bench("aa", ledger=(ledger := _SlowStart()))
    writing = asyncio.create_task(bench.write())
    await ledger.reached.wait()
    writing.cancel()
    ledger.may_go_on.set()
    with suppress(asyncio.CancelledError):
        await writing

    assert bench.world.cells == {}
    await bench.events.settle()
    kept = [type(event) for event in ledger.events]
    assert kept[-2:] == [CallStarted, CallFinished]
    (end,) = (event for event in ledger.events if isinstance(event, CallFinished))
    assert end.outcome is Outcome.NOT_RUN


@pytest.mark.parametrize("votes", ["ee", "se", "ae", "ss", ""])
async def test_an_outage_ends_at_the_person_and_never_at_a_verdict(votes: str) -> None:
    bench = Bench(votes)
    assert _fate(await bench.write()) == ("ok", "approved")
    assert len(bench.person.requests) == 1


async def test_where_nobody_is_there_a_rejection_reaches_the_model_with_its_code_and_reasons() -> None:
    bench = Bench("rra", person=NobodyAtHome())
    result = await bench.write()
    assert _fate(result) == ("rejected", "needs_approval")
    assert "p/0: risky; p/1: risky" in result.results[0].output
    assert result.results[0].output.endswith("[quorum_rejected]")


async def test_where_nobody_is_there_what_is_unclear_needs_an_approval() -> None:
    result = await Bench("ae", person=NobodyAtHome()).write()
    assert _fate(result) == ("rejected", "needs_approval")
    assert result.results[0].output.endswith("[needs_approval]")


async def test_the_record_of_a_quorum_has_its_votes_in_the_order_of_the_reviewers() -> None:
    gate = asyncio.Event()
    first = Step(answer=ballot("reject", "no", objection="new"), gate=gate)
    bench = Bench({"p/0": [first], "p/1": [DOWN], "p/2": [ballot("reject", "never", 0.9)]})

    async def open_when_others_voted() -> None:
        while len(bench.seen.of(VoteCast)) < 2:  # noqa: ASYNC110 - the observer is told, and tells nobody
            await asyncio.sleep(0)
        gate.set()

    async with asyncio.TaskGroup() as group:
        group.create_task(open_when_others_voted())
        group.create_task(bench.write())
    record = bench.record
    assert [(v.model, v.verdict) for v in record.votes] == [
        ("p/0", "reject"),
        ("p/1", "model_error"),
        ("p/2", "reject"),
    ]
    assert (record.api_version, record.topic, record.approved, record.rule) == (
        2,
        "action_review",
        False,
        "majority",
    )
    assert record.target == {"tool": "write", "call_id": "call-0"}
    assert record.feedback == "p/0: no\np/2: never"
    assert record.votes[0].objection == "new"
    assert record.timestamp.endswith("Z")


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.QUORUM])
async def test_a_rule_that_asks_is_asked_about_whatever_the_votes_say(mode: Mode) -> None:
    bench = Bench("aa", mode=mode, ask=["write"])
    await bench.write()
    assert len(bench.person.requests) == 1


async def test_a_rule_that_denies_is_obeyed_and_nobody_is_asked() -> None:
    bench = Bench("aa", deny=["write"])
    result = await bench.write()
    assert _fate(result) == ("rejected", "denied")
    assert result.results[0].output.endswith("[rule_denied]")
    assert bench.person.requests == []
    assert bench.seen.of(VoteCast) == []


async def test_a_rule_that_allows_needs_no_votes() -> None:
    bench = Bench("rr", allow=["write"])
    assert _fate(await bench.write()) == ("ok", "allowed")
    assert bench.seen.of(VoteCast) == []


async def test_in_the_mode_ask_votes_come_in_while_the_person_reads() -> None:
    review_contexts: list[ReviewContext] = []
    read = asyncio.Event()

    class Reader(FakePerson):
        async def review(self, request: ReviewRequest, review_context: ReviewContext) -> ReviewAnswer:
            review_contexts.append(review_context)
            assert review_context.ballots == ()
            stop = review_context.watch(lambda: read.set() if len(review_context.ballots) == 2 else None)
            await read.wait()
            stop()
            return Reject("the second is right")

    bench = Bench("ar", mode=Mode.ASK, person=Reader())
    result = await bench.write()
    assert _fate(result) == ("rejected", "rejected")
    assert result.results[0].output.endswith("[user_rejected]")
    assert {b.reviewer: b.vote.value for b in review_contexts[0].ballots} == {"p/0": "approve", "p/1": "reject"}
    assert len(bench.record.votes) == 2


async def test_a_person_need_not_wait_for_the_votes() -> None:
    never = asyncio.Event()
    bench = Bench({"p/0": [Step(answer=ballot("reject"), gate=never)]}, mode=Mode.ASK)
    assert _fate(await bench.write()) == ("ok", "approved")
    assert bench.seen.of(QuorumConcluded) == []


async def test_no_votes_are_gathered_as_advice_to_nobody() -> None:
    bench = Bench("aa", mode=Mode.ASK, person=NobodyAtHome())
    await bench.write()
    assert bench.seen.of(VoteCast) == []


async def test_an_edited_call_is_asked_about_again_without_the_old_votes() -> None:
    answers = iter((Edit({"cell": "x", "text": "edited"}), None))

    def answer(request: ReviewRequest) -> ReviewAnswer:
        return next(answers) or Approve(request.packet.digest)

    bench = Bench("rr", person=FakePerson(answer))
    assert _fate(await bench.write()) == ("ok", "edited")
    assert [len(review_context.reviewers) for review_context in bench.person.review_contexts] == [2, 0]
    assert bench.world.cells == {"x": "edited"}


async def test_a_call_that_changed_after_the_vote_is_voted_on_anew_and_nothing_is_written_before() -> None:
    bench = Bench("aa", rounds=2)
    seen_cells: list[dict[str, str]] = []

    class Meddler(RecordingObserver):
        meddled = False

        def notify(self, event: object) -> None:
            if isinstance(event, ReviewDecided) and not self.meddled:
                self.meddled = True
                bench.world.cells["x"] = "changed meanwhile"
                seen_cells.append(dict(bench.world.cells))

    bench.runtime._events._observers = (*bench.runtime._events._observers, Meddler())
    assert _fate(await bench.write()) == ("ok", "allowed")
    assert seen_cells == [{"x": "changed meanwhile"}]
    digests = [e.digest for e in bench.seen.of(QuorumConcluded) if isinstance(e, QuorumConcluded)]
    assert len(digests) == 2
    assert digests[0] != digests[1]


async def test_stopping_the_turn_from_the_dialog_stops_the_voting() -> None:
    never = asyncio.Event()
    person = FakePerson(lambda _request: RejectAndInterrupt())
    bench = Bench({"p/0": [Step(answer=ballot("reject"), gate=never)]}, mode=Mode.ASK, person=person)
    assert (await bench.write()).interrupted


async def test_cancelling_a_run_while_the_models_vote_ends_it_with_a_result() -> None:
    bench = Bench({"p/0": [Step(answer=ballot("approve"), gate=asyncio.Event())]})
    running = asyncio.create_task(bench.write())
    while not bench.seen.events or bench.seen.events[-1].type != "call_queued":  # noqa: ASYNC110
        await asyncio.sleep(0)
    running.cancel()
    result = await running
    assert _fate(result) == ("not_run", "none")
    assert bench.world.cells == {}


async def test_the_reviewers_read_the_task_in_the_words_of_the_person() -> None:
    reported: list[str] = []

    class Listening(FakePerson):
        async def review(self, request: ReviewRequest, review_context: ReviewContext) -> ReviewAnswer:
            return Approve(request.packet.digest)

    bench = Bench("aa", person=Listening())
    gateway = bench.runtime._review.voting._gateway
    await bench.write(task="rename the variable")
    for session in gateway.sessions:  # type: ignore[attr-defined]
        (message,) = session.sent[0].messages
        assert isinstance(message, UserMessage)
        reported.append(message.text)
    assert len(reported) == 2
    assert all("rename the variable" in text for text in reported)


async def _answer(votes: str, mode: Mode, rule: str | None, *, there: bool) -> tuple[str, str]:
    rules = {rule: ["write"]} if rule else {}
    person = FakePerson(lambda _r: Reject()) if there else NobodyAtHome()
    return _fate(await Bench(votes, mode=mode, person=person, **rules).write())


_TOWARDS_RUNNING = {"denied": 0, "needs_approval": 1, "rejected": 1, "allowed": 2}


@pytest.mark.long(after=3)
@pytest.mark.parametrize("rule", [None, "allow", "ask", "deny"])
@pytest.mark.parametrize("mode", Mode)
async def test_for_every_outcome_of_three_reviewers_an_error_moves_no_decision_towards_running(
    mode: Mode, rule: str | None
) -> None:
    for votes in map("".join, product("arse", repeat=3)):
        _, before = await _answer(votes, mode, rule, there=True)
        for place in range(3):
            failed = votes[:place] + "e" + votes[place + 1 :]
            _, after = await _answer(failed, mode, rule, there=True)
            assert _TOWARDS_RUNNING[after] <= _TOWARDS_RUNNING[before], (votes, failed)
            # nor does an outage block: where a person is there, they are asked
            assert (before == "denied") == (after == "denied")


@given(votes=st.text("arse", max_size=5), mode=st.sampled_from(Mode), there=st.booleans())
async def test_every_review_ends_with_an_answer_and_a_call_runs_only_if_that_allows_it(
    votes: str, mode: Mode, *, there: bool
) -> None:
    outcome, decision = await _answer(votes, mode, None, there=there)
    assert (outcome == Outcome.OK) == (decision == "allowed")
    assert decision in ("allowed", "denied", "rejected" if there else "needs_approval")
    if mode is Mode.QUORUM and decision == "allowed":
        assert votes.count("a") > votes.count("r") + votes.count("e")


async def test_three_edits_of_a_batch_are_voted_on_one_after_the_other_each_by_its_digest() -> None:
    bench = Bench("aa", rounds=3)
    result = await bench.write("x", "y", "z")
    assert [r.decision.value for r in result.records] == ["allowed"] * 3
    assert len({e.digest for e in bench.seen.of(QuorumConcluded) if isinstance(e, QuorumConcluded)}) == 3
    assert bench.seen.of(ReviewRequested) == []


async def test_approving_with_all_edits_switches_the_mode_and_the_next_edit_runs_unasked() -> None:
    person = FakePerson(lambda shown: ApproveEdits(shown.packet.digest))
    bench = Bench({}, mode=Mode.ASK, person=person)

    result = await bench.write("x", "y")

    assert [record.outcome.value for record in result.records] == ["ok", "ok"]
    (request,) = person.requests
    assert request.allowed_by_accept_edits
    assert [event.mode for event in bench.seen.of(ModeChanged)] == [Mode.ACCEPT_EDITS]


async def test_where_the_mode_is_refused_all_edits_are_not_offered_and_an_approval_is_of_one_call() -> None:
    person = FakePerson(lambda shown: ApproveEdits(shown.packet.digest))

    async def refuse(mode: Mode) -> str:
        return f"{mode} cannot be had here"

    bench = Bench({}, mode=Mode.ASK, person=person, refusal=refuse)

    result = await bench.write("x", "y")

    assert [record.outcome.value for record in result.records] == ["ok", "ok"]
    assert [request.allowed_by_accept_edits for request in person.requests] == [False, False]
    assert bench.seen.of(ModeChanged) == []


async def test_a_question_holds_what_the_model_wrote_before_its_calls() -> None:
    bench = Bench({}, mode=Mode.ASK)
    said = LlmResponse.from_text("The file is wrong.")
    await bench.events.record(ResponseCompleted(turn_index=0, response=said))

    await bench.write()

    assert [request.preamble for request in bench.person.requests] == ["The file is wrong."]


class Offer:
    """The offer of the mode `sandboxed`, and how often it was made."""

    def __init__(self, *answers: bool) -> None:
        self.made = 0
        self._answers = answers

    async def __call__(self, call: str) -> bool:
        assert call
        self.made += 1
        return self._answers[self.made - 1]


@pytest.mark.parametrize(("accepts", "asked", "modes"), [(True, 0, [Mode.SANDBOXED]), (False, 2, [])])
async def test_the_mode_sandboxed_is_offered_once_and_before_the_first_question_that_it_would_spare(
    accepts: bool, asked: int, modes: list[Mode]
) -> None:
    bench = Bench({}, mode=Mode.ASK)
    bench.review.make_offer = offer = Offer(accepts)

    result = await bench.write("x", "y")

    assert [record.outcome.value for record in result.records] == ["ok", "ok"]
    assert (offer.made, len(bench.person.requests)) == (1, asked)
    assert [event.mode for event in bench.seen.of(ModeChanged)] == modes


@pytest.mark.parametrize("case", ["the mode is quorum", "a rule asks", "a rule allows", "the mode is refused"])
async def test_the_mode_sandboxed_is_not_offered_where_it_would_spare_no_question(case: str) -> None:
    async def refuse(mode: Mode) -> str | None:
        return "there is no sandbox" if mode is Mode.SANDBOXED else None

    match case:
        case "the mode is quorum":
            bench = Bench("a", mode=Mode.QUORUM)
        case "a rule asks":
            bench = Bench({}, mode=Mode.ASK, ask=["write"])
        case "a rule allows":
            bench = Bench({}, mode=Mode.ASK, allow=["write"])
        case _:
            bench = Bench({}, mode=Mode.ASK, refusal=refuse)
    bench.review.make_offer = offer = Offer(True)

    await bench.write()

    assert offer.made == 0


async def test_a_call_waits_for_the_answer_to_an_offer_and_an_interrupt_decides_nothing() -> None:
    bench = Bench({}, mode=Mode.ASK)
    shown = asyncio.Event()

    async def wait_for_ever(_call: str) -> bool:
        shown.set()
        await asyncio.Event().wait()
        return True

    bench.review.make_offer = wait_for_ever
    writing = asyncio.ensure_future(bench.write())
    await shown.wait()
    assert bench.seen.of(CallQueued)[-1].waiting_for == "review"
    writing.cancel()
    await asyncio.wait([writing])

    assert bench.world.cells == {}
    assert bench.review.make_offer is wait_for_ever
    assert bench.review.mode is Mode.ASK


async def test_approving_with_all_edits_of_other_bytes_changes_no_mode() -> None:
    answers = iter([ApproveEdits("0" * 64), Reject()])
    bench = Bench({}, mode=Mode.ASK, person=FakePerson(lambda _shown: next(answers)))

    await bench.write()

    assert bench.seen.of(ModeChanged) == []
    assert bench.world.cells == {}


async def test_what_the_models_find_harmless_and_nobody_asked_for_is_put_to_the_person() -> None:
    outside = ballot("approve", "tidies up", in_scope="no")
    bench = Bench({"p/0": [outside], "p/1": [outside], "p/2": [ballot("approve")]})
    assert _fate(await bench.write()) == ("ok", "approved")
    (request,) = bench.person.requests
    assert "the quorum did not approve it: 1 for, 2 against (majority): rejected" in request.reasons
    assert [(v.verdict, v.in_scope, v.counts_as) for v in bench.record.votes] == [
        ("approve", "no", "reject"),
        ("approve", "no", "reject"),
        ("approve", "yes", "approve"),
    ]


async def test_where_nobody_is_there_the_model_reads_that_it_was_not_asked_for() -> None:
    outside = ballot("approve", "tidies up", in_scope="no")
    bench = Bench({"p/0": [outside], "p/1": [outside]}, person=NobodyAtHome())
    result = await bench.write()
    assert _fate(result) == ("rejected", "needs_approval")
    assert "p/0: outside of what was asked, though it approves: tidies up" in result.results[0].output
    assert result.results[0].output.endswith("[quorum_rejected]")
    assert bench.record.feedback is not None
    assert "outside of what was asked" in bench.record.feedback


async def test_with_escalation_one_sure_approval_lets_a_call_run_and_the_record_says_on_what_it_rests() -> None:
    bench = Bench({"p/0": [ballot("approve", confidence=0.9)], "p/1": [], "p/2": []}, escalate_below=0.8)
    assert _fate(await bench.write()) == ("ok", "allowed")
    (decided,) = bench.seen.of(ReviewDecided)
    assert isinstance(decided, ReviewDecided)
    assert decided.reason == "the quorum approved it: 1 for, 0 against, 2 not asked (first vote): approved"
    assert (bench.record.decided_by.value, [vote.model for vote in bench.record.spared]) == (
        "first_vote",
        ["p/1", "p/2"],
    )


async def test_with_escalation_the_person_is_asked_where_the_others_reject_what_the_first_doubts() -> None:
    doubt = ballot("approve", confidence=0.5)
    votes = {"p/0": [doubt], "p/1": [ballot("reject")], "p/2": [ballot("reject")]}
    bench = Bench(votes, escalate_below=0.8)
    assert _fate(await bench.write()) == ("ok", "approved")
    assert len(bench.person.requests) == 1
    assert bench.record.spared == ()


async def test_with_escalation_a_call_that_changed_after_the_vote_is_voted_on_anew() -> None:
    sure, doubt = ballot("approve", confidence=0.9), ballot("reject", confidence=0.9)
    votes = {"p/0": [sure, doubt], "p/1": [ballot("reject")], "p/2": [ballot("reject")]}
    bench = Bench(votes, escalate_below=0.8, person=NobodyAtHome())

    class Meddler(RecordingObserver):
        meddled = False

        def notify(self, event: object) -> None:
            if isinstance(event, ReviewDecided) and not self.meddled:
                self.meddled = True
                bench.world.cells["x"] = "changed meanwhile"

    bench.runtime._events._observers = (*bench.runtime._events._observers, Meddler())
    assert _fate(await bench.write()) == ("rejected", "needs_approval")
    assert bench.world.cells == {"x": "changed meanwhile"}
    first, second = [e for e in bench.seen.of(QuorumConcluded) if isinstance(e, QuorumConcluded)]
    assert first.digest != second.digest
    assert (first.verdict, second.verdict) == ("approved", "rejected")


async def test_as_advice_the_others_are_spared_too_and_what_denies_still_denies() -> None:
    seen: list[tuple[str, ...]] = []

    class Reader(FakePerson):
        async def review(self, request: ReviewRequest, review_context: ReviewContext) -> ReviewAnswer:
            voted = asyncio.Event()
            stop = review_context.watch(lambda: None if review_context.awaited else voted.set())
            await voted.wait()
            stop()
            seen.append(review_context.not_asked)
            return Reject()

    sure = ballot("approve", confidence=1.0)
    bench = Bench({"p/0": [sure], "p/1": [], "p/2": []}, mode=Mode.ASK, person=Reader(), escalate_below=0.8)
    assert _fate(await bench.write()) == ("rejected", "rejected")
    assert seen == [("p/1", "p/2")]
    denied = Bench({"p/0": [sure], "p/1": []}, escalate_below=0.8, deny=["write"])
    assert _fate(await denied.write()) == ("rejected", "denied")


async def test_reviewers_hold_a_call_against_the_plan_in_force_and_no_longer_once_it_is_withdrawn() -> None:
    class Reader(FakePerson):
        async def review(self, request: ReviewRequest, review_context: ReviewContext) -> ReviewAnswer:
            voted = asyncio.Event()
            stop = review_context.watch(lambda: None if review_context.awaited else voted.set())
            await voted.wait()
            stop()
            return Reject()

    bench = Bench("aa", rounds=2, mode=Mode.ASK, person=Reader())
    events, gateway = bench.runtime._events, bench.runtime._review.voting._gateway
    task = PlanTask(id="cells", description="Write the cell x.", writes=("x",))
    plan = Plan(objective="Fill the cells", reasoning="", tasks=(task,))
    await events.announce(PlanApproved(context=a_context(), plan=plan, digest=plan.digest))
    await bench.write(task="go on")
    await events.record(PlanWithdrawn(reason="another way"))
    await bench.write("y", task="go on")

    asked = [session.sent[0].messages[0].text for session in gateway.sessions]  # type: ignore[attr-defined]
    assert len(asked) == 4
    assert all("Write the cell x." in text for text in asked[:2])
    assert not any("Write the cell x." in text or "<<<plan" in text for text in asked[2:])
