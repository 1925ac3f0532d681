from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

import pytest

from quorum.application.calls.hook_chain import HookChain, HookRegistration
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import BatchResult, ToolBatch, ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.application.ports.storage import BlobStore
from quorum.application.ports.tools import Tool
from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.execution import Outcome, Seal, ToolExecutionContext
from quorum.domain.calls.planners import Planner, plan_serializable
from quorum.domain.calls.tool import RiskLevel, ToolCall
from quorum.domain.errors import ToolError
from quorum.domain.events.event import BatchPlanned, CallFinished, CallProgressed, CallStarted, ReviewRequested
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import (
    Approve,
    ApproveRest,
    DecisionLabel,
    Edit,
    NobodyThere,
    Reject,
    RejectAndInterrupt,
    ReviewAnswer,
    ReviewRequest,
)
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.support.builders import a_call, a_context
from tests.support.fake_ports import FakePerson, FakeTool, FakeWriter, RecordingObserver, World
from tests.support.reviews import a_review


class Bench:
    """A runtime over fakes."""

    def __init__(
        self,
        *tools: Tool,
        person: FakePerson | None = None,
        mode: Mode = Mode.ASK,
        planner: Planner = plan_serializable,
        hooks: Sequence[HookRegistration] = (),
        store: BlobStore | None = None,
    ) -> None:
        self.observer = RecordingObserver()
        self.person = person or FakePerson()
        events = EventBus([self.observer])
        self.review = a_review(person=self.person, mode=mode, events=events)
        self.runtime = ToolRuntime(
            hooks=HookChain(hooks, events),
            outputs=Outputs(store, OutputLimits()),
            tools=ToolSet({tool.definition.name: tool for tool in tools}, JsonSchema()),
            schema=JsonSchema(),
            review=self.review,
            events=events,
            planner=planner,
            cwd="/ws",
        )

    async def run(self, *calls: tuple[str, Mapping[str, object]]) -> BatchResult:
        return await self.runtime.run(a_batch(*calls))

    def order(self) -> list[str]:
        return [
            f"{'start' if isinstance(e, CallStarted) else 'end'} {e.context.call_index}"
            for e in self.observer.of(CallStarted, CallFinished)
            if isinstance(e, CallStarted | CallFinished)
        ]


def a_batch(*calls: tuple[str, Mapping[str, object]]) -> ToolBatch:
    return ToolBatch(
        id="batch-1",
        calls=tuple(
            (a_context(i), a_call(name, arguments, id_=f"call-{i}"))  # type: ignore[arg-type]
            for i, (name, arguments) in enumerate(calls)
        ),
    )


def outcomes(result: BatchResult) -> list[Outcome]:
    return [record.outcome for record in result.records]


def decisions(result: BatchResult) -> list[DecisionLabel]:
    return [record.decision for record in result.records]


async def says_ok(arguments: JsonObject, context: ToolExecutionContext) -> str:
    return f"ok {context.call_index}"


def reader(body: Callable[[JsonObject, ToolExecutionContext], Awaitable[str]] = says_ok) -> FakeTool:
    return FakeTool("read", body, access=lambda a: Access.of(reads=[f"/ws/{a.get('cell', 'x')}"]))


@pytest.mark.requirement("E08")
@pytest.mark.requirement("A06")
async def test_calls_that_wait_for_each_other_all_run_at_once() -> None:
    barrier = asyncio.Barrier(4)

    async def meet(arguments: JsonObject, context: ToolExecutionContext) -> str:
        await barrier.wait()
        return "met"

    result = await asyncio.wait_for(Bench(reader(meet)).run(*[("read", {})] * 4), timeout=60)

    assert outcomes(result) == [Outcome.OK] * 4


