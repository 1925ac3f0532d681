"""An MCP server on standard input and output that offers one tool."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from quorum.domain.text.json_value import JsonObject

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

Answer: TypeAlias = Callable[[JsonObject], Awaitable[str]]
"""What a call of the tool with these arguments is answered with. It never raises for what they hold."""


async def serve_tool(name: str, description: str, schema: JsonObject, answer: Answer, *, version: str) -> None:
    """Serve until standard input ends. Nothing else may write to standard output meanwhile."""

    async def list_tools(
        _context: ServerRequestContext[object], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(name=name, description=description, input_schema=dict(schema))]
        )

    async def call_tool(
        _context: ServerRequestContext[object], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name != name:
            text = f"there is no tool {params.name[:100]!r}; there is {name}"
            return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
        text = await answer(params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    server: Server[object] = Server("quorum", version=version, on_list_tools=list_tools, on_call_tool=call_tool)
    # What a library prints by mistake must not reach the client in the middle of a message.
    wire = os.dup(1)
    os.dup2(2, 1)
    with open(wire, "w", encoding="utf-8", newline="\n") as output:  # noqa: ASYNC230 - a pipe, already open
        async with stdio_server(stdout=anyio.wrap_file(output)) as (read, write):
            await server.run(read, write, server.create_initialization_options())
