"""Runs hooks in their order, at the points and for the calls they are registered for, bounded in time.

It also says what a failing hook means.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from operator import is_
from pathlib import Path
from typing import cast

from msgspec import Struct

from quorum.application.calls.hooks import (
    CallDraft,
    CompactionDraft,
    Hook,
    HookSubject,
    Notification,
    PermissionRequest,
    RequestDraft,
    ResultDraft,
    SessionEnd,
    SessionStart,
    TurnEnd,
    UniformHook,
    bind_method,
    copy_subject,
    describe_edit,
    explain_refused_answer,
    explain_refused_edit,
    find_call,
    find_point,
    restore,
)
from quorum.application.event_bus import EventBus
from quorum.domain.calls.hook_points import (
    SESSION_END_SECS,
    Abort,
    AnyAnswer,
    Ask,
    Continue,
    ContinueWithMessages,
    Finish,
    HookAnswer,
    HookPoint,
    OnHookError,
    Skip,
    TurnEndAnswer,
    describe_point,
    explain_ask,
)
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.history import Message, find_unpaired_call
from quorum.domain.errors import HookAborted, HookFailure, LedgerError, RequestSkipped
from quorum.domain.events.event import HookRan, NoticeGiven
from quorum.domain.events.report import RunReport
from quorum.domain.text.json_value import JsonObject


class HookMatcher(Struct, frozen=True, kw_only=True):
    """Which calls a hook is asked about. Empty means all; `tools` and `paths` are glob patterns."""

    tools: tuple[str, ...] = ()
    risk: RiskLevel | None = None
    paths: tuple[str, ...] = ()


class HookRegistration(Struct, frozen=True, kw_only=True):
    """A hook in its place: lower `priority` runs first, then the order of registration.

    It is asked at its `points` only.
    `on_error` of None means what the point means by itself: see `PointDescription.on_error`.
    """

    name: str
    hook: Hook | UniformHook
    priority: int = 0
    timeout_secs: float = 30.0
    on_error: OnHookError | None = None
    matcher: HookMatcher = HookMatcher()
    points: frozenset[HookPoint] = frozenset(HookPoint)


_NAMES: Mapping[type, str] = {
    Continue: "continue",
    Ask: "ask",
    Skip: "skip",
    Abort: "abort",
    Finish: "finish",
    ContinueWithMessages: "continue_with_messages",
}


class _Ran(Struct, frozen=True):
    """What one hook did: its answer, or the error that came instead."""

    answer: AnyAnswer
    error: str | None = None


class HookChain:
    """The hooks of a run: lower priority first, then as registered; each sees the edits of those before it."""

    def __init__(self, registrations: Sequence[HookRegistration], events: EventBus) -> None:
        self._registrations = tuple(sorted(registrations, key=lambda one: one.priority))
        self._events = events

    async def on_message_send(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages as this one request shall carry them. Raises RequestSkipped and HookAborted."""
        draft = RequestDraft(list(messages))
        await self.ask(draft)
        return tuple(draft.messages)

    async def before_tool_call(
        self, draft: CallDraft, paths_of: Callable[[JsonObject], Awaitable[tuple[str, ...]]] | None = None
    ) -> HookAnswer:
        """Continue, Ask or Skip; `draft.arguments` may have changed. Raises HookAborted.

        `paths_of` tells the paths of edited arguments, for the conditions of the hooks that follow.
        """
        answer = await self.ask(draft, paths_of)
        return answer if isinstance(answer, Ask | Skip) else Continue()

    def watches(self, draft: CallDraft) -> bool:
        """Whether any hook is to be asked before or after this call."""
        points = (HookPoint.BEFORE_TOOL_CALL, HookPoint.AFTER_TOOL_CALL)
        return any(_matches(one.matcher, draft) for point in points for one in self._list_hooks(point))

    def concerns(self, draft: ResultDraft) -> bool:
        """Whether any hook is to be asked about this result."""
        return any(_matches(one.matcher, draft) for one in self._list_hooks(HookPoint.AFTER_TOOL_CALL))

    async def after_tool_call(self, draft: ResultDraft) -> HookAnswer:
        """Continue or Skip; `draft.output` may have changed. Raises HookAborted."""
        answer = await self.ask(draft)
        return answer if isinstance(answer, Skip) else Continue()

    async def on_permission_request(self, request: PermissionRequest) -> HookAnswer:
        """Continue or Skip; `request.note` may have been added."""
        answer = await self.ask(request)
        return answer if isinstance(answer, Skip) else Continue()

    async def on_compaction(self, draft: CompactionDraft) -> HookAnswer:
        """Continue or Skip; `draft.focus` may have changed."""
        answer = await self.ask(draft)
        return answer if isinstance(answer, Skip) else Continue()

    async def on_turn_end(self, messages: tuple[Message, ...]) -> TurnEndAnswer:
        """Finish, or the messages of the first hook that wants to continue. Raises HookAborted."""
        answer = await self.ask(TurnEnd(messages))
        return answer if isinstance(answer, ContinueWithMessages) else Finish()

    async def ask(
        self, subject: HookSubject, paths_of: Callable[[JsonObject], Awaitable[tuple[str, ...]]] | None = None
    ) -> AnyAnswer:
        """The first answer other than the default of the subject's point, or that; hooks may have edited it.
        Ask keeps no later hook from being asked: it stands where none of them answers otherwise.

        Raises HookAborted, and RequestSkipped for a request that is not to be sent, or cannot be as the hooks
        left it. `paths_of` is that of `before_tool_call`.
        """
        sent = tuple(subject.messages) if isinstance(subject, RequestDraft) else ()
        answer, hook = await self._ask_until_first_answer(subject, paths_of)
        match subject:
            case RequestDraft() if isinstance(answer, Skip):
                raise RequestSkipped(f"the hook {hook} withheld the request: {answer.reason}")
            case RequestDraft(messages):
                _check_pairs(messages, sent)
            case CallDraft() | PermissionRequest() | CompactionDraft() if isinstance(answer, Skip):
                return Skip(answer.reason or f"the hook {hook} gave no reason")
            case _:
                pass  # the answer says all
        return answer

    async def _ask_until_first_answer(
        self, subject: HookSubject, paths_of: Callable[[JsonObject], Awaitable[tuple[str, ...]]] | None
    ) -> tuple[AnyAnswer, str]:
        """The first answer that is neither the default nor Ask, and the name of the hook that gave it."""
        default, asks = describe_point(find_point(subject)).default, list[str]()
        for one in self._list_hooks(find_point(subject)):
            if not _is_asked(one, subject):
                continue
            before = copy_subject(subject)
            answer = await self._ask_hook(one, subject, before)
            if isinstance(answer, Ask):
                asks.append(explain_ask(one.name, answer.reason))
            elif not isinstance(answer, type(default)):
                return answer, one.name
            if paths_of is not None and isinstance(subject, CallDraft) and subject != before:
                subject.paths = await paths_of(subject.arguments)
        return (Ask("; ".join(asks)) if asks else default), ""

    # ---------------------------------------------------------------- one hook

    async def _ask_hook(self, one: HookRegistration, subject: HookSubject, before: HookSubject) -> AnyAnswer:
        """Have one hook look at the subject, and answer what follows from it.

        An edit that cannot be honoured is a failure of the hook; the edits of a hook that failed do not count.
        """
        point = find_point(subject)
        ran = await self._run_hook(one, subject)
        if ran.error is None and (problem := explain_refused_edit(subject, before)) is not None:
            ran = _Ran(describe_point(point).default, problem)
        if ran.error is not None:
            restore(subject, before)
        call = find_call(subject)
        reason = ran.error or getattr(ran.answer, "reason", None)
        await self._events.record(
            HookRan(
                point=point,
                hook=one.name,
                answer="error" if ran.error is not None else _NAMES[type(ran.answer)],
                reason=reason or None,
                context=None if call is None else call.context,
                edited=describe_edit(subject, before),
            )
        )
        if isinstance(ran.answer, Abort):
            raise HookAborted(f"the hook {one.name} ended the run: {ran.answer.reason}")
        return ran.answer if ran.error is None else _handle_failure(one, point, ran.error)

    async def _run_hook(self, one: HookRegistration, subject: HookSubject) -> _Ran:
        point = find_point(subject)
        default = describe_point(point).default
        hook = one.hook
        method = partial(hook.answer, subject) if isinstance(hook, UniformHook) else bind_method(hook, subject)
        try:
            async with asyncio.timeout(one.timeout_secs) as timer:
                answer: object
                if inspect.iscoroutinefunction(method):
                    answer = await method()
                else:
                    answer = await asyncio.to_thread(method)
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
        problem = explain_refused_answer(answer, point)
        return _Ran(cast("AnyAnswer", answer)) if problem is None else _Ran(default, problem)

    def _list_hooks(self, point: HookPoint) -> list[HookRegistration]:
        return [one for one in self._registrations if point in one.points]


