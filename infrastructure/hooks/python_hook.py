"""A hook that is an object of somebody else's class, held to what hooks may do and answer."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import cast

from quorum.application.calls.hooks import (
    Hook,
    HookSubject,
    UniformHook,
    bind_method,
    copy_subject,
    explain_refused_answer,
    explain_unusable_edit,
    find_point,
    restore,
)
from quorum.domain.calls.hook import AnyAnswer, ContinueWithMessages, HookPoint, describe_point
from quorum.domain.errors import HookFailure, QuorumError
from quorum.infrastructure.hooks.blocking_call import run_in_daemon_thread


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
        point = find_point(subject)
        default = describe_point(point).default
        if not hasattr(self._inner, point):
            return default
        try:
            answer = await _call_hook(cast("Hook", self._inner), subject)
        except QuorumError:
            raise
        except Exception as error:
            raise self._build_failure(point, f"raised {type(error).__name__}: {error}") from error
        if answer is None:
            answer = default
        if problem := explain_refused_answer(answer, point) or explain_unusable_edit(subject):
            raise self._build_failure(point, problem)
        if isinstance(answer, ContinueWithMessages):
            return ContinueWithMessages(tuple(answer.messages))
        return cast("AnyAnswer", answer)

    def _build_failure(self, point: HookPoint, what: str) -> HookFailure:
        return HookFailure(f"{type(self._inner).__name__}.{point.value} {what}")


async def _call_hook(inner: Hook, subject: HookSubject) -> object:
    method: Callable[[], object] = bind_method(inner, subject)
    if inspect.iscoroutinefunction(method):
        return await cast("Awaitable[object]", method())
    own = copy_subject(subject)
    answer: object = await run_in_daemon_thread(bind_method(inner, own))
    if inspect.isawaitable(answer):  # a plain function that gave away a coroutine
        answer = await answer
    restore(subject, own)  # all of it: the chain refuses what may not be edited
    return answer
