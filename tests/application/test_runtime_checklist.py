"""The runtime's records, lanes, progress and shared state, line by line of its checklist."""

from __future__ import annotations

import asyncio
import random

import pytest

from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.execution import Outcome, ToolExecution, ToolExecutionContext, ToolStatus
from quorum.domain.calls.planners import PLANNERS, Planner, partition
from quorum.domain.calls.run_state import Modifier, RunState
from quorum.domain.calls.tool import RiskLevel, ToolResultMessage
from quorum.domain.errors import IllegalTransition, ToolError
from quorum.domain.events.event import CallFinished, CallProgressed, StateMerged
from quorum.domain.review.questions import Approve, ReviewAnswer, ReviewRequest
from quorum.domain.text.json_value import JsonObject
from tests.application.test_tool_runtime import Bench, outcomes, reader
from tests.support.builders import a_call, a_context
from tests.support.fake_ports import FakePerson, FakeTool, FakeWriter, World

every_planner = pytest.mark.parametrize("planner", PLANNERS.values(), ids=PLANNERS)


def appending(number: object) -> Modifier:
    """Appends to the list `seen` of the shared state."""

    def append(state: RunState) -> RunState:
        seen = state.get("seen")
        return state.having("seen", [*(seen if isinstance(seen, list) else []), str(number)])

    return append


def list_in(state: RunState) -> list[object]:
    seen = state.get("seen")
    return list(seen) if isinstance(seen, list) else []


# ------------------------------------------------------------------ lanes


@pytest.mark.requirement("B01")
async def test_a_mixed_batch_runs_lane_by_lane_under_partition() -> None:
    order: list[str] = []
    reads_overlap = asyncio.Barrier(2)

    async def read(arguments: JsonObject, context: ToolExecutionContext) -> str:
        if context.call_index < 2:
            await reads_overlap.wait()
        order.append(f"read {context.call_index}")
        return "ok"

    async def write(arguments: JsonObject, context: ToolExecutionContext) -> str:
        order.append("write 2")
        return "ok"

    bench = Bench(
        reader(read), FakeTool("write", write, access=lambda _: Access.of(writes=["/ws/z"])), planner=partition
    )

    await asyncio.wait_for(bench.run(("read", {}), ("read", {}), ("write", {}), ("read", {})), timeout=60)

    assert sorted(order[:2]) == ["read 0", "read 1"]
    assert order[2:] == ["write 2", "read 3"]


@pytest.mark.requirement("B02")
async def test_one_tool_is_safe_with_one_input_and_unsafe_with_another() -> None:
    safe_at_once = asyncio.Barrier(2)
    running: set[int] = set()

    async def work(arguments: JsonObject, context: ToolExecutionContext) -> str:
        if arguments["text"] == "look":
            await safe_at_once.wait()
            return "looked"
        assert not running
        running.add(context.call_index)
        await asyncio.sleep(0)
        running.clear()
        return "changed"

    tool = FakeTool("shell", work, access=lambda a: Access() if a["text"] == "look" else EXCLUSIVE)
    bench = Bench(tool, planner=partition)
    look, change = ("shell", {"text": "look"}), ("shell", {"text": "change"})

    result = await asyncio.wait_for(bench.run(look, look, change, change), timeout=60)

    assert outcomes(result) == [Outcome.OK] * 4
    assert [one.is_concurrency_safe for one in bench.runtime.executions] == [True, True, False, False]


@pytest.mark.requirement("B03")
async def test_a_tool_nobody_knows_and_one_that_cannot_be_placed_are_not_safe() -> None:
    def unplaceable(arguments: JsonObject) -> Access:
        raise KeyError("path")

    bench = Bench(FakeTool("odd", _says_ok, access=unplaceable), reader(_says_ok))

    await bench.run(("odd", {}), ("unheard_of", {}), ("read", {}))

    assert [one.is_concurrency_safe for one in bench.runtime.executions] == [False, False, True]


@pytest.mark.requirement("B05")
async def test_calls_of_a_safe_lane_overlap_and_those_of_an_unsafe_one_never() -> None:
    all_safe = asyncio.Barrier(3)
    running = most = 0

    async def safe(arguments: JsonObject, context: ToolExecutionContext) -> str:
        await all_safe.wait()
        return "ok"

    async def unsafe(arguments: JsonObject, context: ToolExecutionContext) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= 1
        return "ok"

    bench = Bench(
        reader(safe), FakeTool("write", unsafe, access=lambda _: Access.of(writes=["/w"])), planner=partition
    )

    result = await asyncio.wait_for(bench.run(*[("read", {})] * 3, *[("write", {})] * 3), timeout=60)

    assert outcomes(result) == [Outcome.OK] * 6
    assert most == 1


