"""Hooks in the runtime and the run: order, answers, edits, errors, time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.application.calls.hook_chain import HookMatcher, HookRegistration
from quorum.application.calls.hooks import CallDraft, Hook, RequestDraft, ResultDraft
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.hook_points import (
    Abort,
    Ask,
    Continue,
    ContinueWithMessages,
    Finish,
    HookAnswer,
    OnHookError,
    Skip,
    TurnEndAnswer,
)
from quorum.domain.calls.planners import PLANNERS
from quorum.domain.calls.run_state import SeenFile
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.history import AssistantMessage, Message, UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ToolError
from quorum.domain.events.event import CallStarted, ErrorOccurred, HookRan, ReviewRequested
from quorum.domain.events.report import RunStatus
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import NobodyThere
from quorum.domain.settings import AgentTable
from quorum.domain.text.json_value import JsonObject
from tests.application.test_run_agent import Bench as AgentBench
from tests.application.test_run_agent import reads
from tests.application.test_tool_runtime import Bench as RuntimeBench
from tests.application.test_tool_runtime import outcomes, reader
from tests.support.examples import examples
from tests.support.fake_ports import FakePerson, FakeTool, FakeWriter, World

Before = Callable[[CallDraft], HookAnswer]


class Answering(Hook):
    """A hook made of plain answers; what is not given changes nothing."""

    def __init__(
        self,
        *,
        message: Callable[[RequestDraft], HookAnswer] | None = None,
        before: Before | None = None,
        after: Callable[[ResultDraft], HookAnswer] | None = None,
        end: Callable[[Sequence[Message]], TurnEndAnswer] | None = None,
    ) -> None:
        self._message, self._before, self._after, self._end = message, before, after, end

    async def on_message_send(self, request: RequestDraft) -> HookAnswer:
        return self._message(request) if self._message else Continue()

    async def before_tool_call(self, call: CallDraft) -> HookAnswer:
        return self._before(call) if self._before else Continue()

    async def after_tool_call(self, result: ResultDraft) -> HookAnswer:
        return self._after(result) if self._after else Continue()

    async def on_turn_end(self, messages: Sequence[Message]) -> TurnEndAnswer:
        return self._end(messages) if self._end else Finish()


def registered(hook: Hook, name: str = "hook", **more: object) -> HookRegistration:
    return HookRegistration(name=name, hook=hook, **more)  # type: ignore[arg-type]


def noting(log: list[str], name: str, answer: HookAnswer | None = None) -> HookRegistration:
    def note(call: CallDraft) -> HookAnswer:
        log.append(f"{name}{call.context.call_index}")
        return answer or Continue()

    return registered(Answering(before=note), name)


# ------------------------------------------------------------------ order and answers


@pytest.mark.requirement("C04")
async def test_hooks_run_in_the_order_of_registration() -> None:
    log: list[str] = []

    await RuntimeBench(reader(), hooks=[noting(log, n) for n in "ABC"]).run(("read", {}))

    assert log == ["A0", "B0", "C0"]


@pytest.mark.requirement("C11")
async def test_a_lower_priority_runs_first_and_equal_ones_as_registered() -> None:
    log: list[str] = []
    hooks = [noting(log, name) for name in "ABCD"]
    priorities = [0, 5, -1, 0]
    ordered = [
        HookRegistration(name=one.name, hook=one.hook, priority=priority)
        for one, priority in zip(hooks, priorities, strict=True)
    ]

    await RuntimeBench(reader(), hooks=ordered).run(("read", {}))

    assert log == ["C0", "A0", "D0", "B0"]


@pytest.mark.requirement("C05")
async def test_after_a_skip_later_hooks_do_not_run_and_neither_does_the_tool() -> None:
    log: list[str] = []
    world = World()
    bench = RuntimeBench(
        FakeWriter(world), hooks=[noting(log, "A"), noting(log, "B", Skip("not today")), noting(log, "C")]
    )

    result = await bench.run(("write", {"cell": "a", "text": "x"}))

    assert log == ["A0", "B0"]
    assert outcomes(result) == [Outcome.SKIPPED]
    assert "not today" in result.results[0].output
    assert result.results[0].is_rejected
    assert world.cells == {}
    assert bench.person.requests == []


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO])
async def test_a_call_that_a_hook_asks_about_runs_once_the_person_says_so_whatever_the_mode(mode: Mode) -> None:
    log: list[str] = []
    hooks = [noting(log, "A", Ask("it is late")), noting(log, "B", Ask()), noting(log, "C")]
    bench = RuntimeBench(reader(), hooks=hooks, mode=mode)

    result = await bench.run(("read", {}))

    assert log == ["A0", "B0", "C0"]
    (request,) = bench.person.requests
    assert request.reasons == ("the hook A asks about it: it is late; the hook B asks about it",)
    assert outcomes(result) == [Outcome.OK]


async def test_a_call_that_a_hook_asks_about_is_withheld_with_the_reason_where_nobody_is_there() -> None:
    hooks = [noting([], "A", Ask("it is late"))]
    bench = RuntimeBench(reader(), hooks=hooks, mode=Mode.AUTO, person=FakePerson(lambda _asked: NobodyThere()))

    result = await bench.run(("read", {}))

    assert outcomes(result) == [Outcome.REJECTED]
    assert "the hook A asks about it: it is late" in result.results[0].output


async def test_a_call_that_one_hook_asks_about_and_a_later_one_skips_does_not_run() -> None:
    bench = RuntimeBench(reader(), hooks=[noting([], "A", Ask()), noting([], "B", Skip("frozen"))])

    result = await bench.run(("read", {}))

    assert outcomes(result) == [Outcome.SKIPPED]
    assert bench.person.requests == []


async def test_what_a_hook_changes_in_a_call_that_it_asks_about_is_what_is_asked_and_runs() -> None:
    world = World()

    def change(call: CallDraft) -> HookAnswer:
        call.arguments["text"] = "y"
        return Ask()

    bench = RuntimeBench(FakeWriter(world), hooks=[registered(Answering(before=change))], mode=Mode.AUTO)
    await bench.run(("write", {"cell": "a", "text": "x"}))

    assert bench.person.requests[0].packet.call.arguments["text"] == "y"
    assert world.cells == {"a": "y"}


@pytest.mark.requirement("C05")
async def test_an_abort_runs_nothing_and_ends_the_run_as_failed_with_the_reason() -> None:
    bench = AgentBench(
        reads("a", "b"),
        hooks=[registered(Answering(before=lambda call: Abort("enough")), "guard")],
    )

    report = await bench.agent.execute("go")

    assert (report.status, report.exit_code) == (RunStatus.FAILED, 1)
    assert "guard ended the run: enough" in (report.error or "")
    assert [record.outcome for record in report.calls] == [Outcome.NOT_RUN] * 2
    assert bench.paired()
    assert await bench.next_prompt_works()


@pytest.mark.requirement("C06")
async def test_on_message_send_runs_before_every_request() -> None:
    seen: list[int] = []

    def count(request: RequestDraft) -> HookAnswer:
        seen.append(len(request.messages))
        return Continue()

    bench = AgentBench(reads("a"), LlmResponse.from_text("done"), hooks=[registered(Answering(message=count))])

    await bench.agent.execute("go")

    assert len(seen) == len(bench.session.sent) == 2


@pytest.mark.requirement("C07")
async def test_before_hooks_see_all_calls_in_order_before_any_tool_starts_and_after_hooks_follow_all() -> None:
    trace: list[str] = []

    async def work(arguments: JsonObject, context: ToolExecutionContext) -> str:
        trace.append("run")
        await asyncio.sleep(0)
        return "x"

    def before(call: CallDraft) -> HookAnswer:
        trace.append(f"before {call.context.call_index}")
        return Continue()

    def after(result: ResultDraft) -> HookAnswer:
        trace.append(f"after {result.context.call_index}")
        return Continue()

    bench = RuntimeBench(reader(work), hooks=[registered(Answering(before=before, after=after))])

    await bench.run(*[("read", {})] * 3)

    assert trace == ["before 0", "before 1", "before 2", "run", "run", "run", "after 0", "after 1", "after 2"]


@pytest.mark.requirement("C08")
async def test_edited_messages_reach_this_request_and_not_the_history() -> None:
    def stamp(request: RequestDraft) -> HookAnswer:
        request.messages.insert(0, UserMessage("[12:00]"))
        return Continue()

    bench = AgentBench(LlmResponse.from_text("hi"), hooks=[registered(Answering(message=stamp))])

    await bench.agent.execute("hello")

    assert bench.session.sent[0].messages == (UserMessage("[12:00]"), UserMessage("hello"))
    assert bench.conversation.messages[0] == UserMessage("hello")
    ran = [event for event in bench.observer.events if isinstance(event, HookRan)]
    assert ran[0].edited is not None


@pytest.mark.requirement("C08")
async def test_edited_arguments_are_validated_again_and_are_what_is_reviewed_and_run() -> None:
    world = World()

    def redirect(call: CallDraft) -> HookAnswer:
        call.arguments["cell"] = "b"
        return Continue()

    bench = RuntimeBench(FakeWriter(world), hooks=[registered(Answering(before=redirect))])

    await bench.run(("write", {"cell": "a", "text": "x"}))

    assert world.cells == {"b": "x"}
    [asked] = bench.observer.of(ReviewRequested)
    [started] = bench.observer.of(CallStarted)
    assert isinstance(asked, ReviewRequested)
    assert isinstance(started, CallStarted)
    assert asked.packet.call.arguments["cell"] == started.arguments["cell"] == "b"


@pytest.mark.requirement("C08")
async def test_edited_arguments_that_do_not_fit_become_an_error() -> None:
    def spoil(call: CallDraft) -> HookAnswer:
        call.arguments["count"] = "many"
        return Continue()

    result = await RuntimeBench(reader(), hooks=[registered(Answering(before=spoil))]).run(("read", {}))

    assert outcomes(result) == [Outcome.ERROR]
    assert "count" in result.results[0].output


@pytest.mark.requirement("C08")
async def test_an_edited_result_is_what_the_model_sees() -> None:
    def mask(result: ResultDraft) -> HookAnswer:
        result.output = result.output.replace("ok", "**")
        return Continue()

    result = await RuntimeBench(reader(), hooks=[registered(Answering(after=mask))]).run(("read", {}))

    assert result.results[0].output == "** 0"


@pytest.mark.requirement("C09")
async def test_a_hook_at_the_turns_end_makes_the_model_repair_its_answer() -> None:
    def wants_good(messages: Sequence[Message]) -> TurnEndAnswer:
        ends_well = "good" in str(messages[-1])
        return Finish() if ends_well else ContinueWithMessages(("that is bad; again",))

    bench = AgentBench(
        LlmResponse.from_text("bad"),
        LlmResponse.from_text("good"),
        hooks=[registered(Answering(end=wants_good))],
    )

    report = await bench.agent.execute("go")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "good")
    assert len(bench.session.sent) == 2
    assert bench.session.sent[1].messages[-1] == UserMessage("that is bad; again")


@pytest.mark.requirement("C09")
async def test_the_hook_at_the_turns_end_is_not_asked_while_there_are_calls() -> None:
    asked: list[int] = []

    def note(messages: Sequence[Message]) -> TurnEndAnswer:
        asked.append(len(messages))
        return Finish()

    bench = AgentBench(reads("a"), LlmResponse.from_text("done"), hooks=[registered(Answering(end=note))])

    await bench.agent.execute("go")

    assert len(asked) == 1


@pytest.mark.requirement("C11")
async def test_going_on_at_the_turns_end_has_a_limit_that_is_reported() -> None:
    bench = AgentBench(
        *[LlmResponse.from_text(str(n)) for n in range(9)],
        hooks=[registered(Answering(end=lambda _: ContinueWithMessages(("again",))))],
        limits=AgentTable(max_turn_end_retries=2),
    )

    report = await bench.agent.execute("go")

    assert len(bench.session.sent) == 3
    assert report.status is RunStatus.FAILED
    assert "2 times" in (report.error or "")
    assert "are not satisfied: again" in (report.error or "")
    assert any(isinstance(e, ErrorOccurred) and "2 times" in e.message for e in bench.observer.events)


# ------------------------------------------------------------------ skip at the other points


@pytest.mark.requirement("C12")
async def test_a_skipped_request_is_not_sent_and_the_turn_ends_saying_so() -> None:
    bench = AgentBench(
        LlmResponse.from_text("never"),
        hooks=[registered(Answering(message=lambda _: Skip("quiet hours")), "night")],
    )

    report = await bench.agent.execute("go")

    assert bench.session.sent == []
    assert "night withheld the request: quiet hours" in (report.error or "")


@pytest.mark.requirement("C12")
async def test_of_a_skipped_result_the_model_learns_only_that_it_was_withheld() -> None:
    result = await RuntimeBench(reader(), hooks=[registered(Answering(after=lambda _: Skip("secret")))]).run(
        ("read", {})
    )

    assert result.results[0].output == "the result was withheld by a hook: secret"
    assert outcomes(result) == [Outcome.OK]


async def test_a_file_in_a_result_was_seen_unless_a_hook_withheld_it_or_the_call_failed() -> None:
    file = SeenFile(path="/ws/a", sha256="ab")

    async def show(arguments: JsonObject, context: ToolExecutionContext) -> str:
        context.controls.note_seen(file)
        if arguments["cell"] == "bad":
            raise ToolError("bad")
        return "text"

    def after(draft: ResultDraft) -> HookAnswer:
        return Skip("secret") if draft.context.call_index == 1 else Continue()

    bench = RuntimeBench(reader(show), hooks=[registered(Answering(after=after))])
    result = await bench.run(*(("read", {"cell": cell}) for cell in ("a", "b", "bad")))

    assert [each.seen for each in result.results] == [(file,), (), ()]


@pytest.mark.requirement("C12")
async def test_an_abort_after_a_call_withholds_this_result_and_those_after_it() -> None:
    def stop_at_first(result: ResultDraft) -> HookAnswer:
        return Abort("leak") if result.context.call_index == 1 else Continue()

    result = await RuntimeBench(reader(), hooks=[registered(Answering(after=stop_at_first))]).run(
        *[("read", {})] * 3
    )

    assert result.aborted is not None
    assert [("withheld" in r.output) for r in result.results] == [False, True, True]


async def test_a_request_that_a_hook_made_illegal_is_not_sent() -> None:
    def drop_results(request: RequestDraft) -> HookAnswer:
        if len(request.messages) > 2:
            request.messages.pop()
        return Continue()

    bench = AgentBench(reads("a"), hooks=[registered(Answering(message=drop_results))])

    report = await bench.agent.execute("go")

    assert len(bench.session.sent) == 1
    assert "without its result" in (report.error or "")


# ------------------------------------------------------------------ errors, time, conditions


def failing(point: str) -> Answering:
    def fail(subject: object) -> HookAnswer:
        raise ValueError("broken hook")

    return Answering(**{point: fail})  # type: ignore[arg-type]


@pytest.mark.requirement("C11")
async def test_a_failing_hook_before_a_call_closes_and_says_why() -> None:
    result = await RuntimeBench(reader(), hooks=[registered(failing("before"), "bad")]).run(("read", {}))

    assert outcomes(result) == [Outcome.SKIPPED]
    assert "bad failed: broken hook" in result.results[0].output


@pytest.mark.requirement("C11")
async def test_a_failing_hook_before_a_request_closes_and_says_why() -> None:
    bench = AgentBench(LlmResponse.from_text("never"), hooks=[registered(failing("message"), "bad")])

    report = await bench.agent.execute("go")

    assert bench.session.sent == []
    assert "bad failed: broken hook" in (report.error or "")


@pytest.mark.requirement("C11")
async def test_a_failing_hook_after_a_call_keeps_the_original_and_warns() -> None:
    def spoil_then_fail(result: ResultDraft) -> HookAnswer:
        result.output = "half edited"
        raise ValueError("broken hook")

    bench = RuntimeBench(reader(), hooks=[registered(Answering(after=spoil_then_fail), "bad")])

    result = await bench.run(("read", {}))

    assert result.results[0].output == "ok 0"
    [ran] = [event for event in bench.observer.events if isinstance(event, HookRan) and event.answer == "error"]
    assert ran.reason == "broken hook"


@pytest.mark.requirement("C11")
async def test_on_error_overrides_what_the_point_means() -> None:
    open_before = registered(failing("before"), on_error=OnHookError.OPEN)
    closed_after = registered(failing("after"), on_error=OnHookError.CLOSED)

    ran = await RuntimeBench(reader(), hooks=[open_before]).run(("read", {}))
    withheld = await RuntimeBench(reader(), hooks=[closed_after]).run(("read", {}))

    assert outcomes(ran) == [Outcome.OK]
    assert "withheld" in withheld.results[0].output


@pytest.mark.requirement("C11")
async def test_a_hook_that_takes_too_long_has_failed() -> None:
    class Slow(Hook):
        async def before_tool_call(self, call: CallDraft) -> HookAnswer:
            await asyncio.Event().wait()
            return Continue()

    result = await RuntimeBench(reader(), hooks=[registered(Slow(), "slow", timeout_secs=0.01)]).run(
        ("read", {})
    )

    assert outcomes(result) == [Outcome.SKIPPED]
    assert "took longer than 0.01 s" in result.results[0].output


@pytest.mark.requirement("C11")
async def test_a_cancelled_turn_cancels_the_hook_and_every_call_has_its_result() -> None:
    entered = asyncio.Event()

    class Slow(Hook):
        async def before_tool_call(self, call: CallDraft) -> HookAnswer:
            entered.set()
            await asyncio.Event().wait()
            return Continue()

    bench = RuntimeBench(reader(), hooks=[registered(Slow())])
    task = asyncio.create_task(bench.run(("read", {}), ("read", {})))
    await entered.wait()

    task.cancel()
    result = await task

    assert result.interrupted
    assert outcomes(result) == [Outcome.NOT_RUN] * 2


@pytest.mark.requirement("C11")
async def test_conditions_choose_the_calls_a_hook_is_asked_about() -> None:
    log: list[str] = []
    matchers = {
        "tool": HookMatcher(tools=("wri*",)),
        "risk": HookMatcher(risk=RiskLevel.LOW),
        "path": HookMatcher(paths=("/ws/*",)),
    }
    hooks = [
        HookRegistration(name=name, hook=noting(log, name).hook, matcher=matcher)
        for name, matcher in matchers.items()
    ]

    await RuntimeBench(FakeWriter(World()), FakeTool("read", _says), hooks=hooks).run(
        ("read", {}), ("write", {"cell": "a", "text": "x"})
    )

    assert sorted(log) == ["path1", "risk0", "tool1"]


@pytest.mark.requirement("C02")
async def test_any_other_answer_is_a_typed_error() -> None:
    class Odd(Hook):
        async def before_tool_call(self, call: CallDraft) -> HookAnswer:
            return "yes"  # type: ignore[return-value]

    result = await RuntimeBench(reader(), hooks=[registered(Odd(), "odd")]).run(("read", {}))

    assert outcomes(result) == [Outcome.SKIPPED]
    assert "answered str" in result.results[0].output


async def test_a_plain_function_as_a_hook_runs_in_a_thread() -> None:
    threads: list[str] = []

    class Plain(Hook):
        def before_tool_call(self, call: CallDraft) -> HookAnswer:  # type: ignore[override]
            threads.append(threading.current_thread().name)
            return Continue()

    await RuntimeBench(reader(), hooks=[registered(Plain())]).run(("read", {}))

    assert threads
    assert threads[0] != threading.main_thread().name


# ------------------------------------------------------------------ whatever hooks answer


ANSWERS = st.sampled_from(["continue", "edit", "skip", "abort", "fail"])


@pytest.mark.long
@given(
    st.lists(st.tuples(ANSWERS, ANSWERS, st.booleans()), min_size=1, max_size=5),
    st.sampled_from(sorted(PLANNERS)),
    st.integers(0, 40),
)
@examples(120)
async def test_whatever_hooks_answer_and_whenever_it_is_cancelled_every_call_has_one_result_in_order(
    script: list[tuple[str, str, bool]], planner: str, moment: int
) -> None:
    def answer(kind: str) -> HookAnswer:
        match kind:
            case "skip":
                return Skip("s")
            case "abort":
                return Abort("a")
            case "fail":
                raise ValueError("f")
            case _:
                return Continue()

    def before(call: CallDraft) -> HookAnswer:
        kind = script[call.context.call_index][0]
        if kind == "edit":
            call.arguments["cell"] = "edited"
        return answer(kind)

    def after(result: ResultDraft) -> HookAnswer:
        kind = script[result.context.call_index][1]
        if kind == "edit":
            result.output = "edited"
        return answer(kind)

    bench = RuntimeBench(
        reader(),
        FakeWriter(World()),
        planner=PLANNERS[planner],
        hooks=[registered(Answering(before=before, after=after))],
    )
    calls = [("write" if high else "read", {"cell": "a", "text": "x"}) for _, _, high in script]
    task = asyncio.create_task(bench.run(*calls))
    for _ in range(moment):
        await asyncio.sleep(0)
    if moment:
        task.cancel()

    result = await task

    assert [r.tool_use_id for r in result.results] == [f"call-{i}" for i in range(len(script))]
    assert len(result.records) == len(script)


async def _says(arguments: JsonObject, context: ToolExecutionContext) -> str:
    return "x"


@pytest.mark.requirement("C09")
async def test_a_hook_at_the_turns_end_may_answer_with_messages() -> None:
    asked: list[int] = []

    def ask_once(messages: Sequence[Message]) -> TurnEndAnswer:
        asked.append(len(messages))
        return Finish() if len(asked) > 1 else ContinueWithMessages(("first", UserMessage("second")))

    bench = AgentBench(
        LlmResponse.from_text("bad"),
        LlmResponse.from_text("good"),
        hooks=[registered(Answering(end=ask_once))],
    )

    assert (await bench.agent.execute("go")).text == "good"
    assert bench.session.sent[1].messages[-2:] == (UserMessage("first"), UserMessage("second"))


@pytest.mark.parametrize(
    "messages", [(1,), ("",), (UserMessage(""),), (AssistantMessage(LlmResponse.from_text("x")),)]
)
async def test_what_is_no_message_of_the_person_is_the_hooks_failure(messages: tuple[object, ...]) -> None:
    answer = ContinueWithMessages(messages)  # type: ignore[arg-type]
    bench = AgentBench(LlmResponse.from_text("done"), hooks=[registered(Answering(end=lambda _: answer))])

    assert (await bench.agent.execute("go")).status is RunStatus.COMPLETED
    assert any(
        isinstance(e, HookRan) and "answered ContinueWithMessages with" in (e.reason or "")
        for e in bench.observer.events
    )
