"""Runs hooks in their order, bounded in time, and says what a failing one means."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import fnmatchcase

from application.calls.hook_edits import Draft, edit_of, refused_answer, refused_edit, restore, snapshot
from application.calls.hooks import CallDraft, HookMatcher, HookRegistration, RequestDraft, ResultDraft
from application.events.event_bus import EventBus
from domain.calls.execution import ToolExecutionContext
from domain.calls.hook import (
    Abort,
    Continue,
    ContinueWithMessages,
    Finish,
    HookAnswer,
    HookPoint,
    OnHookError,
    Skip,
    TurnEndAnswer,
)
from domain.conversation.history import Message, unpaired_call
from domain.errors import HookAborted, HookFailure, RequestSkipped
from domain.events.event import HookRan
from domain.text.json_value import JsonObject

_NAMES: Mapping[type, str] = {
    Continue: "continue",
    Skip: "skip",
    Abort: "abort",
    Finish: "finish",
    ContinueWithMessages: "continue_with_messages",
}


_FLOW = (Continue, Skip, Abort)
_TURN_END = (Finish, ContinueWithMessages, Abort)
# What a failing hook means where its settings do not say.
_USUAL: Mapping[HookPoint, OnHookError] = {
    HookPoint.ON_MESSAGE_SEND: OnHookError.CLOSED,
    HookPoint.BEFORE_TOOL_CALL: OnHookError.CLOSED,
    HookPoint.AFTER_TOOL_CALL: OnHookError.OPEN,
    HookPoint.ON_TURN_END: OnHookError.OPEN,
}


@dataclass(frozen=True, slots=True)
class _Ran:
    """What one hook did: its answer, or the error that came instead."""

    answer: object
    error: str | None = None


class HookChain:
    """The hooks of a run: lower priority first, then as registered; each sees the edits of those before it."""

    def __init__(self, registrations: Sequence[HookRegistration], events: EventBus) -> None:
        self._registrations = tuple(sorted(registrations, key=lambda one: one.priority))
        self._events = events

    async def on_message_send(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages as this one request shall carry them. Raises RequestSkipped and HookAborted."""
        draft = RequestDraft(list(messages))
        for one in self._at(HookPoint.ON_MESSAGE_SEND):
            answer = await self._asked(HookPoint.ON_MESSAGE_SEND, one, one.hook.on_message_send, draft)
            if isinstance(answer, Skip):
                raise RequestSkipped(f"the hook {one.name} withheld the request: {answer.reason}")
        edited_at_all = len(draft.messages) != len(messages) or any(
            now is not before for now, before in zip(draft.messages, messages, strict=True)
        )
        if edited_at_all and (call_id := unpaired_call(draft.messages)) is not None:
            raise RequestSkipped(f"the hooks left the call {call_id} without its result, so nothing was sent")
        return tuple(draft.messages)

    async def before_tool_call(
        self, draft: CallDraft, paths_of: Callable[[JsonObject], tuple[str, ...]] | None = None
    ) -> HookAnswer:
        """Continue or Skip; `draft.arguments` may have changed. Raises HookAborted.

        `paths_of` tells the paths of edited arguments, for the conditions of the hooks that follow.
        """
        for one in self._at(HookPoint.BEFORE_TOOL_CALL):
            if not _matches(one.matcher, draft):
                continue
            before = deepcopy(draft.arguments)
            answer = await self._asked(HookPoint.BEFORE_TOOL_CALL, one, one.hook.before_tool_call, draft)
            if isinstance(answer, Skip):
                return Skip(answer.reason or f"the hook {one.name} gave no reason")
            if paths_of is not None and draft.arguments != before:
                draft.paths = paths_of(draft.arguments)
        return Continue()

    def concerns(self, draft: ResultDraft) -> bool:
        """Whether any hook is to be asked about this result."""
        return any(_matches(one.matcher, draft) for one in self._at(HookPoint.AFTER_TOOL_CALL))

    async def after_tool_call(self, draft: ResultDraft) -> HookAnswer:
        """Continue or Skip; `draft.output` may have changed. Raises HookAborted."""
        for one in self._at(HookPoint.AFTER_TOOL_CALL):
            if _matches(one.matcher, draft):
                answer = await self._asked(HookPoint.AFTER_TOOL_CALL, one, one.hook.after_tool_call, draft)
                if isinstance(answer, Skip):
                    return answer
        return Continue()

    async def on_turn_end(self, messages: tuple[Message, ...]) -> TurnEndAnswer:
        """Finish, or the messages of the first hook that wants to go on. Raises HookAborted."""
        point = HookPoint.ON_TURN_END
        for one in self._at(point):
            ran = await self._ran(one, one.hook.on_turn_end, messages, _TURN_END, default=Finish())
            answer = await self._heard(point, one, ran, None, None)
            if isinstance(answer, ContinueWithMessages):
                return answer
        return Finish()

    # ---------------------------------------------------------------- one hook

    async def _asked(
        self,
        point: HookPoint,
        one: HookRegistration,
        method: Callable[..., Awaitable[object]],
        draft: Draft,
    ) -> object:
        """Have one hook look at a draft, and answer what follows from it.

        An edit that cannot be honoured is a failure of the hook; the edits of a hook that failed do not count.
        """
        before = snapshot(draft)
        ran = await self._ran(one, method, draft, _FLOW, default=Continue())
        if ran.error is None and (problem := refused_edit(draft, before)) is not None:
            ran = _Ran(Continue(), problem)
        if ran.error is not None:
            restore(draft, before)
        context = None if isinstance(draft, RequestDraft) else draft.context
        return await self._heard(point, one, ran, context, edit_of(draft, before))

    async def _ran(
        self,
        one: HookRegistration,
        method: Callable[..., Awaitable[object]],
        subject: object,
        allowed: tuple[type, ...],
        *,
        default: object,
    ) -> _Ran:
        try:
            async with asyncio.timeout(one.timeout_secs) as timer:
                if inspect.iscoroutinefunction(method):
                    answer = await method(subject)
                else:
                    answer = await asyncio.to_thread(method, subject)
                    if inspect.isawaitable(answer):
                        answer = await answer
        except TimeoutError as error:
            message = f"took longer than {one.timeout_secs:g} s" if timer.expired() else str(error)
            return _Ran(default, message)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return _Ran(default, "was cancelled from within")
        except SystemExit as error:
            return _Ran(default, f"tried to end the process ({error})")
        except Exception as error:  # noqa: BLE001 - a hook is somebody else's code; what it means is decided below
            return _Ran(default, str(error) or type(error).__name__)
        if answer is None:
            return _Ran(default)
        problem = refused_answer(answer, allowed)
        return _Ran(answer) if problem is None else _Ran(default, problem)

    async def _heard(
        self,
        point: HookPoint,
        one: HookRegistration,
        ran: _Ran,
        context: ToolExecutionContext | None,
        edited: JsonObject | None,
    ) -> object:
        """Record what the hook did, and answer what follows from it. Raises HookAborted."""
        reason = ran.error or getattr(ran.answer, "reason", None)
        await self._events.record(
            HookRan(
                point=point,
                hook=one.name,
                answer="error" if ran.error is not None else _NAMES[type(ran.answer)],
                reason=reason or None,
                context=context,
                edited=edited,
            )
        )
        if isinstance(ran.answer, Abort):
            raise HookAborted(f"the hook {one.name} ended the run: {ran.answer.reason}")
        if ran.error is None or (one.on_error or _USUAL[point]) is OnHookError.OPEN:
            return ran.answer
        message = str(HookFailure(f"the hook {one.name} failed: {ran.error}"))
        if point is HookPoint.ON_TURN_END:
            raise HookAborted(message)
        return Skip(message)

    def _at(self, point: HookPoint) -> list[HookRegistration]:
        return [one for one in self._registrations if point in one.points]


def _matches(matcher: HookMatcher, draft: CallDraft | ResultDraft) -> bool:
    if matcher.tools and not any(fnmatchcase(draft.tool, pattern) for pattern in matcher.tools):
        return False
    if matcher.risk is not None and matcher.risk is not draft.risk:
        return False
    return not matcher.paths or any(
        fnmatchcase(path, pattern) for path in draft.paths for pattern in matcher.paths
    )
