"""The chat as the room in which the person is asked: the screen behind a dialog."""

from __future__ import annotations

import asyncio

from textual.message import Message

from tui.chat.actions.base import ChatActions
from tui.chat.status_bar import StatusBar


class AskingActions(ChatActions):
    """Implements `Room` of `tui.session.approver`."""

    asking: bool
    _in_front: asyncio.Event
    _status_bar: StatusBar

    class AskingChanged(Message):
        """A question to the person has appeared or gone; `tool` is what it is about, or empty."""

        def __init__(self, *, answer_needed: bool, tool: str = "") -> None:
            super().__init__()
            self.answer_needed, self.tool = answer_needed, tool

    def come_to_front(self) -> None:
        """The person looks at it from now on."""
        self._in_front.set()
        self.transcript.flush()

    def go_behind(self) -> None:
        """The person looks at another tab."""
        self._in_front.clear()

    async def until_in_front(self) -> None:
        """Wait until the person looks at it."""
        while not self._in_front.is_set():
            await self._in_front.wait()

    def asking_begins(self, tool: str = "") -> None:
        """There is a question."""
        self.asking = True
        self.state_changed()
        self.post_message(self.AskingChanged(answer_needed=True, tool=tool))

    def reserve_lines(self, lines: int) -> None:
        """Keep the transcript's end above a dialog that covers so many lines from below.

        A line of it is kept also where the dialog leaves none: else the status bar would have no room.
        """
        main = self.query_one("#main")
        own = self._status_bar.size.height + self.query_one("#composer").outer_size.height
        most = self.app.size.height - main.region.y - own - 1
        main.styles.margin = (0, 0, max(0, min(lines - own, most)), 0)

    def asking_ends(self, *, interrupts: bool) -> None:
        """The question is gone."""
        self.asking = False
        if interrupts:
            self.turns.mark_interrupting()
        self.state_changed()
        self.post_message(self.AskingChanged(answer_needed=False))
