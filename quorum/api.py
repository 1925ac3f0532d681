"""The public interface for plug-ins: all that a hook or a tool in Python imports.

What is listed here keeps its meaning from one minor version to the next, and nothing else of quorum does.
`docs/hooks.md` and `docs/custom-tools.md` show how it is used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

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
    copy_subject,
    find_point,
)
from quorum.application.ports.tools import SealingTool, Tool
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import CallControls, Outcome, Seal, SealedFile, ToolExecutionContext
from quorum.domain.calls.hook_points import (
    Abort,
    Ask,
    Continue,
    ContinueWithMessages,
    Finish,
    HookAnswer,
    HookPoint,
    Skip,
    TurnEndAnswer,
)
from quorum.domain.calls.run_state import Modifier, RunState
from quorum.domain.calls.tool import ParameterType, RiskLevel, ToolCall, ToolDefinition, ToolParameter
from quorum.domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from quorum.domain.errors import StaleSeal, ToolError
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.output import Inline, Printed, Stored, Structured, Text, ToolOutput

__all__ = [
    "Abort",
    "Access",
    "Ask",
    "AssistantMessage",
    "CallControls",
    "CallDraft",
    "CompactionDraft",
    "Continue",
    "ContinueWithMessages",
    "Finish",
    "Hook",
    "HookAnswer",
    "HookPoint",
    "Inline",
    "JsonObject",
    "JsonValue",
    "Message",
    "Modifier",
    "Notification",
    "Outcome",
    "ParameterType",
    "PermissionRequest",
    "Printed",
    "RecordingHook",
    "RequestDraft",
    "ResultDraft",
    "RiskLevel",
    "RunState",
    "Seal",
    "SealedFile",
    "SealingTool",
    "SessionEnd",
    "SessionStart",
    "Skip",
    "StaleSeal",
    "Stored",
    "Structured",
    "Text",
    "Tool",
    "ToolCall",
    "ToolDefinition",
    "ToolError",
    "ToolExecutionContext",
    "ToolOutput",
    "ToolParameter",
    "ToolResults",
    "TurnEndAnswer",
    "UserMessage",
]


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
        on_session_start: Sequence[Step[HookAnswer, SessionStart]] = (),
        on_session_end: Sequence[Step[HookAnswer, SessionEnd]] = (),
        on_permission_request: Sequence[Step[HookAnswer, PermissionRequest]] = (),
        on_notification: Sequence[Step[HookAnswer, Notification]] = (),
        on_compaction: Sequence[Step[HookAnswer, CompactionDraft]] = (),
    ) -> None:
        self.seen: list[HookSubject] = []
        self._requests = deque(on_message_send)
        self._calls = deque(before_tool_call)
        self._results = deque(after_tool_call)
        self._turn_ends = deque(on_turn_end)
        self._starts = deque(on_session_start)
        self._ends = deque(on_session_end)
        self._permissions = deque(on_permission_request)
        self._notifications = deque(on_notification)
        self._compactions = deque(on_compaction)

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

    async def on_session_start(self, start: SessionStart) -> HookAnswer:
        self.seen.append(copy_subject(start))
        return _take_next(self._starts, start, Continue())

    async def on_session_end(self, end: SessionEnd) -> HookAnswer:
        self.seen.append(copy_subject(end))
        return _take_next(self._ends, end, Continue())

    async def on_permission_request(self, request: PermissionRequest) -> HookAnswer:
        self.seen.append(copy_subject(request))
        return _take_next(self._permissions, request, Continue())

    async def on_notification(self, notification: Notification) -> HookAnswer:
        self.seen.append(copy_subject(notification))
        return _take_next(self._notifications, notification, Continue())

    async def on_compaction(self, compaction: CompactionDraft) -> HookAnswer:
        self.seen.append(copy_subject(compaction))
        return _take_next(self._compactions, compaction, Continue())


def _take_next(script: deque[Step[_Answer, _Draft]], draft: _Draft, default: _Answer) -> _Answer:
    if not script:
        return default
    step = script.popleft()
    if isinstance(step, Exception):
        raise step
    return step(draft) if callable(step) else step
