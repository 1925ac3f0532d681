"""The public interface for plug-ins: all that a hook or a tool in Python imports.

What is listed here keeps its meaning from one minor version to the next, and nothing else of quorum does.
`docs/hooks.md` and `docs/custom-tools.md` show how it is used.
"""

from __future__ import annotations

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
)
from quorum.application.ports.tools import SealingTool, Tool
from quorum.application.recording_hook import RecordingHook
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
