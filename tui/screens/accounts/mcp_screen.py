"""The screen of `/mcp`: the MCP servers of the session, how they stand, and what tools they give the model."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyboard_guard import HoldsLetters
from quorum.tui.screens.accounts.sheet import AccountSheet

if TYPE_CHECKING:
    from quorum.domain.mcp.offers import ServerStatus

_QUIET = "$foreground 60%"
_STYLES = {
    "running": "$text-success",
    "starting": "$text-warning",
    "needs login": "$text-warning",
    "failed": "$text-error",
}
_NONE = "The settings name no MCP server. A table [mcp.servers.NAME] with a command or a url adds one."


class McpScreen(HoldsLetters, AccountSheet):
    """Shows the servers as they were when it was opened. `log_in` begins a login to the server of this name."""

    HEADING = "MCP servers"

    ALONE = frozenset({"log_in"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l", "log_in", "Log in to the first server that needs it", id="mcp_login")
    ]

    def __init__(
        self, servers: Sequence[ServerStatus], log_in: Callable[[str], None] = lambda _name: None
    ) -> None:
        super().__init__()
        self._servers = tuple(servers)
        self._log_in = log_in

    @property
    def _waiting(self) -> ServerStatus | None:
        return next((server for server in self._servers if server.state.value == "needs login"), None)

    def action_log_in(self) -> None:
        """Close, and log in to the first server that needs it."""
        if (server := self._waiting) is not None:
            self.dismiss()
            self._log_in(server.name)

    def build_lines(self, width: int) -> Iterator[Content]:
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
            if server.state.value == "needs login":
                key = "l logs in · " if server is self._waiting else ""
                yield from _wrap(f"{key}/mcp login {server.name}", width)
            if server.state.value == "failed":
                yield from _wrap(f"/mcp restart {server.name} tries again", width)
            if server.tools:
                prefix = f"mcp__{server.name}__"
                yield from _wrap(", ".join(name.removeprefix(prefix) for name in server.tools), width)


def _wrap(text: str, width: int) -> Iterator[Content]:
    for line in textwrap.wrap(make_printable(" ".join(text.split()), newlines=False), max(20, width - 3)):
        yield Content(f"  {line}")
