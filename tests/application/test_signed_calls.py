"""Calls that people have to sign, on their way through the runtime."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import ToolBatch, ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.planners import plan_serializable
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events.event import ReviewRequested
from quorum.domain.goal import ApprovedChecks
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import Approve, ApproveRest, ReviewAnswer, ReviewRequest
from quorum.domain.review.signing import ApprovalSignature, SigningDemand, SigningTerms
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.support.builders import a_call, a_context
from tests.support.fake_ports import FakePerson, FakeTool, RecordingObserver
from tests.support.reviews import a_review

TERMS = SigningTerms(demands=(SigningDemand(1, ("bob",)),), requester="ada")


def find_signing(spoke: Collection[str]) -> SigningTerms | None:
    return TERMS if "rule ask deploy" in spoke else None


class Bench:
    """A runtime with a tool whose calls bob has to sign, and another one; `ran` holds the calls that ran."""

    def __init__(self, mode: Mode, answer: type[ReviewAnswer] | None = None) -> None:
        self.ran: list[str] = []
        self.signs = False
        self.observer = RecordingObserver()

        async def run(_arguments: JsonObject, context: ToolExecutionContext) -> str:
            self.ran.append(context.call_id)
            return "done"

        def approve(request: ReviewRequest) -> ReviewAnswer:
            digest = request.packet.digest
            if answer is ApproveRest:
                return ApproveRest((digest, *(each.digest for each in request.following)))
            signed = ApprovalSignature(session_id="s", digest=digest, person="bob", at_ms=1)
            return Approve(digest, by="bob", signatures=(signed,) if self.signs else ())

        events = EventBus([self.observer])
        tools = {name: FakeTool(name, run, risk=RiskLevel.HIGH) for name in ("deploy", "other")}
        self.runtime = ToolRuntime(
            hooks=HookChain((), events),
            outputs=Outputs(None, OutputLimits()),
            tools=ToolSet(tools, JsonSchema()),
            schema=JsonSchema(),
            review=a_review(
                person=FakePerson(approve), mode=mode, events=events, ask=["deploy"], find_signing=find_signing
            ),
            events=events,
            planner=plan_serializable,
            cwd="/ws",
        )

    async def run(self, *tools: str, approved: ApprovedChecks | None = None) -> list[Outcome]:
        calls = tuple(
            (a_context(place), a_call(tool, {}, id_=f"call-{place}")) for place, tool in enumerate(tools)
        )
        batch = ToolBatch(id="batch-1", calls=calls, approved=approved or ApprovedChecks())
        return [record.outcome for record in (await self.runtime.run(batch)).records]


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.ACCEPT_EDITS, Mode.QUORUM, Mode.AUTO])
async def test_in_no_mode_is_a_yes_without_a_signature_enough(mode: Mode) -> None:
    bench = Bench(mode)

    assert await bench.run("deploy") == [Outcome.REJECTED]
    bench.signs = True
    assert await bench.run("deploy") == [Outcome.OK]
    assert bench.ran == ["call-0"]


async def test_a_yes_to_the_rest_signs_nothing() -> None:
    bench = Bench(Mode.ASK, ApproveRest)

    await bench.run("other", "deploy", "other")

    assert bench.ran == ["call-0", "call-2"]


async def test_signatures_under_a_check_of_a_goal_let_it_run_once() -> None:
    bench = Bench(Mode.AUTO)
    bench.signs = True
    assert await bench.run("deploy") == [Outcome.OK]
    (asked,) = [each.packet for each in bench.observer.of(ReviewRequested) if isinstance(each, ReviewRequested)]
    content = frozenset({asked.content_digest})

    bench.signs = False
    await bench.run("deploy", approved=ApprovedChecks(named=content, seen=content))

    assert bench.ran == ["call-0"]
