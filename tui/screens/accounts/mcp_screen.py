"""The screens of `/mcp`: the servers of the session with their tools, and the login to one of them.

The address of a login is shown whole before any browser gets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyboard_guard import HoldsLetters
from quorum.tui.screens.accounts.sheet import AccountSheet
from quorum.tui.terminal.browser import open_address
from quorum.tui.transcript.cells.lines import wrap_words
from quorum.tui.widgets.colours import QUIET

if TYPE_CHECKING:
    from quorum.domain.mcp.offers import ServerStatus


STYLES = {
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
            yield from indent_lines(_NONE, width)
        for place, server in enumerate(self._servers):
            if place:
                yield Content("")
            tools = format_amount(len(server.tools), "tool")
            yield Content.assemble(
                (server.name, "bold"),
                "  ",
                (server.state.value, STYLES.get(server.state.value, QUIET)),
                (f"  {tools}  {server.version}".rstrip(), QUIET),
            )
            yield from (line.stylize(QUIET) for line in indent_lines(server.target, width))
            if server.problem:
                yield from (line.stylize("$text-error") for line in indent_lines(server.problem, width))
            if server.state.value == "needs login":
                key = "l logs in · " if server is self._waiting else ""
                yield from indent_lines(f"{key}/mcp login {server.name}", width)
            if server.state.value == "failed":
                yield from indent_lines(f"/mcp restart {server.name} tries again", width)
            if server.tools:
                prefix = f"mcp__{server.name}__"
                yield from indent_lines(", ".join(name.removeprefix(prefix) for name in server.tools), width)


def indent_lines(text: str, width: int) -> Iterator[Content]:
    """The lines of a text below the name of what it is about; none of an empty one."""
    if flat := " ".join(text.split()):
        for line in wrap_words(make_printable(flat, newlines=False), max(20, width - 3)):
            yield Content(f"  {line}")


_NO_BROWSER = "no browser with a window is here: open the address elsewhere, or copy it"


class LoginScreen(HoldsLetters, AccountSheet):
    """Stays until the login is over; closed before, the login is cancelled by who has opened it."""

    HEADING = "Log in"
    ALONE = frozenset({"copy", "open"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,o", "open", "Open the address in the browser", id="login_open"),
        Binding("c", "copy", "Copy the address", id="login_copy"),
    ]

    def __init__(self, server: str, address: str) -> None:
        super().__init__()
        self._server = server
        self._address = address
        self._said = ""

    def build_lines(self, width: int) -> Iterator[Content]:
        """What it is about, and the address in rows that nothing is left out of."""
        yield Content(f"The MCP server {self._server} wants you to log in. This is the address:")
        yield Content("")
        text = make_printable(self._address, newlines=False)
        for start in range(0, len(text), width):
            yield Content(text[start : start + width])
        yield Content("")
        yield Content("enter opens it in your browser · c copies it · esc cancels")
        if self._said:
            yield Content(self._said)

    async def action_open(self) -> None:
        """Hand the address to the browser."""
        self._say("it is open in your browser" if await open_address(self._address) else _NO_BROWSER)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._address)
        self._say("copied by OSC 52, which not every terminal takes")

    def _say(self, sentence: str) -> None:
        self._said = sentence
        self.show_lines()
