"""What commands and keys do with the timeline of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.chat.actions.base import ChatActions

if TYPE_CHECKING:
    from tui.screens.timeline.rows import TimelineRow


class TimelineActions(ChatActions):
    """The part of the chat that shows when everything happened."""

    def action_show_timeline(self) -> None:
        """Show every turn and call of the session on a time axis."""
        from tui.screens.timeline.screen import TimelineScreen

        told = self.transcript.told
        self.app.push_screen(TimelineScreen(told.chronicle, told.clock), self._show_again)

    def _show_again(self, row: TimelineRow | None) -> None:
        """Have what a row stands for in sight."""
        if row is None or (entry := row.entry) is None:
            return
        if not self.transcript.reveal(entry, row.call):
            self.say("that is not on the screen any more: /clear took it off")
