"""`quorum mcp test`: starts one server, asks for its tools, and ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import Struct

from quorum.domain.errors import ConfigError
from quorum.domain.mcp.offers import OfferedTool, find_changed_tools
from quorum.infrastructure.config.program_tables import McpServerTable
from quorum.infrastructure.mcp.connection import ServerConnection
from quorum.infrastructure.mcp.offer import select_usable_tools
from quorum.infrastructure.mcp.pinned_tools import PinnedTools, compute_server_key
from quorum.infrastructure.mcp.transports import describe_target, open_transport


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
