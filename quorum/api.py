"""The public interface for plug-ins: all that a hook or a tool in Python imports.

What is listed here keeps its meaning from one minor version to the next, and nothing else of quorum does.
`docs/hooks.md` and `docs/custom-tools.md` show how it is used.
"""

from __future__ import annotations

from application.calls.hooks import CallDraft, Hook, RequestDraft, ResultDraft
from application.ports.tools import SealingTool, Tool
from application.recording_hook import RecordingHook
from domain.calls.access import Access
from domain.calls.execution import CallControls, Outcome, ToolExecutionContext
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
from domain.calls.run_state import Modifier, RunState
from domain.calls.seal import Seal, SealedFile
from domain.calls.tool import ParameterType, RiskLevel, ToolCall, ToolDefinition, ToolParameter
from domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from domain.errors import StaleSeal, ToolError
from domain.text.json_value import JsonObject, JsonValue
from domain.text.output import Inline, Printed, Stored, Structured, Text, ToolOutput

__all__ = [
    "Abort",
    "Access",
    "AssistantMessage",
    "CallControls",
    "CallDraft",
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
    "Outcome",
    "ParameterType",
    "Printed",
    "RecordingHook",
    "RequestDraft",
    "ResultDraft",
    "RiskLevel",
    "RunState",
    "Seal",
    "SealedFile",
    "SealingTool",
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
