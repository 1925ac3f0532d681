"""Reviewers judge a plan before the person is asked; their objections go back to the planning model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from quorum.application.calls.approval import AskedBefore
from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import BatchResult, ToolBatch, ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.application.plan_service import PlanService
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.planners import plan_serializable
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import (
    Event,
    NoticeGiven,
    PhaseScopeChanged,
    PlanReviewStarted,
    QuorumConcluded,
    ReviewRequested,
    TurnStarted,
    VoteCast,
)
from quorum.domain.plan.plan import PhaseScope
from quorum.domain.review.mode import Mode
from quorum.domain.review.plan_terms import PlanObjection
from quorum.domain.review.questions import NobodyThere, Reject
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.review.severity import Severity
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.tools.builtin.create_plan import CreatePlan
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.support.builders import a_call, a_context, calls_response
from tests.support.fake_gateway import Answers, FakeGateway
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.fake_session import Step
from tests.support.reviews import a_review

DOWN = ProviderError("down", kind=ProviderErrorKind.OVERLOADED)
CLAIM: JsonObject = {"claim": "no test says that it works", "severity": "high", "task": "parser"}


def plan_vote(verdict: str, *objections: JsonValue, in_scope: str = "yes", reason: str = "so") -> LlmResponse:
    arguments: JsonObject = {
        **{"verdict": verdict, "in_scope": in_scope, "confidence": 0.9, "reason": reason},
        "objections": list(objections),
    }
    return calls_response(a_call("cast_ballot", arguments))


class NobodyAtHome(FakePerson):
    is_there = False

    def __init__(self) -> None:
        super().__init__(lambda _request: NobodyThere())


class Planning:
    """A runtime with create_plan, scripted reviewers and a person, over the events of one session."""

    def __init__(
        self,
        votes: Mapping[str, Answers],
        *,
        person: FakePerson | None = None,
        scope: PhaseScope = PhaseScope.PLAN_ONLY,
        mode: Mode = Mode.ASK,
        past: Sequence[Event] = (),
        most: int = 3,
    ) -> None:
        self.seen, self.person = RecordingObserver(), person or FakePerson()
        records = [LedgerRecord(seq=n, at_ms=n, event=event) for n, event in enumerate(past)]
        self.events = EventBus([self.seen], past=records)
        self.gateway = FakeGateway(votes)
        review = a_review(
            person=self.person,
            events=self.events,
            mode=mode,
            gateway=self.gateway,
            max_plan_revisions=most,
        )
        self.plans = PlanService(events=self.events, kind=SessionKind.AGENT)
        tool = CreatePlan(self.plans, "/ws")
        self.scope = scope
        self.runtime = ToolRuntime(
            hooks=HookChain((), self.events),
            outputs=Outputs(None, OutputLimits()),
            tools=ToolSet({tool.definition.name: tool}, JsonSchema()),
            schema=JsonSchema(),
            review=review,
            events=self.events,
            planner=plan_serializable,
            cwd="/ws",
        )

    async def propose(
        self, objective: str = "a parser", call_id: str = "call-0", *, edited: bool = False
    ) -> BatchResult:
        if self.events.phase.scope is not self.scope:
            await self.events.record(PhaseScopeChanged(scope=self.scope))
        arguments: JsonObject = {
            "objective": objective,
            "reasoning": "it is asked for",
            "tasks": [{"id": "parser", "description": "write it", "writes": ["src/**"]}],
        }
        calls = ((a_context(call_id=call_id), a_call("create_plan", arguments, id_=call_id)),)
        async with asyncio.timeout(60):
            return await self.runtime.run(
                ToolBatch(
                    id="batch-1",
                    calls=calls,
                    scope=RequestedScope(task="make a parser"),
                    reviews={call_id: AskedBefore("asked before", is_edited=True)} if edited else {},
                )
            )

    @property
    def requests(self) -> int:
        return sum(len(session.sent) for session in self.gateway.sessions)


def outcome(result: BatchResult) -> Outcome:
    (record,) = result.records
    return record.outcome


async def test_what_reviewers_object_to_goes_back_to_the_model_and_the_person_is_not_asked() -> None:
    stage = Planning({"p/0": [plan_vote("reject", CLAIM)], "p/1": [plan_vote("reject", CLAIM)]})
    result = await stage.propose()
    assert outcome(result) is Outcome.ERROR
    assert "high, task parser: no test says that it works" in result.results[0].output
    assert "revision 1 of at most 3" in result.results[0].output
    assert stage.person.requests == []
    (record,) = result.records[0].quorum_results
    assert record.topic == "plan_review"
    assert record.target == {"tool": "create_plan", "call_id": "call-0", "round": 1}
    expected = PlanObjection(claim=str(CLAIM["claim"]), severity=Severity.HIGH, task="parser")
    assert record.votes[0].objections == (expected,)


async def test_a_revised_plan_is_judged_anew_and_the_person_sees_the_votes_and_the_earlier_round() -> None:
    votes = [plan_vote("reject", CLAIM), plan_vote("approve")]
    stage = Planning({"p/0": list(votes), "p/1": list(votes)})
    await stage.propose()
    result = await stage.propose("a parser with tests", "call-1")
    assert outcome(result) is Outcome.OK
    (request,) = stage.person.requests
    (before,) = request.earlier_plans
    assert before.text.startswith("# Plan\n\na parser\n")
    assert before.ballots[0].objections[0].task == "parser"
    assert [ballot.vote.value for ballot in stage.person.review_contexts[0].ballots] == ["approve"] * 2
    assert stage.events.phase.approved is not None
    asked = str(stage.gateway.sessions[-1].sent[0].messages)
    assert "round 1: high, task parser: no test says that it works" in asked


@pytest.mark.parametrize(("most", "returned"), [(0, 0), (1, 1), (3, 3)])
async def test_after_so_many_revisions_the_person_is_asked_and_told(most: int, returned: int) -> None:
    votes = [plan_vote("reject", CLAIM) for _ in range(4)]
    stage = Planning({"p/0": votes, "p/1": list(votes)}, most=most)
    outcomes = [outcome(await stage.propose(f"parser {n}", f"call-{n}")) for n in range(returned + 1)]
    assert outcomes == [*[Outcome.ERROR] * returned, Outcome.OK]
    (request,) = stage.person.requests
    assert any("the reviewers still object to the plan" in reason for reason in request.dangers)
    assert len(request.earlier_plans) == returned


async def test_a_plan_proposed_again_unchanged_costs_no_request_and_is_still_objected_to() -> None:
    stage = Planning({"p/0": [plan_vote("reject", CLAIM)], "p/1": [plan_vote("reject", CLAIM)]})
    results = [await stage.propose(call_id=f"call-{n}") for n in range(4)]
    assert [outcome(each) for each in results] == [*[Outcome.ERROR] * 3, Outcome.OK]
    assert stage.requests == 2
    assert len(stage.seen.of(VoteCast)) == 2
    assert len(stage.seen.of(QuorumConcluded)) == 4


async def test_where_reviewers_are_down_the_person_is_asked_and_told() -> None:
    stage = Planning({"p/0": [DOWN], "p/1": [DOWN]})
    assert outcome(await stage.propose()) is Outcome.OK
    (request,) = stage.person.requests
    assert any("came to no verdict on the plan: 0 for, 0 against, 2 failed" in r for r in request.dangers)


async def test_a_plan_that_the_person_had_edited_before_a_crash_is_asked_about_and_put_to_no_reviewer() -> None:
    stage = Planning({"p/0": [plan_vote("reject", CLAIM)], "p/1": [plan_vote("reject", CLAIM)]})
    result = await stage.propose(edited=True)
    assert outcome(result) is Outcome.OK
    assert stage.requests == 0
    (request,) = stage.person.requests
    assert "you edited the arguments" in request.reasons
    assert stage.seen.of(ReviewRequested)[0].edited
    assert result.results[0].output.startswith("[the user edited this call before it ran")


async def test_prose_is_no_vote() -> None:
    prose = [calls_response(a_call("other", {"text": "reject"}))] * 2
    stage = Planning({"p/0": list(prose), "p/1": list(prose)})
    assert outcome(await stage.propose()) is Outcome.OK
    assert len(stage.person.requests) == 1


@pytest.mark.parametrize(
    "broken",
    [
        {"objections": []},
        {"objections": "bad"},
        {"objections": ["bad"]},
        {"objections": [{**CLAIM, "severity": "huge"}]},
        {"objections": [{**CLAIM, "task": "nothing"}]},
        {"objections": [{**CLAIM, "claim": " "}]},
        {"objections": [CLAIM] * 21},
    ],
)
async def test_a_rejection_whose_objections_cannot_be_read_is_asked_for_once_more(broken: JsonObject) -> None:
    answer: JsonObject = {"verdict": "reject", "in_scope": "yes", "confidence": 1, "reason": "no", **broken}
    stage = Planning({"p/0": [calls_response(a_call("cast_ballot", answer)), plan_vote("reject", CLAIM)]})
    assert outcome(await stage.propose()) is Outcome.ERROR
    assert stage.requests == 2


async def test_an_approval_of_what_nobody_asked_for_counts_as_an_objection_with_its_reason() -> None:
    stage = Planning({"p/0": [plan_vote("approve", in_scope="no", reason="nobody wants a parser")]})
    result = await stage.propose()
    assert outcome(result) is Outcome.ERROR
    assert "nobody wants a parser" in result.results[0].output


@pytest.mark.parametrize("mode", list(Mode))
async def test_reviewers_are_asked_in_every_mode(mode: Mode) -> None:
    stage = Planning({"p/0": [plan_vote("reject", CLAIM)]}, mode=mode)
    assert outcome(await stage.propose()) is Outcome.ERROR
    assert stage.requests == 1


async def test_in_the_scope_fast_and_without_reviewers_the_person_is_asked_at_once() -> None:
    fast = Planning({"p/0": []}, scope=PhaseScope.FAST)
    alone = Planning({})
    for stage in (fast, alone):
        assert outcome(await stage.propose()) is Outcome.OK
        assert len(stage.person.requests) == 1
        assert stage.requests == 0
        assert stage.seen.of(PlanReviewStarted) == []


async def test_where_nobody_is_there_a_plan_is_judged_and_handed_over_once_reviewers_approve() -> None:
    votes = [plan_vote("reject", CLAIM), plan_vote("approve")]
    stage = Planning({"p/0": votes}, person=NobodyAtHome())
    assert outcome(await stage.propose()) is Outcome.ERROR
    assert outcome(await stage.propose("better", "call-1")) is Outcome.OK
    assert stage.person.requests == []
    assert stage.seen.of(NoticeGiven) == []


async def test_where_nobody_is_there_and_reviewers_are_down_the_run_says_so() -> None:
    stage = Planning({"p/0": [DOWN]}, person=NobodyAtHome())
    assert outcome(await stage.propose()) is Outcome.OK
    (said,) = stage.seen.of(NoticeGiven)
    assert isinstance(said, NoticeGiven)
    assert "came to no verdict on the plan" in said.message


async def test_a_plan_that_nobody_can_approve_and_that_is_only_withheld_is_put_to_no_model() -> None:
    stage = Planning({"p/0": []}, person=NobodyAtHome(), scope=PhaseScope.FULL)
    assert outcome(await stage.propose()) is Outcome.REJECTED
    assert stage.requests == 0


async def interrupted_after_one_vote(call_id: str = "call-0") -> list[Event]:
    """What a process has recorded that dies once the first of two reviewers has voted."""
    never = Step(answer=plan_vote("approve"), gate=asyncio.Event())
    stage = Planning({"p/0": [plan_vote("reject", CLAIM)], "p/1": [never]})
    work = asyncio.create_task(stage.propose(call_id=call_id))
    while not stage.seen.of(VoteCast):  # noqa: ASYNC110 - the observer is told, and tells nobody
        await asyncio.sleep(0)
    left = [event for event in stage.seen.events if event.durable]
    work.cancel()
    await work
    return left


@pytest.mark.parametrize("call_id", ["call-0", "call-1"], ids=["the same call", "proposed again"])
async def test_a_vote_on_record_is_not_asked_for_again_after_a_crash(call_id: str) -> None:
    left = await interrupted_after_one_vote()
    more = [TurnStarted(prompt="go"), *left, TurnStarted(prompt="go on")]
    stage = Planning({"p/0": [], "p/1": [plan_vote("reject", CLAIM)]}, past=more)
    result = await stage.propose(call_id=call_id)
    assert outcome(result) is Outcome.ERROR
    assert stage.requests == 1
    assert [vote.verdict for vote in result.records[0].quorum_results[0].votes] == ["reject", "reject"]


async def test_a_round_that_had_ended_is_neither_asked_nor_recorded_again_after_a_crash() -> None:
    before = Planning({"p/0": [plan_vote("approve")], "p/1": [DOWN]})
    await before.propose()
    asked = [event for event in before.seen.events if event.durable]
    end = next(n for n, event in enumerate(asked) if isinstance(event, QuorumConcluded))
    stage = Planning({"p/0": [], "p/1": []}, past=asked[: end + 1])
    assert outcome(await stage.propose()) is Outcome.OK
    assert stage.requests == 0
    assert stage.seen.of(QuorumConcluded) == []
    assert len(stage.person.review_contexts[0].ballots) == 2


async def test_a_rejection_by_the_person_begins_the_rounds_anew() -> None:
    votes = [plan_vote("reject", CLAIM), plan_vote("approve"), plan_vote("reject", CLAIM)]
    stage = Planning({"p/0": votes}, person=FakePerson(lambda _request: Reject("other")))
    await stage.propose()
    await stage.propose("two", "call-1")
    result = await stage.propose("three", "call-2")
    assert "revision 1 of at most 3" in result.results[0].output
