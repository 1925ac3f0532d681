"""The two ends of an MCP server: `quorum mcp test` tries one, and `serve_tool` is one that offers one tool."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from msgspec import Struct

from quorum.domain.errors import ConfigError
from quorum.domain.mcp.offers import OfferedTool, find_changed_tools
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.config.program_tables import McpServerTable
from quorum.infrastructure.mcp.connection import ServerConnection
from quorum.infrastructure.mcp.offer import PinnedTools, compute_server_key, select_usable_tools
from quorum.infrastructure.mcp.transports import describe_target, open_transport

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext


class ServerTrial(Struct, frozen=True, kw_only=True):
    """How a server came up: `problem` is why it did not; empty where it did.

    `tools` are those that a session may be offered, `changed` the names of those that a session would ask
    about first, `notices` what else there is to say.
    """

    problem: str = ""
    version: str = ""
    tools: tuple[OfferedTool, ...] = ()
    changed: frozenset[str] = frozenset()
    notices: tuple[str, ...] = ()


async def try_server(
    name: str,
    table: McpServerTable,
    *,
    pins: PinnedTools,
    cwd: Path,
    environ: Mapping[str, str],
    secret_names: Collection[str],
) -> ServerTrial:
    """Start the server as a session would, and look at what it offers. Nothing is accepted by that."""
    connection = ServerConnection(
        name,
        lambda: open_transport(name, table, cwd=cwd, environ=environ, secret_names=secret_names),
        start_timeout_secs=table.start_timeout_secs,
    )
    connection.start()
    try:
        await connection.wait_until_settled()
        problem, listing = connection.problem, connection.listing
    finally:
        await connection.close()
    if problem:
        return ServerTrial(problem=problem)
    usable = await asyncio.to_thread(select_usable_tools, name, listing.tools, table.tools)
    notices = (*usable.problems, *listing.notices)
    try:
        pinned = await asyncio.to_thread(pins.load, compute_server_key(name, describe_target(table)))
    except ConfigError as error:
        pinned, notices = None, (*notices, str(error))
    changed = find_changed_tools(usable.tools, pinned) if pinned is not None else ()
    return ServerTrial(
        version=listing.version,
        tools=usable.tools,
        changed=frozenset(tool.name for tool in changed),
        notices=notices,
    )


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
