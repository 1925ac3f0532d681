"""The chat behind a question to the person: it calls for attention and makes room for the dialog."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.widget import Widget

from quorum.tui.agent.turns import Turns
from quorum.tui.chat.controllers.host import ChatHost
from quorum.tui.transcript.layout.view import TranscriptView

if TYPE_CHECKING:
    from quorum.tui.screens.question_card import QuestionCard


class QuestionController:
    """Implements `ReviewHost` of `quorum.tui.session.approver`.

    A dialog covers the screen from below: `below` are the widgets that stand under `main`, which holds the
    transcript. `announce` is called with whether an answer is needed, and the tool that the question is about.
    """

    def __init__(
        self,
        host: ChatHost,
        turns: Turns,
        transcript: TranscriptView,
        *,
        main: Widget,
        below: tuple[Widget, ...],
        announce: Callable[[bool, str], object],
    ) -> None:
        self.asking = False
        self._host, self._turns, self._transcript = host, turns, transcript
        self._main, self._below, self._announce = main, below, announce
        self._in_front = asyncio.Event()
        self._reserved = 0

    def come_to_front(self) -> None:
        """The person looks at it from now on."""
        self._in_front.set()
        self._transcript.flush()

    def go_behind(self) -> None:
        """The person looks at another tab."""
        self._in_front.clear()

    async def wait_until_in_front(self) -> None:
        """Wait until the person looks at it."""
        while not self._in_front.is_set():
            await self._in_front.wait()

    async def confirm(self, card: QuestionCard) -> bool:
        """Have a question of the app itself answered, once the person looks. Call it in a worker."""
        await self.wait_until_in_front()
        reserved = self._reserved
        card.tell_height(self.reserve_lines)
        try:
            return await self._host.app.push_screen_wait(card)
        finally:
            self.reserve_lines(reserved)

    def begin_asking(self, tool: str = "") -> None:
        """There is a question."""
        self.asking = True
        self._host.refresh_state()
        self._announce(True, tool)

    def reserve_lines(self, lines: int) -> None:
        """Keep the transcript's end above a dialog that covers so many lines from below.

        A line of it is kept also where the dialog leaves none: else the status bar would have no room.
        """
        self._reserved = lines
        own = sum(widget.outer_size.height for widget in self._below if widget.display)
        most = self._host.app.size.height - self._main.region.y - own - 1
        self._main.styles.margin = (0, 0, max(0, min(lines - own, most)), 0)

    def shows_answer(self, text: str, lines: int) -> bool:
        """Whether the model's text stays in sight above a dialog that covers so many lines from below."""
        return self._transcript.shows_answer(text, self._host.app.size.height - self._main.region.y - lines)

    def end_asking(self, *, interrupts: bool) -> None:
        self.asking = False
        if interrupts:
            self._turns.mark_interrupting()
        self._host.refresh_state()
        self._announce(False, "")
