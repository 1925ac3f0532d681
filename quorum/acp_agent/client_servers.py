"""MCP servers that a client offers with a session, as settings of that session."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer

from quorum.acp_agent.tool_calls import show_line
from quorum.infrastructure.config.about import is_web_address
from quorum.infrastructure.mcp.server_credentials import NO_CREDENTIALS, ServerCredentials

ClientServer: TypeAlias = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 32


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings that start these servers, by dotted key, and a sentence for each that is not started.

    `credentials` are, by the name of a server, what it gets that settings do not hold.
    """

    overrides: Mapping[str, object]
    credentials: Mapping[str, ServerCredentials]
    notices: tuple[str, ...]


def convert_servers(servers: Sequence[ClientServer], own: Collection[str]) -> ServerSettings:
    """The settings for what a client offers; `own` are the names that the person's settings have already."""
    credentials: dict[str, ServerCredentials] = {}
    overrides: dict[str, object] = {}
    notices: list[str] = []
    taken = set(own)
    for server in servers:
        name = _NOT_IN_NAMES.sub("-", server.name.lower()).strip("-")[:_LONGEST_NAME].strip("-")
        given = _read_credentials(server)
        if why := _find_obstacle(server, name, taken) or given.find_obstacle():
            notices.append(f"the client's MCP server {show_line(server.name)!a} is not started: {why}")
            continue
        taken.add(name)
        credentials[name] = given
        match server:
            case McpServerStdio():
                overrides[f"mcp.servers.{name}.command"] = [server.command, *server.args]
            case HttpMcpServer():
                overrides[f"mcp.servers.{name}.url"] = server.url
            case SseMcpServer() | AcpMcpServer():
                continue  # there is an obstacle
    return ServerSettings(overrides, credentials, tuple(notices))


def _read_credentials(server: ClientServer) -> ServerCredentials:
    """The secrets that come with it. Of two headers with one name, in whatever case, the last counts."""
    match server:
        case McpServerStdio():
            return ServerCredentials(environment={one.name: one.value for one in server.env})
        case HttpMcpServer():
            named = {one.name.lower(): one for one in server.headers}
            return ServerCredentials(headers={one.name: one.value for one in named.values()})
        case SseMcpServer() | AcpMcpServer():
            return NO_CREDENTIALS


def _find_obstacle(server: ClientServer, name: str, taken: Collection[str]) -> str:
    """Why a server is not started, and what helps; empty where it can be."""
    if not name:
        return "its name has no letter or digit"
    if name in taken:
        return f"your settings have a server {name} already"
    match server:
        case SseMcpServer() | AcpMcpServer():
            return "its kind is not supported, only programs and streamable HTTP"
        case HttpMcpServer() if not (server.url and is_web_address(server.url)):
            return "its address does not start with http:// or https://"
        case McpServerStdio() if not server.command:
            return "it names no program"
        case _:
            return ""
