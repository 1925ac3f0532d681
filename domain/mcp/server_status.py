"""How an MCP server stands, as the person sees it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class ServerState(StrEnum):
    """Where a server is in its life."""

    STARTING = "starting"
    RUNNING = "running"
    FAILED = "failed"
    NEEDS_LOGIN = "needs login"
    STOPPED = "stopped"


class ServerStatus(Struct, frozen=True, kw_only=True):
    """One server. `target` is its command line or its address, `tools` the names under which a model calls its
    tools, `problem` why it is not running, or what went wrong last; empty where nothing did."""

    name: str
    target: str
    state: ServerState
    version: str = ""
    tools: tuple[str, ...] = ()
    problem: str = ""
