"""What hooks are shown, as the runtime would make it."""

from __future__ import annotations

from collections.abc import Mapping

from quorum.application.calls.hooks import CallDraft, PermissionRequest, RequestDraft, ResultDraft, SessionStart
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import RiskLevel, ToolResultMessage
from quorum.domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.text.json_value import JsonValue
from tests.support.builders import a_call, a_context, calls_response


def a_call_draft(
    tool: str = "write_file", arguments: Mapping[str, JsonValue] | None = None, *, index: int = 0
) -> CallDraft:
    return CallDraft(
        context=a_context(index),
        tool=tool,
        risk=RiskLevel.HIGH,
        arguments=dict(arguments or {"path": "a.txt", "content": "ä"}),
        paths=("/ws/a.txt",),
    )


def a_result_draft(output: str = "all of it", *, tool: str = "read_file") -> ResultDraft:
    return ResultDraft(
        context=a_context(2),
        tool=tool,
        risk=RiskLevel.LOW,
        outcome=Outcome.OK,
        output=output,
        paths=("/ws/a.txt",),
    )


def a_permission_request(
    tool: str = "run_command", arguments: Mapping[str, JsonValue] | None = None
) -> PermissionRequest:
    return PermissionRequest(
        context=a_context(1),
        tool=tool,
        risk=RiskLevel.HIGH,
        arguments=dict(arguments or {"command": "make"}),
        reasons=("the mode asks",),
    )


def a_session_start(source: str = "new") -> SessionStart:
    return SessionStart(session_id="s", source=source, cwd="/ws", model="fake/model", mode="ask")


def a_conversation() -> tuple[Message, ...]:
    """A question, an answer with one call, its result, and a final answer."""
    call = a_call("read_file", {"path": "a"}, id_="call-7")
    return (
        UserMessage("what is in a?"),
        AssistantMessage(calls_response(call, text="let me look")),
        ToolResults((ToolResultMessage(tool_use_id="call-7", tool_name="read_file", output="1 hello"),)),
        an_answer("it says hello"),
    )


def a_request_draft() -> RequestDraft:
    """What is sent before the final answer."""
    return RequestDraft(list(a_conversation()[:3]))


def an_answer(text: str) -> AssistantMessage:
    return AssistantMessage(LlmResponse.from_text(text))
