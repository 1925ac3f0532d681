"""Two changes of one file: whatever becomes of the first, the second gets its turn, under every planner."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from quorum.application.calls.hook_chain import HookRegistration
from quorum.application.calls.hooks import CallDraft, Hook
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import Outcome, Seal, ToolExecutionContext
from quorum.domain.calls.hook_points import Continue, HookAnswer, Skip
from quorum.domain.calls.planners import PLANNERS
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ToolError
from quorum.domain.review.questions import Approve, Reject, ReviewAnswer, ReviewRequest
from quorum.domain.text.json_value import JsonObject
from tests.application.test_tool_runtime import Bench, outcomes
from tests.support.fake_ports import FakePerson, FakeTool

FATES = {
    "fine": Outcome.OK,
    "rejected": Outcome.REJECTED,
    "skipped": Outcome.SKIPPED,
    "failed": Outcome.ERROR,
    "crashed": Outcome.ERROR,
    "cancelled": Outcome.CANCELLED,
    "late": Outcome.ERROR,
}


class SkipsFirst(Hook):
    async def before_tool_call(self, call: CallDraft) -> HookAnswer:
        return Skip("not this one") if call.context.call_index == 0 else Continue()


class Change(FakeTool):
    """Appends its number to one file; the first call may come to grief, and takes its time about it."""

    def __init__(self, fate: str, written: list[int], risk: RiskLevel) -> None:
        async def change(arguments: JsonObject, context: ToolExecutionContext) -> str:
            if context.call_index == 0:
                for _ in range(5):
                    await asyncio.sleep(0)
                await self._meet(fate)
            written.append(context.call_index)
            return "changed"

        super().__init__(
            "change", change, risk=risk, access=lambda _: Access.of(writes=["/ws/a"]), timeout_secs=1.0
        )

    async def _meet(self, fate: str) -> None:
        match fate:
            case "failed":
                raise ToolError("no such passage")
            case "crashed":
                raise ZeroDivisionError
            case "cancelled":
                raise asyncio.CancelledError
            case "late":
                await asyncio.Event().wait()
            case _:
                return

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        return Seal(cwd="/ws")


@pytest.mark.long(after=12)
@pytest.mark.parametrize("planner", sorted(PLANNERS))
@pytest.mark.parametrize("risk", RiskLevel)
@pytest.mark.parametrize("fate", FATES)
@pytest.mark.requirement("A12")
async def test_changes_of_one_file_keep_their_order_whatever_becomes_of_the_first(
    fate: str, risk: RiskLevel, planner: str
) -> None:
    if fate == "rejected" and risk is RiskLevel.LOW:
        return  # nobody is asked about it

    def answer(request: ReviewRequest) -> ReviewAnswer:
        first = request.packet.context.call_index == 0
        return Reject("no") if fate == "rejected" and first else Approve(request.packet.digest)

    written: list[int] = []
    hooks = [HookRegistration(name="skip", hook=SkipsFirst())] if fate == "skipped" else []
    bench = Bench(
        Change(fate, written, risk), person=FakePerson(answer), planner=PLANNERS[planner], hooks=hooks
    )

    result = await asyncio.wait_for(bench.run(("change", {}), ("change", {})), timeout=60)

    assert outcomes(result) == [FATES[fate], Outcome.OK]
    assert written == ([0, 1] if fate == "fine" else [1])
