import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import cast

import pytest

from quorum.application.calls.hooks import (
    CallDraft,
    CompactionDraft,
    Hook,
    Notification,
    PermissionRequest,
    RequestDraft,
    ResultDraft,
    SessionEnd,
    SessionStart,
    TurnEnd,
)
from quorum.domain.calls.hook_points import Abort, Continue, ContinueWithMessages, Finish, HookPoint, Skip
from quorum.domain.conversation.history import Message, UserMessage
from quorum.domain.errors import HookAborted, HookFailure
from quorum.infrastructure.hooks.registrations import PythonHook
from tests.infrastructure.commands.command_bench import eventually
from tests.support.hook_drafts import (
    a_call_draft,
    a_conversation,
    a_permission_request,
    a_request_draft,
    a_result_draft,
    a_session_start,
)


class Answering:
    """Answers the same at every point."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def on_message_send(self, request: RequestDraft) -> object:
        return self._answer

    async def before_tool_call(self, call: CallDraft) -> object:
        return self._answer

    def after_tool_call(self, result: ResultDraft) -> object:
        return self._answer

    async def on_turn_end(self, messages: Sequence[Message]) -> object:
        return self._answer

    def on_session_start(self, start: SessionStart) -> object:
        return self._answer

    def on_session_end(self, end: SessionEnd) -> object:
        return self._answer

    async def on_permission_request(self, request: PermissionRequest) -> object:
        return self._answer

    def on_notification(self, notification: Notification) -> object:
        return self._answer

    async def on_compaction(self, compaction: CompactionDraft) -> object:
        return self._answer


class Nothing:
    """Has none of the methods."""


class _Before:
    def __init__(self, method: Callable[[CallDraft], object]) -> None:
        self.before_tool_call = method


async def _asked(hook: PythonHook, point: HookPoint) -> object:
    match point:
        case HookPoint.ON_MESSAGE_SEND:
            return await hook.answer(a_request_draft())
        case HookPoint.BEFORE_TOOL_CALL:
            return await hook.answer(a_call_draft())
        case HookPoint.AFTER_TOOL_CALL:
            return await hook.answer(a_result_draft())
        case HookPoint.ON_TURN_END:
            return await hook.answer(TurnEnd(a_conversation()))
        case HookPoint.ON_SESSION_START:
            return await hook.answer(a_session_start())
        case HookPoint.ON_SESSION_END:
            return await hook.answer(SessionEnd(session_id="s", cwd="/ws", reason="closed"))
        case HookPoint.ON_PERMISSION_REQUEST:
            return await hook.answer(a_permission_request())
        case HookPoint.ON_NOTIFICATION:
            return await hook.answer(Notification(kind="question", message="a question"))
        case HookPoint.ON_COMPACTION:
            return await hook.answer(CompactionDraft(trigger="auto"))


_FLOW = (Continue, Skip, Abort)
_ALLOWED: dict[HookPoint, tuple[type, ...]] = {
    HookPoint.ON_MESSAGE_SEND: _FLOW,
    HookPoint.BEFORE_TOOL_CALL: _FLOW,
    HookPoint.AFTER_TOOL_CALL: _FLOW,
    HookPoint.ON_TURN_END: (Finish, ContinueWithMessages, Abort),
    HookPoint.ON_SESSION_START: (Continue,),
    HookPoint.ON_SESSION_END: (Continue,),
    HookPoint.ON_PERMISSION_REQUEST: (Continue, Skip),
    HookPoint.ON_NOTIFICATION: (Continue,),
    HookPoint.ON_COMPACTION: (Continue, Skip),
}
_DEFAULTS = {point: Finish() if point is HookPoint.ON_TURN_END else Continue() for point in HookPoint}


@pytest.mark.parametrize("point", HookPoint)
@pytest.mark.requirement("C03")
async def test_methods_that_are_missing_change_nothing(point: HookPoint):
    assert await _asked(PythonHook(Nothing()), point) == _DEFAULTS[point]
    assert await _asked(PythonHook(Hook()), point) == _DEFAULTS[point]


@pytest.mark.parametrize("point", HookPoint)
@pytest.mark.requirement("C03")
async def test_none_goes_on(point: HookPoint):
    assert await _asked(PythonHook(Answering(None)), point) == _DEFAULTS[point]


@pytest.mark.parametrize("point", HookPoint)
@pytest.mark.parametrize(
    "answer", [Continue(), Skip("s"), Abort("a"), Finish(), ContinueWithMessages(("m",))], ids=repr
)
@pytest.mark.requirement("C02")
async def test_each_point_takes_its_own_answers_only(point: HookPoint, answer: object):
    allowed = isinstance(answer, _ALLOWED[point])
    hook = PythonHook(Answering(answer))

    if allowed:
        assert await _asked(hook, point) == answer
    else:
        with pytest.raises(HookFailure, match=rf"^Answering.{point} answered {type(answer).__name__}; it may"):
            await _asked(hook, point)


@pytest.mark.parametrize("point", HookPoint)
@pytest.mark.parametrize(
    ("answer", "found"), [(True, "bool"), ("skip", "str"), (Skip, "the class Skip"), ([], "list"), (0, "int")]
)
@pytest.mark.requirement("C02")
async def test_any_other_value_is_a_typed_error_that_names_class_method_and_value(
    point: HookPoint, answer: object, found: str
):
    with pytest.raises(HookFailure, match=rf"^Answering\.{point} answered {found}; it may answer "):
        await _asked(PythonHook(Answering(answer)), point)


@pytest.mark.requirement("C02")
async def test_a_reason_and_messages_must_be_texts():
    with pytest.raises(HookFailure, match="answered Skip with a reason that is not text"):
        await _asked(PythonHook(Answering(Skip(cast("str", 5)))), HookPoint.BEFORE_TOOL_CALL)
    with pytest.raises(HookFailure, match="answered ContinueWithMessages with something else than texts"):
        await _asked(
            PythonHook(Answering(ContinueWithMessages(cast("tuple[str, ...]", "abc")))), HookPoint.ON_TURN_END
        )


@pytest.mark.requirement("C08")
async def test_plain_functions_and_coroutines_edit_alike():
    class Editing:
        def before_tool_call(self, call: CallDraft) -> None:
            call.arguments["path"] = "b.txt"

        async def after_tool_call(self, result: ResultDraft) -> None:
            result.output = "edited"

        def on_message_send(self, request: RequestDraft) -> None:
            request.messages.insert(0, UserMessage("first"))

    call, result, request = a_call_draft(), a_result_draft(), a_request_draft()
    hook = PythonHook(Editing())

    await hook.answer(call)
    await hook.answer(result)
    await hook.answer(request)

    assert call.arguments["path"] == "b.txt"
    assert result.output == "edited"
    assert request.messages[0] == UserMessage("first")


@pytest.mark.requirement("C02")
async def test_a_draft_that_cannot_be_used_is_a_typed_error():
    class Spoiling:
        async def before_tool_call(self, call: CallDraft) -> None:
            call.arguments = cast("dict[str, object]", [1])  # type: ignore[assignment]

        async def after_tool_call(self, result: ResultDraft) -> None:
            result.output = cast("str", b"bytes")

        async def on_message_send(self, request: RequestDraft) -> None:
            request.messages.append(cast("Message", "hello"))

    hook = PythonHook(Spoiling())

    with pytest.raises(HookFailure, match=r"Spoiling\.before_tool_call left arguments that are not a JSON"):
        await hook.answer(a_call_draft())
    with pytest.raises(HookFailure, match=r"Spoiling\.after_tool_call left an output that is not text"):
        await hook.answer(a_result_draft())
    with pytest.raises(HookFailure, match=r"Spoiling\.on_message_send left messages that are not a list"):
        await hook.answer(a_request_draft())


async def test_a_plain_function_runs_in_a_thread_of_its_own():
    threads: list[threading.Thread] = []

    await PythonHook(_Before(lambda call: threads.append(threading.current_thread()))).answer(a_call_draft())

    assert threads[0] is not threading.main_thread()
    assert threads[0].daemon


async def test_a_plain_function_that_gives_away_a_coroutine_is_awaited():
    async def later(call: CallDraft) -> Skip:
        return Skip("later")

    hook = PythonHook(_Before(lambda call: later(call)))

    assert await hook.answer(a_call_draft()) == Skip("later")


@pytest.mark.parametrize("raised", [ValueError("boom"), StopIteration("boom"), KeyError("boom")])
@pytest.mark.requirement("C11")
async def test_what_a_hook_raises_is_reported_with_class_and_method(raised: Exception):
    def fail(call: CallDraft) -> None:
        raise raised

    with pytest.raises(HookFailure, match=r"^_Before\.before_tool_call raised .*boom"):
        await PythonHook(_Before(fail)).answer(a_call_draft())


@pytest.mark.requirement("C11")
async def test_an_error_of_our_own_tree_passes_as_it_is():
    def fail(call: CallDraft) -> None:
        raise HookAborted("as it is")

    with pytest.raises(HookAborted, match=r"^as it is$"):
        await PythonHook(_Before(fail)).answer(a_call_draft())


@pytest.mark.requirement("C11")
async def test_a_function_that_hangs_is_left_behind_and_changes_nothing_later():
    started, released, ended = threading.Event(), threading.Event(), threading.Event()

    def hang(call: CallDraft) -> None:
        started.set()
        released.wait(30)
        call.arguments["path"] = "too late"
        ended.set()

    call = a_call_draft()
    task = asyncio.ensure_future(PythonHook(_Before(hang)).answer(call))
    await eventually(started.is_set)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    released.set()
    await eventually(ended.is_set)

    assert call == a_call_draft()
