from __future__ import annotations

from collections.abc import Mapping

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.response import TOOL_USE, LlmResponse, TextBlock, ToolUseBlock
from quorum.domain.text.json_value import JsonValue


def a_context(index: int = 0, *, call_id: str | None = None, batch_id: str = "batch-1") -> ToolExecutionContext:
    return ToolExecutionContext(
        call_id=call_id or f"call-{index}", batch_id=batch_id, call_index=index, turn_index=0
    )


def a_call(name: str, arguments: Mapping[str, JsonValue] | None = None, *, id_: str = "call-0") -> ToolCall:
    return ToolCall(tool_name=name, arguments=arguments or {}, native_id=id_)


def calls_response(*calls: ToolCall, text: str = "") -> LlmResponse:
    blocks = [
        ToolUseBlock(id=c.native_id, name=c.tool_name, input=c.arguments, parse_error=c.parse_error)
        for c in calls
    ]
    texts = [TextBlock(text)] if text else []
    return LlmResponse(content=(*texts, *blocks), stop_reason=TOOL_USE, model="fake/model")
