"""Whatever the calls, delays, failures and cancellations: pairing, and equivalence with running one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import BatchResult, ToolBatch, ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.execution import Outcome, Seal, ToolExecutionContext
from quorum.domain.calls.planners import PlannedCall, plan_serializable
from quorum.domain.calls.tool import RiskLevel, ToolDefinition
from quorum.domain.errors import ToolError
from quorum.domain.review.questions import Approve, Reject, ReviewAnswer, ReviewRequest
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.support.builders import a_call, a_context
from tests.support.examples import examples
from tests.support.fake_ports import FakePerson
from tests.support.reviews import a_review

CELLS = ("a", "b", "c")


@dataclass(frozen=True)
class Step:
    """One call: it reads cells, then writes what it read, joined with its own number, to other cells."""

    reads: frozenset[str]
    writes: frozenset[str]
    exclusive: bool
    high: bool
    steps: int
    fails: bool
    approved: bool

    @property
    def access(self) -> Access:
        if self.exclusive:
            return EXCLUSIVE
        return Access.of(reads=[f"/ws/{c}" for c in self.reads], writes=[f"/ws/{c}" for c in self.writes])


CELL_SETS = st.frozensets(st.sampled_from(CELLS), max_size=2)
STEPS = st.builds(
    Step,
    reads=CELL_SETS,
    writes=CELL_SETS,
    exclusive=st.integers(0, 5).map(lambda n: n == 0),
    high=st.booleans(),
    steps=st.integers(0, 6),
    fails=st.integers(0, 4).map(lambda n: n == 0),
    approved=st.integers(0, 3).map(lambda n: n > 0),
)
BATCHES = st.lists(STEPS, min_size=1, max_size=7)


@dataclass
class Cells:
    content: dict[str, str] = field(default_factory=lambda: dict.fromkeys(CELLS, ""))
    running: set[int] = field(default_factory=set)
    overlaps: set[tuple[int, int]] = field(default_factory=set)
    started: set[int] = field(default_factory=set)

    def do(self, step: Step, number: int) -> str:
        seen = "+".join(self.content[c] for c in sorted(step.reads))
        if step.fails:
            raise ToolError(f"{number} failed seeing {seen}")
        for cell in step.writes:
            self.content[cell] = f"({number}:{seen}|{self.content[cell]})"
        return f"{number} saw {seen}"


class StepTool:
    """Runs a step over several turns of the event loop, reading at its start and writing at its end."""

    def __init__(self, number: int, step: Step, cells: Cells) -> None:
        self.definition = ToolDefinition(
            name=f"tool{number}",
            description="",
            parameters=(),
            risk=RiskLevel.HIGH if step.high else RiskLevel.LOW,
            access=lambda _: step.access,
        )
        self._number, self._step, self._cells = number, step, cells

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        return Seal(cwd="/ws")

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        cells, step = self._cells, self._step
        cells.started.add(self._number)
        cells.overlaps |= {(other, self._number) for other in cells.running}
        cells.running.add(self._number)
        try:
            before = {c: cells.content[c] for c in step.reads | step.writes}
            for _ in range(step.steps):
                await asyncio.sleep(0)
            assert before == {c: cells.content[c] for c in before}, "somebody wrote into a running call's cells"
            return cells.do(step, self._number)
        finally:
            cells.running.discard(self._number)


def runtime_for(steps: list[Step], cells: Cells) -> ToolRuntime:
    def answer(request: ReviewRequest) -> ReviewAnswer:
        step = steps[request.packet.context.call_index]
        return Approve(request.packet.digest) if step.approved else Reject("no")

    events = EventBus([])
    tools = [StepTool(i, step, cells) for i, step in enumerate(steps)]
    return ToolRuntime(
        hooks=HookChain((), events),
        outputs=Outputs(None, OutputLimits()),
        tools=ToolSet({tool.definition.name: tool for tool in tools}, JsonSchema()),
        schema=JsonSchema(),
        review=a_review(person=FakePerson(answer), events=events),
        events=events,
        planner=plan_serializable,
        cwd="/ws",
    )


def batch_of(steps: list[Step]) -> ToolBatch:
    return ToolBatch(
        id="b", calls=tuple((a_context(i), a_call(f"tool{i}", id_=f"call-{i}")) for i in range(len(steps)))
    )


def one_by_one(steps: list[Step]) -> tuple[dict[str, str], list[str]]:
    """The reference: the calls in the model's order, each alone."""
    cells, reported = Cells(), []
    for number, step in enumerate(steps):
        if step.high and not step.approved:
            reported.append("rejected by the user: no. It was not run. [user_rejected]")
            continue
        try:
            reported.append(cells.do(step, number))
        except ToolError as error:
            reported.append(str(error))
    return cells.content, reported


@pytest.mark.long
@given(BATCHES)
@examples(150)
async def test_running_in_parallel_equals_running_one_by_one(steps: list[Step]) -> None:
    cells = Cells()

    result = await runtime_for(steps, cells).run(batch_of(steps))

    content, reported = one_by_one(steps)
    assert [r.tool_use_id for r in result.results] == [f"call-{i}" for i in range(len(steps))]
    assert [r.output for r in result.results] == reported
    assert cells.content == content
    plan = plan_serializable(
        [
            PlannedCall(index=i, access=s.access, risk=RiskLevel.HIGH if s.high else RiskLevel.LOW)
            for i, s in enumerate(steps)
        ]
    )
    for one, other in cells.overlaps:
        first, second = sorted((one, other))
        assert first not in plan[second]


@given(BATCHES, st.integers(0, 30))
@examples(150)
async def test_cancelled_at_any_moment_every_call_has_one_result_and_nothing_runs_on(
    steps: list[Step], moment: int
) -> None:
    cells = Cells()
    task = asyncio.create_task(runtime_for(steps, cells).run(batch_of(steps)))
    for _ in range(moment):
        await asyncio.sleep(0)
    began = moment > 0

    task.cancel()
    result = await _result_or_none(task)

    if not began:  # a task cancelled before its first step never entered the runtime
        assert result is None
        return
    assert result is not None
    assert [r.tool_use_id for r in result.results] == [f"call-{i}" for i in range(len(steps))]
    assert cells.running == set()
    for record in result.records:
        if record.context.call_index not in cells.started:
            assert record.outcome in {Outcome.NOT_RUN, Outcome.REJECTED}
        if record.outcome is Outcome.NOT_RUN:
            assert record.context.call_index not in cells.started


async def _result_or_none(task: asyncio.Task[BatchResult]) -> BatchResult | None:
    try:
        return await task
    except asyncio.CancelledError:
        return None