# ------------------------------------------------------------------ records


@pytest.mark.requirement("B06")
def test_a_record_holds_the_seven_fields() -> None:
    record = ToolExecution(context=a_context(), call=a_call("read"), is_concurrency_safe=True)
    modifier = appending(1)

    record.start()
    record.progress.append("half")
    record.modifiers.append(modifier)
    pending = record.results
    record.complete(Outcome.OK, "whole")

    assert (record.id, record.name, record.is_concurrency_safe) == ("call-0", "read", True)
    assert record.status is ToolStatus.COMPLETED
    assert list(record.progress) == ["half"]
    assert pending == ()
    assert record.results == (ToolResultMessage(tool_use_id="call-0", tool_name="read", output="whole"),)
    assert record.modifiers == [modifier]


@pytest.mark.requirement("B07")
async def test_a_call_is_queued_executing_completed_and_in_the_end_yielded() -> None:
    seen: list[ToolStatus] = []

    def when_asked(request: ReviewRequest) -> ReviewAnswer:
        seen.append(bench.runtime.executions[1].status)
        return Approve(request.packet.digest)

    async def when_run(arguments: JsonObject, context: ToolExecutionContext) -> str:
        seen.extend(one.status for one in bench.runtime.executions)
        return "ok"

    risky = FakeTool("risky", when_run, risk=RiskLevel.HIGH, access=lambda _: EXCLUSIVE)
    bench = Bench(reader(_says_ok), risky, person=FakePerson(when_asked))

    await bench.run(("read", {}), ("risky", {}))

    record = bench.runtime.executions[1]
    assert seen == [ToolStatus.QUEUED, ToolStatus.COMPLETED, ToolStatus.EXECUTING]
    assert record.status is ToolStatus.YIELDED
    with pytest.raises(IllegalTransition):
        record.hand_over()
    with pytest.raises(IllegalTransition):
        record.start()


@pytest.mark.requirement("B08")
async def test_at_any_moment_the_records_say_what_waits_runs_is_done_and_reported() -> None:
    second_runs, release = asyncio.Event(), asyncio.Event()

    async def work(arguments: JsonObject, context: ToolExecutionContext) -> str:
        if context.call_index == 1:
            context.controls.report("half way")
            await asyncio.sleep(0)
            second_runs.set()
            await release.wait()
        return "ok"

    bench = Bench(reader(work), FakeTool("alone", work, access=lambda _: EXCLUSIVE))
    task = asyncio.create_task(bench.run(("read", {}), ("read", {}), ("alone", {})))
    await asyncio.wait_for(second_runs.wait(), timeout=60)

    done, runs, waits = bench.runtime.executions

    assert done.status is ToolStatus.COMPLETED
    assert (runs.status, list(runs.progress), runs.results) == (ToolStatus.EXECUTING, ["half way"], ())
    assert (waits.status, waits.waiting_for) == (ToolStatus.QUEUED, (1,))
    release.set()
    await task
    assert {one.status for one in bench.runtime.executions} == {ToolStatus.YIELDED}


@pytest.mark.requirement("B08")
async def test_a_call_in_review_says_that_it_waits_for_it() -> None:
    waiting: list[object] = []

    def note(request: ReviewRequest) -> ReviewAnswer:
        waiting.append(bench.runtime.executions[0].waiting_for)
        return Approve(request.packet.digest)

    bench = Bench(FakeWriter(World()), person=FakePerson(note))

    await bench.run(("write", {"cell": "a", "text": "x"}))

    assert waiting == ["review"]
    assert bench.runtime.executions[0].waiting_for is None


@every_planner
@pytest.mark.requirement("B09")
async def test_progress_of_each_call_comes_in_its_order_and_before_its_result(planner: Planner) -> None:
    async def work(arguments: JsonObject, context: ToolExecutionContext) -> str:
        for step in range(3):
            context.controls.report(f"{context.call_index}.{step}")
            await asyncio.sleep(0)
        return "ok"

    bench = Bench(reader(work), planner=planner)

    await bench.run(*[("read", {})] * 3)

    for index in range(3):
        output = [
            event.text if isinstance(event, CallProgressed) else "result"
            for event in bench.observer.of(CallProgressed, CallFinished)
            if isinstance(event, CallProgressed | CallFinished) and event.context.call_index == index
        ]
        assert output == [f"{index}.0", f"{index}.1", f"{index}.2", "result"]


