"""A forced call as an answer in the form of a JSON Schema, for servers that do not force calls."""

from __future__ import annotations

import json
from collections.abc import Mapping

from quorum.domain.conversation.response import TOOL_USE, LlmResponse, StopKind, TextBlock, ToolUseBlock
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.models.shared.api_client import ApiRequest
from quorum.infrastructure.models.shared.call_arguments import CallIds, build_call_block

_ASKED = "Answer with one JSON object of this schema, and with nothing else:\n{schema}"


def find_forced_tool(request: ApiRequest) -> JsonObject | None:
    """The tool that the request makes the model call, if any."""
    if isinstance(request.tool_choice, str):
        return None
    _, name = request.tool_choice
    return next((tool for tool in request.tools if tool.get("name") == name), None)


def ask_by_schema(request: ApiRequest, tool: JsonObject) -> ApiRequest:
    """The request without tools: its system text shows the schema, as the server may show the model none."""
    schema = json.dumps(tool["input_schema"], ensure_ascii=False)
    system = f"{request.system}\n\n{_ASKED.format(schema=schema)}".lstrip()
    return replace(request, system=system, tools=(), tool_choice="auto")


def build_response_format(tool: JsonObject) -> Mapping[str, JsonValue]:
    """What asks a server for an answer in the form of the tool's arguments."""
    schema: JsonObject = {"name": tool["name"], "schema": tool["input_schema"]}
    return {"type": "json_schema", "json_schema": schema}


def take_as_call(response: LlmResponse, tool: JsonObject) -> LlmResponse:
    """The answer with its text as the arguments of a call; as it is where the text is no JSON object.

    One that a limit cut off is a call that cannot be read.
    """
    text = response.text_content().strip()
    is_cut = response.stop_reason.kind is StopKind.MAX_TOKENS
    call = build_call_block(CallIds().claim(""), str(tool["name"]), text)
    if not text.startswith("{") or (call.parse_error is not None and not is_cut):
        return response
    kept = (block for block in response.content if not isinstance(block, TextBlock | ToolUseBlock))
    stop = response.stop_reason if is_cut else TOOL_USE
    return replace(response, content=(*kept, call), stop_reason=stop)