def _handle_failure(one: HookRegistration, point: HookPoint, error: str) -> AnyAnswer:
    """What follows from a hook that failed. Raises HookAborted where it closes and nothing can be left out."""
    description = describe_point(point)
    if (one.on_error or description.on_error) is OnHookError.OPEN:
        return description.default
    message = str(HookFailure(f"the hook {one.name} failed: {error}"))
    if Skip in description.answers:
        return Skip(message)
    if Abort in description.answers:
        raise HookAborted(message)
    return description.default  # what happened cannot be held back


def _check_pairs(messages: Sequence[Message], before: Sequence[Message]) -> None:
    """Raise RequestSkipped where the hooks left a call without its result."""
    kept = len(messages) == len(before) and all(map(is_, messages, before))
    if not kept and (call_id := find_unpaired_call(messages)) is not None:
        raise RequestSkipped(f"the hooks left the call {call_id} without its result, so nothing was sent")


def _is_asked(one: HookRegistration, subject: HookSubject) -> bool:
    is_wanted = not isinstance(one.hook, UniformHook) or one.hook.wants(subject)
    return is_wanted and _matches(one.matcher, find_call(subject))


def _matches(matcher: HookMatcher, draft: CallDraft | ResultDraft | PermissionRequest | None) -> bool:
    """Whether the conditions fit the call; they say nothing of what is about no call."""
    if draft is None:
        return True
    if matcher.tools and not any(fnmatchcase(draft.tool, pattern) for pattern in matcher.tools):
        return False
    if matcher.risk is not None and matcher.risk is not draft.risk:
        return False
    return not matcher.paths or any(
        fnmatchcase(path, pattern) for path in draft.paths for pattern in matcher.paths
    )


