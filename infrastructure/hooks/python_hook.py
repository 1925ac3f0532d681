"""A hook that is an object of somebody else's class, held to what hooks may do and answer."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import cast

from application.calls.hooks import (
    Hook,
    HookSubject,
    UniformHook,
    explain_refused_answer,
    method_of,
    point_of,
    restore,
    snapshot,
    unusable_edit,
)
from domain.calls.hook import AnyAnswer, ContinueWithMessages, HookPoint, description_of
from domain.errors import HookFailure, QuorumError
from infrastructure.hooks.blocking_call import in_daemon_thread


class PythonHook(UniformHook):
    """Wraps any object that has some of the methods of `Hook`; those it lacks change nothing.

    Plain methods run in a thread, on a copy of the draft whose edits count once the method has returned, so
    that one that hangs can change nothing later. `answer` raises HookFailure, naming class and method,
    where the object raised, answered something else than its point allows (None is Continue or Finish), or
    left behind a draft that cannot be used.
    """

    def __init__(self, inner: object) -> None:
        self._inner = inner

    async def answer(self, subject: HookSubject) -> AnyAnswer:
        """As the object answers; the default of the point where it has no such method."""
        point = point_of(subject)
        default = description_of(point).default
        if not hasattr(self._inner, point):
            return default
        try:
            answer = await _call_hook(cast("Hook", self._inner), subject)
        except QuorumError:
            raise
        except Exception as error:
            raise self._failure(point, f"raised {type(error).__name__}: {error}") from error
        if answer is None:
            answer = default
        if problem := explain_refused_answer(answer, point) or unusable_edit(subject):
            raise self._failure(point, problem)
        if isinstance(answer, ContinueWithMessages):
            return ContinueWithMessages(tuple(answer.messages))
        return cast("AnyAnswer", answer)

    def _failure(self, point: HookPoint, what: str) -> HookFailure:
        return HookFailure(f"{type(self._inner).__name__}.{point.value} {what}")


async def _call_hook(inner: Hook, subject: HookSubject) -> object:
    method: Callable[[], object] = method_of(inner, subject)
    if inspect.iscoroutinefunction(method):
        return await cast("Awaitable[object]", method())
    own = snapshot(subject)
    answer: object = await in_daemon_thread(method_of(inner, own))
    if inspect.isawaitable(answer):  # a plain function that gave away a coroutine
        answer = await answer
    restore(subject, own)  # all of it: the chain refuses what may not be edited
    return answer
