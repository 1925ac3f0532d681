"""Execution contexts: who a call is, whatever becomes of it and whoever plans its batch."""

from __future__ import annotations

import ast
import asyncio
import inspect
from enum import Enum
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.application.calls import batch_state, call_run, tool_runtime
from quorum.application.calls.hook_chain import HookRegistration
from quorum.application.calls.hooks import CallDraft, Hook, RequestDraft, ResultDraft
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.hook_points import Abort, Continue, HookAnswer, Skip
from quorum.domain.calls.planners import PLANNERS, Planner, plan_parallel
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.events.event import BatchPlanned
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import Approve, Reject, ReviewAnswer, ReviewRequest
from quorum.domain.settings import AgentTable
from quorum.domain.text.json_value import JsonObject
from tests.application.test_run_agent import Bench as AgentBench
from tests.application.test_run_agent import reads
from tests.application.test_tool_runtime import Bench, a_batch, outcomes, reader
from tests.support.builders import a_call, calls_response
from tests.support.examples import examples
from tests.support.fake_ports import FakePerson, FakeTool

every_planner = pytest.mark.parametrize("planner", PLANNERS.values(), ids=PLANNERS)
DONE = LlmResponse.from_text("done")


class Seen:
    """A tool body that notes the contexts it is called with."""

    def __init__(self) -> None:
        self.contexts: list[ToolExecutionContext] = []

    async def __call__(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        self.contexts.append(context)
        return "ok"


class Before(Hook):
    """Answers for calls of some indices, and notes what it is shown."""

    def __init__(self, **answers: HookAnswer) -> None:
        self._answers = answers
        self.contexts: list[ToolExecutionContext] = []

    async def before_tool_call(self, call: CallDraft) -> HookAnswer:
        self.contexts.append(call.context)
        return self._answers.get(f"call_{call.context.call_index}", Continue())

    async def after_tool_call(self, result: ResultDraft) -> HookAnswer:
        self.contexts.append(result.context)
        return Continue()


@pytest.mark.requirement("A02")
async def test_a_tool_knows_which_call_it_is() -> None:
    seen = Seen()

    await AgentBench(reads("toolu_7", "toolu_8"), DONE, tool=FakeTool("read", seen)).agent.execute("go")

    first, second = seen.contexts
    assert (first.call_id, first.call_index) == ("toolu_7", 0)
    assert (second.call_id, second.call_index) == ("toolu_8", 1)
    assert first.batch_id
    assert first.turn_index == 0


@pytest.mark.requirement("A03")
async def test_all_calls_of_one_answer_share_one_batch_id() -> None:
    seen = Seen()
    bench = AgentBench(reads("a", "b", "c"), DONE, tool=FakeTool("read", seen))

    report = await bench.agent.execute("go")

    (planned,) = (event for event in bench.observer.events if isinstance(event, BatchPlanned))
    assert {context.batch_id for context in seen.contexts} == {planned.batch_id}
    assert {record.context.batch_id for record in report.calls} == {planned.batch_id}


@every_planner
@pytest.mark.requirement("A05")
async def test_indices_follow_the_models_order_whichever_call_ends_first(planner: Planner) -> None:
    turns = [asyncio.Event() for _ in range(3)]
    turns[2].set()

    async def last_first(arguments: JsonObject, context: ToolExecutionContext) -> str:
        await turns[context.call_index].wait()
        if context.call_index:
            turns[context.call_index - 1].set()
        return str(context.call_index)

    result = await Bench(reader(last_first), planner=planner).run(*[("read", {})] * 3)

    assert [record.context.call_index for record in result.records] == [0, 1, 2]
    assert [message.output for message in result.results] == ["0", "1", "2"]


@pytest.mark.parametrize("module", [tool_runtime, call_run, batch_state], ids=lambda module: module.__name__)
@pytest.mark.requirement("A07")
def test_the_engine_compares_nothing_of_a_context_but_the_places_in_a_plan(module: ModuleType) -> None:
    identity = {*ToolExecutionContext.__struct_fields__}
    compared = [
        (comparison.lineno, operand.attr)
        for comparison in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(comparison, ast.Compare)
        for operand in (comparison.left, *comparison.comparators)
        if isinstance(operand, ast.Attribute) and operand.attr in identity
        if not (operand.attr == "call_index" and all(isinstance(op, ast.In) for op in comparison.ops))
    ]

    assert compared == []


@pytest.mark.requirement("A08")
async def test_a_tool_can_keep_its_own_order_with_nothing_but_its_context() -> None:
    all_began = asyncio.Barrier(4)
    ended = [asyncio.Event() for _ in range(4)]
    order: list[int] = []

    async def in_turn(arguments: JsonObject, context: ToolExecutionContext) -> str:
        await all_began.wait()
        if context.call_index:
            await ended[context.call_index - 1].wait()
        order.append(context.call_index)
        ended[context.call_index].set()
        return "ok"

    await asyncio.wait_for(Bench(reader(in_turn), planner=plan_parallel).run(*[("read", {})] * 4), timeout=60)

    assert order == [0, 1, 2, 3]


@pytest.mark.requirement("A09")
async def test_hooks_see_the_context_before_and_after_and_are_given_nothing_to_hold() -> None:
    hook = Before()
    bench = Bench(reader(), hooks=[HookRegistration(name="h", hook=hook)])
    batch = a_batch(("read", {}), ("read", {}))

    await bench.runtime.run(batch)

    assert hook.contexts == [context for context, _ in batch.calls] * 2
    for draft in (RequestDraft, CallDraft, ResultDraft):
        names = {*draft.__struct_fields__}
        assert names <= {"messages", "context", "tool", "risk", "arguments", "paths", "outcome", "output"}


@every_planner
@pytest.mark.requirement("A11")
async def test_a_skipped_call_keeps_its_index_and_its_batch(planner: Planner) -> None:
    seen = Seen()
    hook = Before(call_1=Skip("not this one"))
    bench = Bench(reader(seen), planner=planner, hooks=[HookRegistration(name="h", hook=hook)])

    result = await bench.run(*[("read", {})] * 3)

    assert [context.call_index for context in seen.contexts] == [0, 2]
    assert [record.context.call_index for record in result.records] == [0, 1, 2]
    assert {record.context.batch_id for record in result.records} == {seen.contexts[0].batch_id}
    assert outcomes(result) == [Outcome.OK, Outcome.SKIPPED, Outcome.OK]


@pytest.mark.requirement("A11")
async def test_aborted_calls_keep_their_contexts() -> None:
    bench = Bench(reader(), hooks=[HookRegistration(name="h", hook=Before(call_1=Abort("enough")))])
    batch = a_batch(*[("read", {})] * 3)

    result = await bench.runtime.run(batch)

    assert [record.context for record in result.records] == [context for context, _ in batch.calls]
    assert outcomes(result) == [Outcome.NOT_RUN] * 3


@pytest.mark.requirement("A11")
async def test_calls_that_a_limit_keeps_from_running_have_contexts_of_their_own_batch() -> None:
    bench = AgentBench(reads("a"), reads("b", "c"), DONE, limits=AgentTable(max_tool_turns=1))

    report = await bench.agent.execute("go")

    ran, *synthetic = (record.context for record in report.calls)
    assert [context.call_index for context in synthetic] == [0, 1]
    assert len({context.batch_id for context in synthetic}) == 1
    assert synthetic[0].batch_id != ran.batch_id


# ------------------------------------------------------------------ A12: changes of one file


class File:
    """What writers of one path do to it, one line each; being entered twice at once is an error."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self._inside = False

    async def add(self, index: int, *, crash: bool = False) -> None:
        assert not self._inside, "two writers of one file at once"
        self._inside = True
        try:
            await asyncio.sleep(0)
            if crash:
                raise ZeroDivisionError("a bug in the tool")
            self.lines.append(index)
        finally:
            self._inside = False


def writes_of(arguments: JsonObject) -> Access:
    return Access.of(writes=[f"/ws/{arguments['cell']}"])


@every_planner
@pytest.mark.parametrize("risk", RiskLevel)
@pytest.mark.requirement("A12")
async def test_two_edits_of_one_file_in_one_answer_land_in_call_order(
    planner: Planner, risk: RiskLevel
) -> None:
    file = File()

    async def edit(arguments: JsonObject, context: ToolExecutionContext) -> str:
        await file.add(context.call_index)
        return "ok"

    tool = FakeTool("edit", edit, risk=risk, access=writes_of)

    result = await Bench(tool, planner=planner, mode=Mode.AUTO).run(*[("edit", {"cell": "a"})] * 4)

    assert outcomes(result) == [Outcome.OK] * 4
    assert file.lines == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["serializable", "all_parallel", "risk_split"])
@pytest.mark.requirement("A12")
async def test_edits_of_two_files_overlap(name: str) -> None:
    both = asyncio.Barrier(2)

    async def meet(arguments: JsonObject, context: ToolExecutionContext) -> str:
        await both.wait()
        return "met"

    tool = FakeTool("edit", meet, access=writes_of)

    result = await asyncio.wait_for(
        Bench(tool, planner=PLANNERS[name]).run(("edit", {"cell": "a"}), ("edit", {"cell": "b"})), timeout=60
    )

    assert outcomes(result) == [Outcome.OK] * 2


class Fate(Enum):
    """What becomes of a call that would edit the file."""

    EDITS = "edits"
    REJECTED = "rejected"
    SKIPPED = "skipped"
    CRASHES = "crashes"
    CANCELLED = "cancelled"


OUTCOMES = {
    Fate.EDITS: Outcome.OK,
    Fate.REJECTED: Outcome.REJECTED,
    Fate.SKIPPED: Outcome.SKIPPED,
    Fate.CRASHES: Outcome.ERROR,
    Fate.CANCELLED: Outcome.CANCELLED,
}


@every_planner
@given(fates=st.lists(st.sampled_from(Fate), min_size=2, max_size=5))
@examples(40)
@pytest.mark.requirement("A12")
async def test_whatever_becomes_of_an_edit_the_next_of_the_same_file_gets_its_turn(
    planner: Planner, fates: list[Fate]
) -> None:
    file = File()

    async def edit(arguments: JsonObject, context: ToolExecutionContext) -> str:
        fate = fates[context.call_index]
        if fate is Fate.CANCELLED:
            raise asyncio.CancelledError
        await file.add(context.call_index, crash=fate is Fate.CRASHES)
        return "ok"

    def answer(request: ReviewRequest) -> ReviewAnswer:
        rejected = fates[request.packet.context.call_index] is Fate.REJECTED
        return Reject("no") if rejected else Approve(request.packet.digest)

    skipped = {f"call_{n}": Skip("no") for n, fate in enumerate(fates) if fate is Fate.SKIPPED}
    bench = Bench(
        FakeTool("edit", edit, risk=RiskLevel.HIGH, access=writes_of),
        person=FakePerson(answer),
        planner=planner,
        hooks=[HookRegistration(name="h", hook=Before(**skipped))],
    )

    result = await bench.run(*[("edit", {"cell": "a"})] * len(fates))

    assert outcomes(result) == [OUTCOMES[fate] for fate in fates]
    assert file.lines == [index for index, fate in enumerate(fates) if fate is Fate.EDITS]


@pytest.mark.requirement("A13")
async def test_identity_parallelism_and_withheld_calls_hold_together_under_all_parallel() -> None:
    both = asyncio.Barrier(2)
    seen = Seen()

    async def meet(arguments: JsonObject, context: ToolExecutionContext) -> str:
        await both.wait()
        return await seen(arguments, context)

    bench = AgentBench(
        calls_response(a_call("read", id_="a"), a_call("no_such_tool", id_="b"), a_call("read", id_="c")),
        reads("d", "e"),
        DONE,
        tool=FakeTool("read", meet),
        planner=plan_parallel,
    )

    report = await asyncio.wait_for(bench.agent.execute("go"), timeout=60)

    contexts = [record.context for record in report.calls]
    assert [(c.call_id, c.call_index, c.turn_index) for c in contexts] == [
        ("a", 0, 0),
        ("b", 1, 0),
        ("c", 2, 0),
        ("d", 0, 1),
        ("e", 1, 1),
    ]
    assert len({c.batch_id for c in contexts[:3]}) == len({c.batch_id for c in contexts[3:]}) == 1
    assert contexts[0].batch_id != contexts[3].batch_id
    assert set(seen.contexts) == {c for c in contexts if c.call_id != "b"}
