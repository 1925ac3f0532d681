"""The screen of a login to an MCP server: the address to open, shown whole before any browser gets it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyboard_guard import HoldsLetters
from quorum.tui.screens.accounts.sheet import AccountSheet
from quorum.tui.terminal.browser import open_address

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
