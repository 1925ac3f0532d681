"""Runs hooks in their order, bounded in time, and says what a failing one means."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import fnmatchcase

from application.event_stream import EventStream
from application.hooks import CallDraft, HookMatcher, HookRegistration, RequestDraft, ResultDraft
from domain.conversation import Message, unpaired_call
from domain.errors import HookAborted, HookFailure, RequestSkipped
from domain.events import HookRan
from domain.execution import ToolExecutionContext
from domain.hook import (
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
from domain.json_value import JsonObject

_NAMES: Mapping[type, str] = {
    Continue: "continue",
    Skip: "skip",
    Abort: "abort",
    Finish: "finish",
    ContinueWithMessages: "continue_with_messages",
}


@dataclass(frozen=True, slots=True)
class _Ran:
    """What one hook did: its answer, or the error that came instead."""

    answer: object
    error: str | None = None


class HookChain:
    """The hooks of a run: lower priority first, then as registered; each sees the edits of those before it."""

    def __init__(self, registrations: Sequence[HookRegistration], events: EventStream) -> None:
        self._registrations = tuple(sorted(registrations, key=lambda one: one.priority))
        self._events = events

    async def on_message_send(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages as this one request shall carry them. Raises RequestSkipped and HookAborted."""
        draft = RequestDraft(list(messages))
        for one in self._at(HookPoint.ON_MESSAGE_SEND):
            before = list(draft.messages)
            ran = await self._ran(one, one.hook.on_message_send, draft, (Continue, Skip, Abort))
            if ran.error is not None:
                draft.messages = before
            edited: JsonObject | None = {"messages": len(draft.messages)} if draft.messages != before else None
            answer = await self._heard(HookPoint.ON_MESSAGE_SEND, one, ran, OnHookError.CLOSED, None, edited)
            if isinstance(answer, Skip):
                raise RequestSkipped(f"the hook {one.name} withheld the request: {answer.reason}")
        edited_at_all = len(draft.messages) != len(messages) or any(
            now is not before for now, before in zip(draft.messages, messages, strict=True)
        )
        if edited_at_all and (call_id := unpaired_call(draft.messages)) is not None:
            raise RequestSkipped(f"the hooks left the call {call_id} without its result, so nothing was sent")
        return tuple(draft.messages)

    async def before_tool_call(self, draft: CallDraft) -> HookAnswer:
        """Continue or Skip; `draft.arguments` may have changed. Raises HookAborted."""
        for one in self._matching(HookPoint.BEFORE_TOOL_CALL, draft):
            before = deepcopy(draft.arguments)
            ran = await self._ran(one, one.hook.before_tool_call, draft, (Continue, Skip, Abort))
            if ran.error is not None:
                draft.arguments = before
            edited: JsonObject | None = {"arguments": draft.arguments} if draft.arguments != before else None
            answer = await self._heard(
                HookPoint.BEFORE_TOOL_CALL, one, ran, OnHookError.CLOSED, draft.context, edited
            )
            if isinstance(answer, Skip):
                return Skip(answer.reason or f"the hook {one.name} gave no reason")
        return Continue()

    async def after_tool_call(self, draft: ResultDraft) -> HookAnswer:
        """Continue or Skip; `draft.output` may have changed. Raises HookAborted."""
        for one in self._matching(HookPoint.AFTER_TOOL_CALL, draft):
            before = draft.output
            ran = await self._ran(one, one.hook.after_tool_call, draft, (Continue, Skip, Abort))
            if ran.error is not None:
                draft.output = before
            edited: JsonObject | None = {"output": draft.output} if draft.output != before else None
            answer = await self._heard(
                HookPoint.AFTER_TOOL_CALL, one, ran, OnHookError.OPEN, draft.context, edited
            )
            if isinstance(answer, Skip):
                return answer
        return Continue()

    async def on_turn_end(self, messages: tuple[Message, ...]) -> TurnEndAnswer:
        """Finish, or the messages of the first hook that wants to go on. Raises HookAborted."""
        for one in self._at(HookPoint.ON_TURN_END):
            ran = await self._ran(
                one, one.hook.on_turn_end, messages, (Finish, ContinueWithMessages, Abort), default=Finish()
            )
            answer = await self._heard(HookPoint.ON_TURN_END, one, ran, OnHookError.OPEN, None, None)
            if isinstance(answer, ContinueWithMessages) and answer.messages:
                return answer
        return Finish()

    # ---------------------------------------------------------------- one hook

    async def _ran(
        self,
        one: HookRegistration,
        method: Callable[..., Awaitable[object]],
        subject: object,
        allowed: tuple[type, ...],
        *,
        default: object = Continue(),
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
            told = f"took longer than {one.timeout_secs:g} s" if timer.expired() else str(error)
            return _Ran(default, told)
        except Exception as error:  # noqa: BLE001 - a hook is somebody else's code; what it means is decided below
            return _Ran(default, str(error) or type(error).__name__)
        if answer is None:
            return _Ran(default)
        if not isinstance(answer, allowed):
            names = ", ".join(kind.__name__ for kind in allowed)
            return _Ran(default, f"answered {type(answer).__name__}; it may answer {names}")
        return _Ran(answer)

    async def _heard(
        self,
        point: HookPoint,
        one: HookRegistration,
        ran: _Ran,
        usual: OnHookError,
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
        if ran.error is None or (one.on_error or usual) is OnHookError.OPEN:
            return ran.answer
        told = str(HookFailure(f"the hook {one.name} failed: {ran.error}"))
        if point is HookPoint.ON_TURN_END:
            raise HookAborted(told)
        return Skip(told)

    def _at(self, point: HookPoint) -> list[HookRegistration]:
        return [one for one in self._registrations if point in one.points]

    def _matching(self, point: HookPoint, draft: CallDraft | ResultDraft) -> list[HookRegistration]:
        return [one for one in self._at(point) if _matches(one.matcher, draft)]


def _matches(matcher: HookMatcher, draft: CallDraft | ResultDraft) -> bool:
    if matcher.tools and not any(fnmatchcase(draft.tool, pattern) for pattern in matcher.tools):
        return False
    if matcher.risk is not None and matcher.risk is not draft.risk:
        return False
    return not matcher.paths or any(
        fnmatchcase(path, pattern) for path in draft.paths for pattern in matcher.paths
    )