_MOST_CONTEXT = 10_000
_PREAMBLE = (
    "[Hooks of the person's settings added the following to the session. It is context, not a request.]\n"
)


class SessionHooks:
    """Asks the hooks of one session. None of them can hold up a question, a turn or, for long, its end."""

    def __init__(
        self, registrations: Sequence[HookRegistration], events: EventBus, session_id: str, cwd: Path
    ) -> None:
        self._chain = HookChain(registrations, events)
        self._events = events
        self._session_id = session_id
        self._cwd = str(cwd)
        self._has_begun = False
        self._notifying: set[asyncio.Task[None]] = set()

    async def begin(self, source: str, model: str, mode: str) -> str:
        """Ask the hooks at the beginning. Returns what the model is to read of them; empty where nothing."""
        self._has_begun = True
        start = SessionStart(session_id=self._session_id, source=source, cwd=self._cwd, model=model, mode=mode)
        await self._chain.ask(start)
        context = self._events.hide(start.context.strip())
        if len(context) > _MOST_CONTEXT:
            message = f"hooks added {len(context):,} characters to the session; it is given {_MOST_CONTEXT:,}"
            await self._events.record(NoticeGiven(message=message))
        return f"{_PREAMBLE}{context[:_MOST_CONTEXT]}" if context else ""

    def notify(self, kind: str, message: str) -> None:
        """Tell the hooks, while everything goes on."""
        if not self._has_begun:  # a session that is only read, or not announced yet
            return
        task = asyncio.create_task(self._notify(Notification(kind=kind, message=message)), name="notification")
        self._notifying.add(task)
        task.add_done_callback(self._notifying.discard)

    async def _notify(self, notification: Notification) -> None:
        with suppress(LedgerError):  # whoever records next says it
            await self._chain.ask(notification)

    def notify_turn_end(self, report: RunReport) -> None:
        """Tell the hooks that a turn has ended."""
        self.notify("turn_ended", f"the turn has ended: {report.status.value}")

    async def end(self, reason: str) -> None:
        """Ask the hooks at the end, once. What is not done in time is cut off, and that is recorded."""
        if not self._has_begun:
            return
        self._has_begun = False
        try:
            async with asyncio.timeout(SESSION_END_SECS):
                if self._notifying:  # one that hangs leaves the hooks at the end their time
                    await asyncio.wait(self._notifying, timeout=SESSION_END_SECS / 2)
                end = SessionEnd(session_id=self._session_id, cwd=self._cwd, reason=reason)
                await asyncio.gather(self._chain.ask(end), *self._notifying)
        except TimeoutError:
            message = f"hooks were cut off at the end of the session: they have {SESSION_END_SECS:g} s"
            await self._events.record(NoticeGiven(message=message))
