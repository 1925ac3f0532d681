"""Hooks are asked about every declared call, and what they edit is either honoured or an error."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence

import pytest

from quorum.application.calls.hook_chain import HookMatcher
from quorum.application.calls.hooks import CallDraft, Hook, RequestDraft, ResultDraft
from quorum.application.calls.tool_runtime import ToolBatch
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.hook_points import (
    Abort,
    Continue,
    ContinueWithMessages,
    Finish,
    HookAnswer,
    Skip,
    TurnEndAnswer,
)
from quorum.domain.calls.tool import ToolParameter
from quorum.domain.conversation.history import Message
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.events.event import BatchPlanned, CallFinished, HookRan
from quorum.domain.events.report import RunStatus
from quorum.domain.replacing import replace
from quorum.domain.settings import AgentTable
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.hooks.registrations import PythonHook
from tests.application.test_hooks import Answering, registered
from tests.application.test_run_agent import Bench as AgentBench
from tests.application.test_run_agent import reads
from tests.application.test_tool_runtime import Bench, a_batch, outcomes, reader, says_ok
from tests.support.builders import a_call, a_context
from tests.support.fake_ports import FakeTool, RecordingObserver

CELL = ToolParameter(name="cell", type="string", description="where", required=True)


def strict_reader(ran: list[JsonObject] | None = None) -> FakeTool:
    async def read(arguments: JsonObject, context: ToolExecutionContext) -> str:
        if ran is not None:
            ran.append(arguments)
        return await says_ok(arguments, context)

    return FakeTool("read", read, parameters=[CELL], access=lambda a: Access.of(reads=[f"/ws/{a['cell']}"]))


def failures(observer: RecordingObserver) -> list[HookRan]:
    return [event for event in observer.events if isinstance(event, HookRan) and event.answer == "error"]


async def test_hooks_are_asked_about_unknown_and_invalid_calls_too() -> None:
    asked: list[tuple[str, object]] = []

    def note(call: CallDraft) -> HookAnswer:
        asked.append((call.tool, dict(call.arguments)))
        return Continue()

    bench = Bench(strict_reader(), hooks=[registered(Answering(before=note))])

    result = await bench.run(("nothing", {"x": 1}), ("read", {"cell": {}}), ("read", {"cell": "a"}))

    assert asked == [("nothing", {"x": 1}), ("read", {"cell": {}}), ("read", {"cell": "a"})]
    assert outcomes(result) == [Outcome.ERROR, Outcome.ERROR, Outcome.OK]
    assert "there is no tool named 'nothing'" in result.results[0].output
    assert "bad arguments for read" in result.results[1].output


async def test_a_hook_can_skip_a_call_that_could_not_run_anyway() -> None:
    bench = Bench(reader(), hooks=[registered(Answering(before=lambda _: Skip("not here")))])

    result = await bench.run(("nothing", {}))

    assert outcomes(result) == [Outcome.SKIPPED]


async def test_arguments_that_a_hook_puts_in_place_of_bad_ones_are_what_runs() -> None:
    ran: list[JsonObject] = []

    def mend(call: CallDraft) -> HookAnswer:
        call.arguments["cell"] = str(call.arguments.get("cell"))
        return Continue()

    bench = Bench(strict_reader(ran), hooks=[registered(Answering(before=mend))])

    result = await bench.run(("read", {"cell": 5}), ("nothing", {}))

    assert outcomes(result) == [Outcome.OK, Outcome.ERROR]
    assert ran == [{"cell": "5"}]


async def test_a_call_whose_arguments_could_not_be_read_can_be_mended_by_a_hook() -> None:
    ran: list[JsonObject] = []

    def mend(call: CallDraft) -> HookAnswer:
        call.arguments = {"cell": "a"}
        return Continue()

    bench = Bench(strict_reader(ran), hooks=[registered(Answering(before=mend))])
    unreadable = replace(a_call("read"), parse_error="it is not JSON")

    result = await bench.runtime.run(ToolBatch(id="batch-1", calls=((a_context(0), unreadable),)))

    assert outcomes(result) == [Outcome.OK]
    assert ran == [{"cell": "a"}]


def _renames(call: CallDraft) -> HookAnswer:
    call.tool = "write"
    return Continue()


def _lowers(call: CallDraft) -> HookAnswer:
    call.paths = ()
    return Continue()


def _empties(call: CallDraft) -> HookAnswer:
    call.arguments = None  # type: ignore[assignment]
    return Continue()


def _puts_an_object(call: CallDraft) -> HookAnswer:
    call.arguments["cell"] = object()  # type: ignore[assignment]
    return Continue()


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (_renames, "changed tool, which cannot be changed: at this point a hook may edit arguments only"),
        (_lowers, "changed paths, which cannot be changed"),
        (_empties, "left arguments that are not a JSON object"),
        (_puts_an_object, "left arguments that are not a JSON object"),
    ],
)
async def test_an_edit_of_a_call_that_cannot_be_honoured_keeps_it_from_running(
    edit: Callable[[CallDraft], HookAnswer], said: str
) -> None:
    bench = Bench(reader(), hooks=[registered(Answering(before=edit), "editor")])

    result = await bench.run(("read", {"cell": "a"}))

    assert outcomes(result) == [Outcome.SKIPPED]
    assert f"the hook editor failed: {said}" in result.results[0].output
    assert [ran.edited for ran in failures(bench.observer)] == [None]


def _turns_error_into_ok(result: ResultDraft) -> HookAnswer:
    result.outcome = Outcome.ERROR
    result.output = "changed as well"
    return Continue()


def _takes_the_output(result: ResultDraft) -> HookAnswer:
    result.output = None  # type: ignore[assignment]
    return Continue()


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            _turns_error_into_ok,
            "changed outcome, which cannot be changed: at this point a hook may edit output",
        ),
        (_takes_the_output, "left an output that is not text"),
    ],
)
async def test_an_edit_of_a_result_that_cannot_be_honoured_is_reported_and_leaves_the_original(
    edit: Callable[[ResultDraft], HookAnswer], said: str
) -> None:
    bench = Bench(reader(), hooks=[registered(Answering(after=edit))])

    result = await bench.run(("read", {}))

    assert (outcomes(result), result.results[0].output) == ([Outcome.OK], "ok 0")
    (ran,) = failures(bench.observer)
    assert said in (ran.reason or "")


class Renames:
    """A plain function: its draft is a copy."""

    def before_tool_call(self, call: CallDraft) -> HookAnswer:
        return _renames(call)


async def test_such_an_edit_in_a_thread_is_an_error_too() -> None:
    bench = Bench(reader(), hooks=[registered(PythonHook(Renames()))])

    result = await bench.run(("read", {}))

    assert outcomes(result) == [Outcome.SKIPPED]
    assert "changed tool" in result.results[0].output


async def test_messages_that_are_no_messages_are_not_sent() -> None:
    def garble(request: RequestDraft) -> HookAnswer:
        request.messages = None  # type: ignore[assignment]
        return Continue()

    bench = AgentBench(LlmResponse.from_text("never"), hooks=[registered(Answering(message=garble))])

    report = await bench.agent.execute("go")

    assert bench.session.sent == []
    assert "left messages that are not a list of messages" in (report.error or "")


@pytest.mark.parametrize(
    "answer",
    [Skip(7), Abort(None), ContinueWithMessages(("x",))],  # type: ignore[arg-type]
    ids=["a number as reason", "None as reason", "an answer of another point"],
)
async def test_an_answer_that_cannot_be_used_is_a_failure_of_its_hook(answer: HookAnswer) -> None:
    result = await Bench(reader(), hooks=[registered(Answering(before=lambda _: answer))]).run(("read", {}))

    assert outcomes(result) == [Outcome.SKIPPED]
    assert "the hook hook failed: answered" in result.results[0].output


@pytest.mark.parametrize("messages", [(), ("",), (1,), "text"], ids=["none", "empty", "a number", "one text"])
async def test_what_cannot_be_put_to_the_model_at_the_turns_end_leaves_the_answer(messages: object) -> None:
    answering = Answering(end=lambda _: ContinueWithMessages(messages))  # type: ignore[arg-type]
    bench = AgentBench(LlmResponse.from_text("done"), hooks=[registered(answering)])

    report = await bench.agent.execute("go")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "done")
    assert len(failures(bench.observer)) == 1


class Leaves(Hook):
    async def before_tool_call(self, call: CallDraft) -> HookAnswer:
        sys.exit(3)


class CancelsItself(Hook):
    async def before_tool_call(self, call: CallDraft) -> HookAnswer:
        raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("hook", "said"),
    [(Leaves(), "tried to end the process (3)"), (CancelsItself(), "was cancelled from within")],
    ids=["it exits", "it cancels itself"],
)
async def test_a_hook_that_ends_more_than_itself_has_failed_and_the_run_goes_on(hook: Hook, said: str) -> None:
    bench = Bench(reader(), hooks=[registered(hook, matcher=HookMatcher(paths=("*/a",)))])

    result = await bench.run(("read", {"cell": "a"}), ("read", {"cell": "b"}))

    assert outcomes(result) == [Outcome.SKIPPED, Outcome.OK]
    assert said in result.results[0].output
    assert not result.interrupted


async def test_the_conditions_of_a_hook_speak_of_the_arguments_as_hooks_before_it_left_them() -> None:
    def redirect(call: CallDraft) -> HookAnswer:
        call.arguments["cell"] = "secret"
        return Continue()

    guard = registered(
        Answering(before=lambda call: Skip(f"not {call.paths}")),
        "guard",
        matcher=HookMatcher(paths=("*/secret",)),
    )
    bench = Bench(reader(), hooks=[registered(Answering(before=redirect)), guard])

    result = await bench.run(("read", {"cell": "harmless"}))

    assert outcomes(result) == [Outcome.SKIPPED]
    assert "/ws/secret" in result.results[0].output


class WaitsAfter(Hook):
    def __init__(self) -> None:
        self.entered = asyncio.Event()

    async def after_tool_call(self, result: ResultDraft) -> HookAnswer:
        self.entered.set()
        await asyncio.Event().wait()
        return Continue()


async def test_an_interruption_ends_a_hook_after_a_call_and_withholds_what_it_was_to_see() -> None:
    hook = WaitsAfter()
    bench = Bench(reader(), hooks=[registered(hook, matcher=HookMatcher(paths=("*/a",)))])
    task = asyncio.create_task(
        bench.run(("read", {"cell": "a"}), ("read", {"cell": "a"}), ("read", {"cell": "b"}))
    )
    await hook.entered.wait()

    task.cancel()
    result = await asyncio.wait_for(task, timeout=60)

    assert result.interrupted
    assert outcomes(result) == [Outcome.OK] * 3
    assert ["withheld: the turn was interrupted" in message.output for message in result.results] == [
        True,
        True,
        False,
    ]


async def test_a_turn_that_is_interrupted_in_a_hook_after_a_call_asks_the_model_nothing_more() -> None:
    hook = WaitsAfter()
    bench = AgentBench(reads("a"), LlmResponse.from_text("never"), hooks=[registered(hook)])
    task = asyncio.create_task(bench.agent.execute("go"))
    await hook.entered.wait()

    task.cancel()
    report = await asyncio.wait_for(task, timeout=60)

    assert report.status is RunStatus.INTERRUPTED
    assert len(bench.session.sent) == 1


async def test_a_hook_that_aborts_at_the_limit_ends_the_run_without_another_request() -> None:
    def after(result: ResultDraft) -> HookAnswer:
        return Abort("no more") if result.outcome is Outcome.NOT_RUN else Continue()

    bench = AgentBench(
        reads("a"),
        reads("b"),
        LlmResponse.from_text("never"),
        hooks=[registered(Answering(after=after))],
        limits=AgentTable(max_tool_turns=1),
    )

    report = await bench.agent.execute("go")

    assert (report.status, len(bench.session.sent)) == (RunStatus.FAILED, 2)
    assert "no more" in (report.error or "")


async def test_calls_at_the_limit_are_planned_and_finished_like_any_other() -> None:
    bench = AgentBench(reads("a"), reads("b", "c"), reads("d"), limits=AgentTable(max_tool_turns=1))

    report = await bench.agent.execute("go")

    planned = [event for event in bench.observer.of(BatchPlanned) if isinstance(event, BatchPlanned)]
    finished = [event for event in bench.observer.of(CallFinished) if isinstance(event, CallFinished)]
    assert [len(batch.lanes) for batch in planned] == [1, 2, 1]
    assert [event.outcome for event in finished] == [Outcome.OK, *[Outcome.NOT_RUN] * 3]
    assert [record.context for record in report.calls] == [event.context for event in finished]
    assert all("the limit of 1 tool turns" in event.output for event in finished[1:])


async def test_a_validator_that_is_never_satisfied_ends_the_run_as_failed_with_its_reason() -> None:
    def wants_json(messages: Sequence[Message]) -> TurnEndAnswer:
        return ContinueWithMessages(("that is not JSON",))

    bench = AgentBench(
        *[LlmResponse.from_text("prose")] * 2,
        hooks=[registered(Answering(end=wants_json))],
        limits=AgentTable(max_turn_end_retries=1),
    )

    report = await bench.agent.execute("go")

    assert (report.status, report.exit_code, report.text) == (RunStatus.FAILED, 1, "prose")
    assert "sent the model back 1 time, which is the limit, and are not satisfied: that is not JSON" in (
        report.error or ""
    )


async def test_a_turn_whose_hooks_are_satisfied_at_the_last_try_is_completed() -> None:
    answers = iter([ContinueWithMessages(("again",)), Finish()])
    bench = AgentBench(
        LlmResponse.from_text("prose"),
        LlmResponse.from_text("{}"),
        hooks=[registered(Answering(end=lambda _: next(answers)))],
        limits=AgentTable(max_turn_end_retries=1),
    )

    report = await bench.agent.execute("go")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "{}")


async def test_a_hook_gives_no_way_to_a_tool_that_was_not_offered() -> None:
    ran: list[JsonObject] = []

    def change(call: CallDraft) -> HookAnswer:
        call.arguments["cell"] = "b"
        return Continue()

    bench = Bench(strict_reader(ran), hooks=[registered(Answering(before=change))])
    batch = replace(a_batch(("read", {"cell": "a"})), offered=frozenset())

    result = await bench.runtime.run(batch)

    assert outcomes(result) == [Outcome.ERROR]
    assert ran == []
