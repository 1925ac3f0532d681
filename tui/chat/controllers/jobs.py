"""Background commands: sending the running command there, and the screen that lists them."""

from __future__ import annotations

from tui.chat.controllers.host import ChatHost, CurrentSession
from tui.panel.side_panel import SidePanel
from tui.transcript.layout.view import TranscriptView


class JobController:
    """Has a command continue in the background, and opens the list of those that do."""

    def __init__(
        self, host: ChatHost, current: CurrentSession, transcript: TranscriptView, panel: SidePanel
    ) -> None:
        self._host, self._current, self._transcript, self._panel = host, current, transcript, panel

    def action_background_or_panel(self) -> None:
        """Send the command that a call waits for to the background; where there is none, show the side panel or
        hide it."""
        session = self._current.session
        if session is None or not session.agent.jobs.foreground:
            self._host.say(self._panel.toggle())
            return
        from domain.errors import ToolError

        try:
            session.agent.jobs.send_to_background()
        except ToolError as error:
            self._host.say(str(error))
        else:
            self._host.say("sent to the background · /jobs lists what runs there")

    def action_show_jobs(self) -> None:
        """List the background commands."""
        if (session := self._current.require_session("list the background commands")) is None:
            return
        from tui.screens.jobs.screen import JobsScreen

        view = self._transcript.session_view
        self._host.app.push_screen(JobsScreen(view.present.jobs, session.agent.jobs, clock=view.clock))