@pytest.mark.requirement("B11")
async def test_results_stand_in_the_models_order_though_calls_end_in_reverse() -> None:
    turn = [asyncio.Event() for _ in range(4)]
    turn[3].set()

    async def wait_for_later(arguments: JsonObject, context: ToolExecutionContext) -> str:
        await turn[context.call_index].wait()
        if context.call_index:
            turn[context.call_index - 1].set()
        return str(context.call_index)

    bench = Bench(reader(wait_for_later))

    result = await bench.run(*[("read", {})] * 4)

    assert [r.output for r in result.results] == ["0", "1", "2", "3"]
    assert [r.tool_use_id for r in result.results] == ["call-0", "call-1", "call-2", "call-3"]
    ends = [e.context.call_index for e in bench.observer.events if isinstance(e, CallFinished)]
    assert ends == [3, 2, 1, 0]


async def test_a_read_after_a_write_of_the_same_file_waits_and_another_does_not() -> None:
    world = World()
    answered = asyncio.Event()

    async def approve_later(request: ReviewRequest) -> ReviewAnswer:
        await answered.wait()
        return Approve(request.packet.digest)

    async def read(arguments: JsonObject, context: ToolExecutionContext) -> str:
        if arguments["cell"] == "other":
            answered.set()
        return world.cells.get(str(arguments["cell"]), "nothing")

    bench = Bench(FakeWriter(world), reader(read), person=FakePerson(approve_later))

    result = await bench.run(
        ("write", {"cell": "a", "text": "new"}), ("read", {"cell": "a"}), ("read", {"cell": "other"})
    )

    assert [r.output for r in result.results] == ["wrote new", "new", "nothing"]


async def test_an_unknown_tool_and_bad_arguments_become_error_results_that_name_the_trouble() -> None:
    bench = Bench(reader())
    unreadable = ToolCall(tool_name="read", arguments={}, native_id="call-3", parse_error="no JSON")
    batch = a_batch(("rm", {}), ("read", {"count": "many"}), ("read", {"cell": "a"}))

    result = await bench.runtime.run(ToolBatch(id="b", calls=(*batch.calls, (a_context(3), unreadable))))

    assert outcomes(result) == [Outcome.ERROR, Outcome.ERROR, Outcome.OK, Outcome.ERROR]
    assert "no tool named 'rm'" in result.results[0].output
    assert "count" in result.results[1].output
    assert "no JSON" in result.results[3].output


async def test_a_failing_and_a_crashing_call_leave_their_siblings_alone() -> None:
    async def trouble(arguments: JsonObject, context: ToolExecutionContext) -> str:
        match context.call_index:
            case 0:
                raise ToolError("no such file")
            case 1:
                raise ZeroDivisionError("bug")
            case 2:
                raise PermissionError(13, "Permission denied")
            case _:
                return "fine"

    result = await Bench(reader(trouble)).run(*[("read", {})] * 4)

    assert outcomes(result) == [Outcome.ERROR] * 3 + [Outcome.OK]
    assert "no such file" in result.results[0].output
    assert "ZeroDivisionError" in result.results[1].output
    assert "Permission denied" in result.results[2].output


async def test_a_call_that_overruns_its_time_becomes_an_error() -> None:
    async def never(arguments: JsonObject, context: ToolExecutionContext) -> str:
        await asyncio.Event().wait()
        raise AssertionError

    result = await Bench(FakeTool("read", never, timeout_secs=0.01)).run(("read", {}))

    assert outcomes(result) == [Outcome.ERROR]
    assert "timed out after 0.01 s" in result.results[0].output


@pytest.mark.requirement("B09")
async def test_progress_from_a_thread_is_shown_before_the_result() -> None:
    async def work(arguments: JsonObject, context: ToolExecutionContext) -> str:
        await asyncio.to_thread(lambda: [context.controls.report(str(i)) for i in range(5)])
        return "done"

    bench = Bench(reader(work))

    await bench.run(("read", {}))

    shown = bench.observer.of(CallProgressed, CallFinished)
    assert [e.text for e in shown if isinstance(e, CallProgressed)] == ["0", "1", "2", "3", "4"]
    assert isinstance(shown[-1], CallFinished)


