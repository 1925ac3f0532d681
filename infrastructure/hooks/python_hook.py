"""A hook that is an object of somebody else's class, held to what hooks may do and answer."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TypeAlias, TypeVar, cast

from application.calls.hook_edits import restore
from application.calls.hooks import CallDraft, Hook, RequestDraft, ResultDraft
from domain.calls.hook import (
    Abort,
    Continue,
    ContinueWithMessages,
    Finish,
    HookAnswer,
    HookPoint,
    Skip,
    TurnEndAnswer,
)
from domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from domain.errors import HookFailure, QuorumError
from infrastructure.hooks.blocking_call import in_daemon_thread

Method: TypeAlias = Callable[[object], object]
_Subject = TypeVar("_Subject", RequestDraft, CallDraft, ResultDraft, tuple[Message, ...])

_FLOW = (Continue, Skip, Abort)
_TURN_END = (Finish, ContinueWithMessages, Abort)


class PythonHook(Hook):
    """Wraps any object that has some of the four methods; those it lacks change nothing.

    Plain methods run in a thread, on a copy of the draft whose edits count once the method has returned, so
    that one that hangs can change nothing later. Every method raises HookFailure, naming class and method,
    where the object raised, answered something else than its point allows (None is Continue or Finish), or
    left behind a draft that cannot be used.
    """

    def __init__(self, inner: object) -> None:
        self._inner = inner

    async def on_message_send(self, request: RequestDraft) -> HookAnswer:
        """As the object answers; Continue where it has no such method."""
        answer = await self._answer(HookPoint.ON_MESSAGE_SEND, request, Continue(), _FLOW)
        if not _is_list_of(request.messages, (UserMessage, AssistantMessage, ToolResults)):
            raise self._failure(HookPoint.ON_MESSAGE_SEND, "left messages that are no list of messages")
        return cast("HookAnswer", answer)

    async def before_tool_call(self, call: CallDraft) -> HookAnswer:
        """As the object answers; Continue where it has no such method."""
        answer = await self._answer(HookPoint.BEFORE_TOOL_CALL, call, Continue(), _FLOW)
        if not isinstance(call.arguments, dict) or not all(isinstance(name, str) for name in call.arguments):
            raise self._failure(HookPoint.BEFORE_TOOL_CALL, "left arguments that are no dict with names")
        return cast("HookAnswer", answer)

    async def after_tool_call(self, result: ResultDraft) -> HookAnswer:
        """As the object answers; Continue where it has no such method."""
        answer = await self._answer(HookPoint.AFTER_TOOL_CALL, result, Continue(), _FLOW)
        if not isinstance(result.output, str):
            raise self._failure(HookPoint.AFTER_TOOL_CALL, "left an output that is no text")
        return cast("HookAnswer", answer)

    async def on_turn_end(self, messages: Sequence[Message]) -> TurnEndAnswer:
        """As the object answers; Finish where it has no such method."""
        answer = await self._answer(HookPoint.ON_TURN_END, tuple(messages), Finish(), _TURN_END)
        if isinstance(answer, ContinueWithMessages):
            if not _is_list_of(answer.messages, (str,)):
                raise self._failure(HookPoint.ON_TURN_END, "answered ContinueWithMessages without texts")
            return ContinueWithMessages(tuple(answer.messages))
        return cast("TurnEndAnswer", answer)

    async def _answer(
        self, point: HookPoint, subject: _Subject, default: object, allowed: tuple[type, ...]
    ) -> object:
        method: Method | None = getattr(self._inner, point.value, None)
        if method is None:
            return default
        try:
            answer = await _called(method, subject)
        except QuorumError:
            raise
        except Exception as error:
            raise self._failure(point, f"raised {type(error).__name__}: {error}") from error
        if answer is None:
            return default
        if not isinstance(answer, allowed):
            names = ", ".join(kind.__name__ for kind in allowed)
            found = f"the class {answer.__name__}" if isinstance(answer, type) else type(answer).__name__
            raise self._failure(point, f"answered {found}; it may answer {names} or None")
        if isinstance(answer, Skip | Abort) and not isinstance(answer.reason, str):
            raise self._failure(point, f"answered {type(answer).__name__} with a reason that is no text")
        return answer

    def _failure(self, point: HookPoint, what: str) -> HookFailure:
        return HookFailure(f"{type(self._inner).__name__}.{point.value} {what}")


async def _called(method: Method, subject: _Subject) -> object:
    if inspect.iscoroutinefunction(method):
        return await cast("Awaitable[object]", method(subject))
    own = _copied(subject)
    answer = await in_daemon_thread(lambda: method(own))
    if inspect.isawaitable(answer):  # a plain function that gave away a coroutine
        answer = await answer
    _take_over(subject, own)
    return answer


def _copied(subject: _Subject) -> _Subject:
    match subject:
        case RequestDraft():
            return replace(subject, messages=list(subject.messages))
        case CallDraft():
            return replace(subject, arguments=deepcopy(subject.arguments))
        case ResultDraft():
            return replace(subject)
        case _:
            return subject


def _take_over(subject: object, edited: object) -> None:
    drafts = RequestDraft | CallDraft | ResultDraft
    if isinstance(subject, drafts) and isinstance(edited, drafts):
        restore(subject, edited)  # all of it: the chain refuses what may not be edited


def _is_list_of(value: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, kinds) for one in value)
