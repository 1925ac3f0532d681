"""An MCP server of the protocol's revision of 2026-07-28 that asks for something before it answers.

Its argument says for what: `nothing`, so that the request is only to be sent again, `form` or `model`.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

FORM = types.ElicitRequest(
    params=types.ElicitRequestFormParams(
        message="Where?", requested_schema={"type": "object", "properties": {"host": {"type": "string"}}}
    )
)
MODEL = types.CreateMessageRequest(
    params=types.CreateMessageRequestParams(
        messages=[types.SamplingMessage(role="user", content=types.TextContent(text="hi"))], max_tokens=9
    )
)


def ask_first(params: Any) -> types.InputRequiredResult | None:
    if params.request_state is not None:
        return None
    asked: dict[str, Any] = {"form": {"q": FORM}, "model": {"q": MODEL}}.get(sys.argv[1], {})
    return types.InputRequiredResult(input_requests=asked or None, request_state="begun")


async def call(_context: Any, params: Any) -> Any:
    said = [answer.content for answer in (params.input_responses or {}).values()]
    return ask_first(params) or types.CallToolResult(content=[types.TextContent(text=f"done: {said}")])


async def get_prompt(_context: Any, params: Any) -> Any:
    said = types.PromptMessage(role="user", content=types.TextContent(text="the prompt"))
    return ask_first(params) or types.GetPromptResult(messages=[said])


async def read_resource(_context: Any, params: Any) -> Any:
    content = types.TextResourceContents(uri=params.uri, text="the resource")
    return ask_first(params) or types.ReadResourceResult(contents=[content])


async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="ok", input_schema={"type": "object"})])


async def serve() -> None:
    server = Server(
        "interim",
        on_list_tools=list_tools,
        on_call_tool=call,
        on_get_prompt=get_prompt,
        on_read_resource=read_resource,
    )
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


asyncio.run(serve())