async def test_every_event_of_a_call_carries_its_context() -> None:
    bench = Bench(reader())

    await bench.run(("read", {}), ("read", {}))

    planned = bench.observer.of(BatchPlanned)[0]
    assert isinstance(planned, BatchPlanned)
    assert [lane.context for lane in planned.lanes] == [a_context(0), a_context(1)]
    assert {e.context for e in bench.observer.events if isinstance(e, CallFinished)} == {
        a_context(0),
        a_context(1),
    }


# ------------------------------------------------------------------ review


@pytest.mark.requirement("E08")
async def test_a_high_risk_call_is_asked_about_and_a_low_risk_call_is_not() -> None:
    bench = Bench(FakeWriter(World()), reader())

    result = await bench.run(("read", {}), ("write", {"cell": "a", "text": "x"}))

    assert [r.packet.call.tool_name for r in bench.person.requests] == ["write"]
    assert decisions(result) == [DecisionLabel.ALLOWED, DecisionLabel.APPROVED]


async def test_a_tool_knows_whether_a_person_was_asked_about_the_call() -> None:
    async def tell(arguments: JsonObject, context: ToolExecutionContext) -> str:
        return str(context.controls.was_asked)

    risky = FakeTool("risky", tell, risk=RiskLevel.HIGH)
    asked, unasked = Bench(risky), Bench(risky, mode=Mode.AUTO)

    assert (await asked.run(("risky", {}))).results[0].output == "True"
    assert (await unasked.run(("risky", {}))).results[0].output == "False"


@pytest.mark.requirement("E12")
@pytest.mark.parametrize(
    ("answer", "label", "expected"),
    [
        (Reject("too risky"), DecisionLabel.REJECTED, "rejected by the user: too risky"),
        (Reject(), DecisionLabel.REJECTED, "rejected by the user"),
        (NobodyThere(), DecisionLabel.NEEDS_APPROVAL, "approval"),
    ],
)
async def test_a_call_that_was_not_approved_never_runs_and_the_model_reads_it(
    answer: ReviewAnswer, label: DecisionLabel, expected: str
) -> None:
    world = World()
    bench = Bench(FakeWriter(world), person=FakePerson(lambda _: answer))

    result = await bench.run(("write", {"cell": "a", "text": "x"}))

    assert world.cells == {}
    assert outcomes(result) == [Outcome.REJECTED]
    assert decisions(result) == [label]
    assert expected in result.results[0].output
    assert result.results[0].is_rejected
    assert not result.results[0].is_error


async def test_read_only_mode_denies_without_asking() -> None:
    world = World()
    bench = Bench(FakeWriter(world), mode=Mode.READ_ONLY)

    result = await bench.run(("write", {"cell": "a", "text": "x"}))

    assert bench.person.requests == []
    assert world.cells == {}
    assert decisions(result) == [DecisionLabel.DENIED]
    assert "read-only" in result.results[0].output


async def test_what_changes_while_the_dialog_is_open_makes_the_approval_stale_and_is_asked_again() -> None:
    world = World({"a": "old"})

    def change_then_approve(request: ReviewRequest) -> ReviewAnswer:
        if len(bench.person.requests) == 1:
            world.cells["a"] = "changed meanwhile"
        return Approve(request.packet.digest)

    bench = Bench(FakeWriter(world), person=FakePerson(change_then_approve))

    result = await bench.run(("write", {"cell": "a", "text": "new"}))

    assert [r.stale for r in bench.person.requests] == [False, True]
    assert bench.person.requests[1].packet.seal.files[0].sha256 == "changed meanwhile"
    assert world.log == ["wrote a"]
    assert outcomes(result) == [Outcome.OK]


