"""The screen of `/mcp`: the MCP servers of the session, how they stand, and what tools they give the model."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from domain.text.amounts import format_amount
from domain.text.printable import printable
from tui.screens.accounts.sheet import AccountSheet

if TYPE_CHECKING:
    from domain.mcp.server_status import ServerStatus

_QUIET = "$foreground 60%"
_STYLES = {"running": "$text-success", "starting": "$text-warning", "failed": "$text-error"}
_NONE = "The settings name no MCP server. A table [mcp.servers.NAME] with a command or a url adds one."


class McpScreen(AccountSheet):
    """Shows the servers as they were when it was opened."""

    HEADING = "MCP servers"

    def __init__(self, servers: Sequence[ServerStatus]) -> None:
        super().__init__()
        self._servers = tuple(servers)

    def lines(self, width: int) -> Iterator[Content]:
        """Name and state of each, where it is, what went wrong, and its tools."""
        if not self._servers:
            yield from _wrap(_NONE, width)
        for place, server in enumerate(self._servers):
            if place:
                yield Content("")
            tools = format_amount(len(server.tools), "tool")
            yield Content.assemble(
                (server.name, "bold"),
                "  ",
                (server.state.value, _STYLES.get(server.state.value, _QUIET)),
                (f"  {tools}  {server.version}".rstrip(), _QUIET),
            )
            yield from (line.stylize(_QUIET) for line in _wrap(server.target, width))
            if server.problem:
                yield from (line.stylize("$text-error") for line in _wrap(server.problem, width))
            if server.state.value == "failed":
                yield from _wrap(f"/mcp restart {server.name} tries again", width)
            if server.tools:
                prefix = f"mcp__{server.name}__"
                yield from _wrap(", ".join(name.removeprefix(prefix) for name in server.tools), width)


def _wrap(text: str, width: int) -> Iterator[Content]:
    for line in textwrap.wrap(printable(" ".join(text.split()), newlines=False), max(20, width - 3)):
        yield Content(f"  {line}")
