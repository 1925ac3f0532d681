"""A hook for tests of what hooks see: it remembers everything it is shown and answers from a script."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias, TypeVar, assert_never

from msgspec import Struct

from quorum.application.calls.hooks import CallDraft, Hook, HookSubject, RequestDraft, ResultDraft, TurnEnd
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.hook import Continue, Finish, HookAnswer, HookPoint, TurnEndAnswer
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.history import Message
from quorum.domain.text.json_value import JsonObject, JsonValue


class SeenRequest(Struct, frozen=True):
    """A request as it was before this hook answered."""

    messages: tuple[Message, ...]


class SeenCall(Struct, frozen=True, kw_only=True):
    """A call as it was before this hook answered. Lists in the arguments have become tuples."""

    context: ToolExecutionContext
    tool: str
    risk: RiskLevel
    arguments: JsonObject
    paths: tuple[str, ...]


class SeenResult(Struct, frozen=True, kw_only=True):
    """A result as it was before this hook answered."""

    context: ToolExecutionContext
    tool: str
    risk: RiskLevel
    outcome: Outcome
    output: str
    paths: tuple[str, ...]


class SeenTurnEnd(Struct, frozen=True):
    """The messages at the end of a turn."""

    messages: tuple[Message, ...]


Seen: TypeAlias = SeenRequest | SeenCall | SeenResult | SeenTurnEnd
_Draft = TypeVar("_Draft")
_Answer = TypeVar("_Answer", HookAnswer, TurnEndAnswer)
Step: TypeAlias = _Answer | Exception | Callable[[_Draft], _Answer]


class RecordingHook(Hook):
    """Remembers what it is shown, as snapshots that nothing changes later, and answers from a script.

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
        self.seen: list[Seen] = []
        self._requests = deque(on_message_send)
        self._calls = deque(before_tool_call)
        self._results = deque(after_tool_call)
        self._turn_ends = deque(on_turn_end)

    @property
    def points(self) -> tuple[HookPoint, ...]:
        """The points it was asked at, in order."""
        return tuple(map(_find_point, self.seen))

    async def on_message_send(self, request: RequestDraft) -> HookAnswer:
        self.seen.append(_take_snapshot(request))
        return _take_next(self._requests, request, Continue())

    async def before_tool_call(self, call: CallDraft) -> HookAnswer:
        self.seen.append(_take_snapshot(call))
        return _take_next(self._calls, call, Continue())

    async def after_tool_call(self, result: ResultDraft) -> HookAnswer:
        self.seen.append(_take_snapshot(result))
        return _take_next(self._results, result, Continue())

    async def on_turn_end(self, messages: Sequence[Message]) -> TurnEndAnswer:
        self.seen.append(_take_snapshot(TurnEnd(tuple(messages))))
        return _take_next(self._turn_ends, messages, Finish())


def _take_snapshot(subject: HookSubject) -> Seen:
    """A snapshot that nothing changes later."""
    match subject:
        case RequestDraft(messages):
            return SeenRequest(tuple(messages))
        case CallDraft():
            return SeenCall(
                context=subject.context,
                tool=subject.tool,
                risk=subject.risk,
                arguments=MappingProxyType({name: _freeze(value) for name, value in subject.arguments.items()}),
                paths=subject.paths,
            )
        case ResultDraft():
            return SeenResult(
                context=subject.context,
                tool=subject.tool,
                risk=subject.risk,
                outcome=subject.outcome,
                output=subject.output,
                paths=subject.paths,
            )
        case TurnEnd(messages):
            return SeenTurnEnd(messages)
        case _:
            assert_never(subject)


def _find_point(seen: Seen) -> HookPoint:
    match seen:
        case SeenRequest():
            return HookPoint.ON_MESSAGE_SEND
        case SeenCall():
            return HookPoint.BEFORE_TOOL_CALL
        case SeenResult():
            return HookPoint.AFTER_TOOL_CALL
        case SeenTurnEnd():
            return HookPoint.ON_TURN_END
        case _:
            assert_never(seen)


def _take_next(script: deque[Step[_Answer, _Draft]], draft: _Draft, default: _Answer) -> _Answer:
    if not script:
        return default
    step = script.popleft()
    if isinstance(step, Exception):
        raise step
    return step(draft) if callable(step) else step


def _freeze(value: JsonValue) -> JsonValue:
    if isinstance(value, Mapping):
        return MappingProxyType({name: _freeze(inner) for name, inner in value.items()})
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_freeze(inner) for inner in value)
    return value