@pytest.mark.parametrize(("mode", "asked"), [(Mode.ASK, 1), (Mode.READ_ONLY, 0)])
async def test_a_mode_that_changes_while_a_call_is_sealed_is_the_one_that_decides(
    mode: Mode, asked: int
) -> None:
    world = World()

    class WriterThatTakesTime(FakeWriter):
        async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
            await bench.review.set_mode(mode)
            return await super().seal(arguments, projected)

    bench = Bench(WriterThatTakesTime(world), mode=Mode.AUTO, person=FakePerson(lambda _: Reject()))

    result = await bench.run(("write", {"cell": "a", "text": "x"}))

    assert len(bench.person.requests) == asked
    assert world.cells == {}
    assert outcomes(result) == [Outcome.REJECTED]


async def test_an_approval_of_another_packet_runs_nothing_and_is_asked_again() -> None:
    world = World()

    def wrong_then_reject(request: ReviewRequest) -> ReviewAnswer:
        return Approve("0" * 64) if len(bench.person.requests) == 1 else Reject()

    bench = Bench(FakeWriter(world), person=FakePerson(wrong_then_reject))

    await bench.run(("write", {"cell": "a", "text": "x"}))

    assert len(bench.person.requests) == 2
    assert world.cells == {}


async def test_edited_arguments_are_sealed_anew_shown_again_and_are_what_runs() -> None:
    world = World()

    def edit_then_approve(request: ReviewRequest) -> ReviewAnswer:
        if len(bench.person.requests) == 1:
            return Edit({"cell": "b", "text": "mine"})
        return Approve(request.packet.digest)

    bench = Bench(FakeWriter(world), person=FakePerson(edit_then_approve))

    result = await bench.run(("write", {"cell": "a", "text": "x"}))

    first, second = (r.packet.digest for r in bench.person.requests)
    assert first != second
    assert world.cells == {"b": "mine"}
    assert decisions(result) == [DecisionLabel.EDITED]
    assert "edited" in result.results[0].output


async def test_an_edit_that_does_not_fit_the_tool_is_refused_with_the_reason_and_asked_again() -> None:
    world = World()

    def edit_badly_then_approve(request: ReviewRequest) -> ReviewAnswer:
        if len(bench.person.requests) < 3:
            return Edit({"cell": "b", "text": "mine", "count": "many"})
        return Approve(request.packet.digest)

    bench = Bench(FakeWriter(world), person=FakePerson(edit_badly_then_approve))

    await bench.run(("write", {"cell": "a", "text": "x"}))

    first, *later = bench.person.requests
    for asked in later:
        told, *others = asked.reasons
        assert "count" in told
        assert told in asked.notices
        assert tuple(others) == first.reasons
        assert asked.routine_reasons == first.routine_reasons
    assert world.cells == {"a": "x"}


async def test_approving_the_rest_covers_a_later_edit_of_the_same_file_by_its_digest() -> None:
    world = World({"a": "0"})
    bench = Bench(
        FakeWriter(world),
        person=FakePerson(lambda r: ApproveRest((r.packet.digest, *(f.digest for f in r.following)))),
    )

    result = await bench.run(*[("write", {"cell": "a", "text": str(n)}) for n in (1, 2, 3)])

    assert len(bench.person.requests) == 1
    assert len(bench.person.requests[0].following) == 2
    assert decisions(result) == [DecisionLabel.APPROVED] * 3
    assert world.cells == {"a": "3"}


async def test_a_later_call_that_differs_from_what_was_approved_with_the_rest_is_asked_again() -> None:
    world = World({"a": "0", "b": "0"})

    def approve_rest_and_meddle(request: ReviewRequest) -> ReviewAnswer:
        world.cells["b"] = "meddled"
        return ApproveRest((request.packet.digest, *(f.digest for f in request.following)))

    bench = Bench(FakeWriter(world), person=FakePerson(approve_rest_and_meddle))

    await bench.run(("write", {"cell": "a", "text": "1"}), ("write", {"cell": "b", "text": "1"}))

    assert [r.packet.context.call_index for r in bench.person.requests] == [0, 1]


