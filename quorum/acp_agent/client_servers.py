"""MCP servers that a client offers with a session, as settings of that session."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer

from quorum.acp_agent.shown_text import show_line

ClientServer: TypeAlias = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 32


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings that start these servers, by dotted key, and a sentence for each that is not started."""

    overrides: Mapping[str, object]
    notices: tuple[str, ...]


def convert_servers(servers: Sequence[ClientServer], own: Collection[str]) -> ServerSettings:
    """The settings for what a client offers; `own` are the names that the person's settings have already.

    A server that needs secrets of the client's in its environment or in headers is not started: settings hold
    no secrets.
    """
    overrides: dict[str, object] = {}
    notices: list[str] = []
    taken = set(own)
    for server in servers:
        name = _NOT_IN_NAMES.sub("-", server.name.lower()).strip("-")[:_LONGEST_NAME].strip("-")
        if (why := _find_obstacle(server, name, taken)) is not None:
            notices.append(f"the client's MCP server {show_line(server.name)!a} is not started: {why}")
            continue
        taken.add(name)
        match server:
            case McpServerStdio():
                overrides[f"mcp.servers.{name}.command"] = [server.command, *server.args]
            case HttpMcpServer():
                overrides[f"mcp.servers.{name}.url"] = server.url
            case SseMcpServer() | AcpMcpServer():
                continue  # there is an obstacle
    return ServerSettings(overrides, tuple(notices))


def _find_obstacle(server: ClientServer, name: str, taken: Collection[str]) -> str | None:
    """Why a server is not started, and what helps; None where it can be."""
    if not name:
        return "its name has no letter or digit"
    if name in taken:
        return f"your settings have a server {name} already"
    match server:
        case McpServerStdio() if server.env:
            return "it needs environment variables of the client; name it in your quorum.toml, with pass_env"
        case HttpMcpServer() if server.headers:
            return "it needs headers of the client; name it in your quorum.toml, with bearer_token_env"
        case SseMcpServer() | AcpMcpServer():
            return "its kind is not supported, only programs and streamable HTTP"
        case _:
            return None