# ------------------------------------------------------------------ shared state


@pytest.mark.requirement("B10")
async def test_a_message_goes_out_now_and_the_new_context_only_when_the_batch_has_ended() -> None:
    changed, looked = asyncio.Event(), asyncio.Event()
    seen_beside: list[object] = []

    async def change(arguments: JsonObject, context: ToolExecutionContext) -> str:
        context.controls.modify(lambda state: state.having("key", "new"))
        context.controls.report("changed it")
        await asyncio.sleep(0)
        changed.set()
        await looked.wait()
        return "ok"

    async def look(arguments: JsonObject, context: ToolExecutionContext) -> str:
        await changed.wait()
        seen_beside.append(context.controls.state.get("key"))
        looked.set()
        return "ok"

    bench = Bench(FakeTool("change", change), FakeTool("look", look))

    await asyncio.wait_for(bench.run(("change", {}), ("look", {})), timeout=60)

    assert seen_beside == [None]
    kinds = [type(event) for event in bench.observer.of(CallProgressed, StateMerged)]
    assert kinds == [CallProgressed, StateMerged]
    assert bench.runtime.state.get("key") == "new"


@pytest.mark.long
@pytest.mark.requirement("B12")
async def test_modifiers_of_a_concurrent_batch_are_applied_in_call_order_however_the_calls_end() -> None:
    lots = random.Random(20260821)

    for _ in range(200):
        finish = lots.sample(range(5), 5)
        turns = {index: asyncio.Event() for index in finish}

        async def append(
            arguments: JsonObject,
            context: ToolExecutionContext,
            finish: list[int] = finish,
            turns: dict[int, asyncio.Event] = turns,
        ) -> str:
            await turns[context.call_index].wait()
            context.controls.modify(appending(context.call_index))
            place = finish.index(context.call_index)
            if place + 1 < len(finish):
                turns[finish[place + 1]].set()
            return "ok"

        turns[finish[0]].set()
        bench = Bench(reader(append))

        await asyncio.wait_for(bench.run(*[("read", {})] * 5), timeout=60)

        assert list_in(bench.runtime.state) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("name", ["serializable", "partition"])
@pytest.mark.requirement("B13")
async def test_a_serial_call_sees_what_the_one_before_it_changed(name: str) -> None:
    seen: list[list[object]] = []

    async def work(arguments: JsonObject, context: ToolExecutionContext) -> str:
        seen.append(list_in(context.controls.state))
        context.controls.modify(appending(context.call_index))
        return "ok"

    bench = Bench(FakeTool("alone", work, access=lambda _: EXCLUSIVE), planner=PLANNERS[name])

    await bench.run(*[("alone", {})] * 3)

    assert seen == [[], ["0"], ["0", "1"]]
    assert list_in(bench.runtime.state) == ["0", "1", "2"]


@every_planner
@pytest.mark.requirement("B14")
async def test_several_modifiers_of_one_call_keep_their_own_order(planner: Planner) -> None:
    async def twice(arguments: JsonObject, context: ToolExecutionContext) -> str:
        context.controls.modify(appending(f"{context.call_index}a"))
        await asyncio.sleep(0)
        context.controls.modify(appending(f"{context.call_index}b"))
        return "ok"

    bench = Bench(reader(twice), planner=planner)

    await bench.run(*[("read", {})] * 2)

    assert list_in(bench.runtime.state) == ["0a", "0b", "1a", "1b"]


async def test_modifiers_of_a_call_that_failed_are_dropped_and_the_next_batch_starts_from_the_rest() -> None:
    async def work(arguments: JsonObject, context: ToolExecutionContext) -> str:
        context.controls.modify(appending(len(list_in(context.controls.state)) * 10 + context.call_index))
        if context.call_index == 1:
            raise ToolError("no")
        return "ok"

    bench = Bench(reader(work))

    await bench.run(*[("read", {})] * 3)
    await bench.run(("read", {}))

    assert list_in(bench.runtime.state) == ["0", "2", "20"]


async def _says_ok(arguments: JsonObject, context: ToolExecutionContext) -> str:
    return "ok"
