"""MCP servers that a client offers with a session, as settings of that session."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer
from pydantic import BaseModel, ValidationError

from quorum.acp_agent.tool_calls import show_line
from quorum.domain.settings import is_web_address
from quorum.infrastructure.mcp.server_credentials import NO_CREDENTIALS, ServerCredentials

ClientServer: TypeAlias = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 32
_MOST_FAULTS = 3


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


_READERS: Mapping[str, type[BaseModel]] = {
    "http": HttpMcpServer,
    "sse": SseMcpServer,
    "acp": AcpMcpServer,
    "stdio": McpServerStdio,
}
_NOT_SUPPORTED = "its kind is not supported, only programs and streamable HTTP"


def explain_unread(offered: object) -> tuple[str, ...]:
    """A sentence for each server of a request that cannot be read, with what is wrong and no value but its
    name."""
    entries = offered if isinstance(offered, list) else []
    return tuple(
        f"the client's MCP server {_name_entry(entry, number)} is not started: {why}"
        for number, entry in enumerate(entries)
        if (why := _find_fault(entry))
    )


def _name_entry(entry: object, number: int) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return f"{show_line(name)!a}" if isinstance(name, str) and name else f"number {number + 1}"


def _find_fault(entry: object) -> str:
    if not isinstance(entry, dict):
        return "it is no object"
    kind = entry.get("type", "stdio")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    faults = _list_faults(reader or McpServerStdio, entry)
    if not faults or not _list_faults(McpServerStdio, entry):
        return ""  # what names a program is read as one, of whatever kind it says it is
    return _NOT_SUPPORTED if reader is None else "; ".join(faults[:_MOST_FAULTS])


def _list_faults(reader: type[BaseModel], entry: Mapping[str, object]) -> list[str]:
    try:
        reader.model_validate(entry)
    except ValidationError as error:
        return [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
    return []


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
            return _NOT_SUPPORTED
        case HttpMcpServer() if not (server.url and is_web_address(server.url)):
            return "its address does not start with http:// or https://"
        case McpServerStdio() if not server.command:
            return "it names no program"
        case _:
            return ""
