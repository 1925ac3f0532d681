"""The dialog about an address that an MCP server wants opened: shown whole before any browser gets it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import ClassVar

from textual.binding import Binding, BindingType

from quorum.domain.mcp.server_question import ServerAction, ServerAddress, ServerAnswer
from quorum.tui.screens.question_card import QuestionCard
from quorum.tui.screens.review.text.rows import Line, LineKind, clean_line
from quorum.tui.screens.server_question.asking import list_origin
from quorum.tui.terminal.browser import open_address

_NO_BROWSER = "no browser with a window is here: c copies it; y once you have opened it elsewhere"


class ServerAddressDialog(QuestionCard):
    """Asks whether to open an address. `answer` is what was chosen, once it is closed."""

    HEADING = "An MCP server wants you to open an address"
    REFUSE = ("{address_decline=n}", "decline")
    ACCEPT = ("{address_open=y}", "open it in the browser")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Open the address in the browser", id="address_open"),
        Binding("n", "refuse", "Decline to open it", id="address_decline"),
        Binding("escape", "cancel", "Decide nothing", id="address_cancel"),
        Binding("c", "copy", "Copy the address", id="address_copy"),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="address_up"),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="address_down"),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="address_mark"),
    ]

    def __init__(self, question: ServerAddress, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock=clock)
        self._question = question
        self._has_no_browser = False
        self.answer = ServerAnswer(action=ServerAction.CANCEL)

    @property
    def question(self) -> ServerAddress:
        return self._question

    def build_lines(self) -> Iterator[Line]:
        """Who asks, why, and where the address leads."""
        question = self._question
        yield from list_origin(question)
        yield Line("leads to ", clean_line(question.host), LineKind.STRONG)
        yield Line("address  ", clean_line(question.address), is_code=True)

    def format_subtitle(self) -> str:
        """What else can be done."""
        return _NO_BROWSER if self._has_no_browser else "c copies it · esc decides nothing"

    def action_copy(self) -> None:
        """Copy the address; the question stays open."""
        self.app.copy_to_clipboard(self._question.address)

    def action_accept(self) -> None:
        """Open it; where no browser is here, the next time means that it was opened elsewhere."""
        self.run_worker(self._open(), exclusive=True)

    async def _open(self) -> None:
        if self._has_no_browser or await open_address(self._question.address):
            self.agree()
        else:
            self._has_no_browser = True
            self.show_notice()

    def agree(self) -> None:
        """Tell the server that it is opened."""
        self.answer = ServerAnswer(action=ServerAction.ACCEPT)
        self.dismiss(True)

    def action_refuse(self) -> None:
        """Tell the server no."""
        self.answer = ServerAnswer(action=ServerAction.DECLINE)
        super().action_refuse()

    def action_cancel(self) -> None:
        """Tell the server that nobody decided."""
        super().action_refuse()