async def test_questions_come_one_at_a_time_and_in_call_order() -> None:
    sensitive = FakeTool("peek", says_ok, access=lambda _: Access.of(reads=["/ws/.env"]))
    bench = Bench(sensitive, FakeWriter(World()))

    await bench.run(("peek", {}), ("write", {"cell": "a", "text": "x"}), ("peek", {}), ("peek", {}))

    assert bench.person.most_at_once == 1
    assert [r.packet.context.call_index for r in bench.person.requests] == [0, 1, 2, 3]


async def test_interrupting_from_the_dialog_rejects_the_call_and_cancels_the_rest() -> None:
    world = World()
    started = asyncio.Event()

    async def slow(arguments: JsonObject, context: ToolExecutionContext) -> str:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def interrupt(request: ReviewRequest) -> ReviewAnswer:
        await started.wait()
        return RejectAndInterrupt()

    bench = Bench(FakeWriter(world), reader(slow), person=FakePerson(interrupt))

    result = await bench.run(
        ("write", {"cell": "a", "text": "x"}), ("read", {"cell": "b"}), ("write", {"cell": "b", "text": "x"})
    )

    assert result.interrupted
    assert outcomes(result) == [Outcome.REJECTED, Outcome.CANCELLED, Outcome.NOT_RUN]
    assert world.cells == {}


async def test_after_an_interruption_no_call_is_asked_about_whose_seal_was_just_being_computed() -> None:
    stopped = False

    class FinishesItsSeal(FakeWriter):
        async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
            if stopped:
                with suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()
            return await super().seal(arguments, projected)

    async def interrupt(request: ReviewRequest) -> ReviewAnswer:
        nonlocal stopped
        stopped = True
        return RejectAndInterrupt()

    bench = Bench(FinishesItsSeal(World()), person=FakePerson(interrupt))

    result = await bench.run(("write", {"cell": "a", "text": "x"}), ("write", {"cell": "a", "text": "y"}))

    assert outcomes(result) == [Outcome.REJECTED, Outcome.NOT_RUN]
    assert len(bench.person.requests) == 1


# ------------------------------------------------------------------ cancellation


async def test_cancelling_tells_what_ran_what_was_cut_and_what_never_began() -> None:
    second_runs = asyncio.Event()

    async def work(arguments: JsonObject, context: ToolExecutionContext) -> str:
        if context.call_index == 0:
            return "finished before"
        second_runs.set()
        await asyncio.Event().wait()
        raise AssertionError

    alone = FakeTool("alone", says_ok, access=lambda _: EXCLUSIVE)
    bench = Bench(reader(work), alone)
    task = asyncio.create_task(bench.run(("read", {}), ("read", {}), ("alone", {})))
    await second_runs.wait()

    task.cancel()
    result = await task

    assert result.interrupted
    assert outcomes(result) == [Outcome.OK, Outcome.CANCELLED, Outcome.NOT_RUN]
    assert result.results[0].output == "finished before"
    assert task.cancelling() == 0


async def test_what_a_call_showed_last_stays_in_the_result_of_one_that_was_cut_short() -> None:
    running = asyncio.Event()

    async def work(arguments: JsonObject, context: ToolExecutionContext) -> str:
        context.controls.report("step 1 of 7\n")
        context.controls.report("step 1 of 7\nstep 2 of 7\n")
        running.set()
        await asyncio.Event().wait()
        raise AssertionError

    bench = Bench(reader(work))
    task = asyncio.create_task(bench.run(("read", {})))
    await running.wait()

    task.cancel()
    (result,) = (await task).results

    ended = bench.observer.of(CallFinished)[-1]
    assert isinstance(ended, CallFinished)
    assert ended.output == result.output
    assert result.output.startswith("interrupted while it ran")
    assert result.output.endswith(":\nstep 1 of 7\nstep 2 of 7")


