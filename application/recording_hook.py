"""A hook for tests of what hooks see: it remembers everything it is shown and answers from a script."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from quorum.application.calls.hooks import (
    CallDraft,
    Hook,
    HookSubject,
    RequestDraft,
    ResultDraft,
    TurnEnd,
    copy_subject,
    find_point,
)
from quorum.domain.calls.hook_points import Continue, Finish, HookAnswer, HookPoint, TurnEndAnswer
from quorum.domain.conversation.history import Message

_Draft = TypeVar("_Draft")
_Answer = TypeVar("_Answer", HookAnswer, TurnEndAnswer)
Step: TypeAlias = _Answer | Exception | Callable[[_Draft], _Answer]


class RecordingHook(Hook):
    """Remembers what it is shown, as copies that no later edit changes, and answers from a script.

    The script of a point is a list of steps, one for each time it is asked: an answer, an exception to
    raise, or a function that may edit the draft and returns the answer. After its last step, and without
    one, it changes nothing.
    """

    def __init__(
        self,
        *,
        on_message_send: Sequence[Step[HookAnswer, RequestDraft]] = (),
        before_tool_call: Sequence[Step[HookAnswer, CallDraft]] = (),
        after_tool_call: Sequence[Step[HookAnswer, ResultDraft]] = (),
        on_turn_end: Sequence[Step[TurnEndAnswer, Sequence[Message]]] = (),
    ) -> None:
        self.seen: list[HookSubject] = []
        self._requests = deque(on_message_send)
        self._calls = deque(before_tool_call)
        self._results = deque(after_tool_call)
        self._turn_ends = deque(on_turn_end)

    @property
    def points(self) -> tuple[HookPoint, ...]:
        """The points it was asked at, in order."""
        return tuple(map(find_point, self.seen))

    async def on_message_send(self, request: RequestDraft) -> HookAnswer:
        self.seen.append(copy_subject(request))
        return _take_next(self._requests, request, Continue())

    async def before_tool_call(self, call: CallDraft) -> HookAnswer:
        self.seen.append(copy_subject(call))
        return _take_next(self._calls, call, Continue())

    async def after_tool_call(self, result: ResultDraft) -> HookAnswer:
        self.seen.append(copy_subject(result))
        return _take_next(self._results, result, Continue())

    async def on_turn_end(self, messages: Sequence[Message]) -> TurnEndAnswer:
        self.seen.append(copy_subject(TurnEnd(tuple(messages))))
        return _take_next(self._turn_ends, messages, Finish())


def _take_next(script: deque[Step[_Answer, _Draft]], draft: _Draft, default: _Answer) -> _Answer:
    if not script:
        return default
    step = script.popleft()
    if isinstance(step, Exception):
        raise step
    return step(draft) if callable(step) else step