async def test_an_effect_that_was_done_when_the_cancellation_came_is_reported_as_done() -> None:
    running = asyncio.Event()

    async def commit(arguments: JsonObject, context: ToolExecutionContext) -> str:
        running.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "written all the same"
        raise AssertionError

    bench = Bench(reader(commit))
    task = asyncio.create_task(bench.run(("read", {})))
    await running.wait()

    task.cancel()
    result = await task

    assert outcomes(result) == [Outcome.OK]
    assert result.interrupted


async def test_a_second_cancellation_does_not_cut_the_cleaning_up_short() -> None:
    running, cleaning, clean = asyncio.Event(), asyncio.Event(), asyncio.Event()
    cleaned: list[bool] = []

    async def careful(arguments: JsonObject, context: ToolExecutionContext) -> str:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaning.set()
            await clean.wait()
            cleaned.append(True)
        raise AssertionError

    task = asyncio.create_task(Bench(reader(careful)).run(("read", {})))
    await running.wait()
    task.cancel()
    await cleaning.wait()

    task.cancel()
    await asyncio.sleep(0)
    clean.set()
    result = await task

    assert cleaned == [True]
    assert outcomes(result) == [Outcome.CANCELLED]


async def test_a_tool_that_ignores_its_cancellation_is_given_up_as_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quorum.application.calls.tool_runtime.SETTLE_SECS", 0.05)
    running, release = asyncio.Event(), asyncio.Event()

    async def stubborn(arguments: JsonObject, context: ToolExecutionContext) -> str:
        running.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    bench = Bench(reader(stubborn))
    task = asyncio.create_task(bench.run(("read", {})))
    await running.wait()

    task.cancel()
    result = await task
    release.set()

    assert outcomes(result) == [Outcome.UNKNOWN]
    assert "unknown" in result.results[0].output


async def test_after_an_exclusive_call_what_the_waiting_calls_touch_is_computed_anew() -> None:
    target = {"link": "/ws/a"}
    overlap = asyncio.Barrier(2)

    async def relink(arguments: JsonObject, context: ToolExecutionContext) -> str:
        target["link"] = "/ws/b"
        return "relinked"

    async def meet(arguments: JsonObject, context: ToolExecutionContext) -> str:
        await overlap.wait()
        return "met"

    alone = FakeTool("alone", relink, access=lambda _: EXCLUSIVE)
    through_link = FakeTool("through", meet, access=lambda _: Access.of(writes=[target["link"]]))
    direct = FakeTool("direct", meet, access=lambda _: Access.of(writes=["/ws/a"]))

    result = await asyncio.wait_for(
        Bench(alone, through_link, direct).run(("alone", {}), ("through", {}), ("direct", {})), timeout=60
    )

    assert outcomes(result) == [Outcome.OK] * 3


@pytest.mark.requirement("E08")
async def test_the_review_is_requested_before_and_the_start_recorded_after_the_answer() -> None:
    bench = Bench(FakeWriter(World()))

    await bench.run(("write", {"cell": "a", "text": "x"}))

    kinds = [type(e) for e in bench.observer.of(ReviewRequested, CallStarted, CallFinished)]
    assert kinds == [ReviewRequested, CallStarted, CallFinished]


def test_high_risk_is_the_default_of_a_definition() -> None:
    from quorum.domain.calls.tool import ToolDefinition

    definition = ToolDefinition(name="x", description="", parameters=())

    assert definition.risk is RiskLevel.HIGH
    assert definition.determine_access({}) == EXCLUSIVE


async def test_a_tool_that_was_not_offered_does_not_run_and_nobody_is_asked() -> None:
    world = World()
    bench = Bench(reader(), FakeWriter(world))
    batch = a_batch(("write", {"cell": "a", "text": "x"}), ("read", {}))

    result = await bench.runtime.run(replace(batch, offered=frozenset({"read"})))

    assert outcomes(result) == [Outcome.ERROR, Outcome.OK]
    assert "write is not offered now, and was not run" in result.results[0].output
    assert world.cells == {}
    assert decisions(result)[0] is DecisionLabel.NONE
