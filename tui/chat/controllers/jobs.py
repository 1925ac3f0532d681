"""Background commands: sending the running command there, the screen that lists them, and what leaving ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from quorum.tui.chat.controllers.host import ChatHost, CurrentSession
from quorum.tui.chat.controllers.questions import QuestionController
from quorum.tui.side_panel.side_panel import SidePanel
from quorum.tui.transcript.layout.view import TranscriptView

if TYPE_CHECKING:
    from quorum.application.view.present import JobView


class JobController:
    """Has a command continue in the background, opens the list of those that do, and asks before they end with
    their session. `clock` is the one that stamps keys.
    """

    def __init__(
        self,
        host: ChatHost,
        current: CurrentSession,
        transcript: TranscriptView,
        panel: SidePanel,
        questions: QuestionController,
        clock: Callable[[], float],
    ) -> None:
        self._host, self._current, self._transcript, self._panel = host, current, transcript, panel
        self._questions, self._clock = questions, clock
        self._is_asking = False

    @property
    def running(self) -> tuple[JobView, ...]:
        """Those that end if another session takes the place of this one, or its tab is closed."""
        if self._current.last is None:
            return ()
        return self._transcript.session_view.present.jobs.running

    async def confirm_ending(self) -> bool:
        """Whether the person wants to leave the session, although what runs in the background ends with it.

        Where nothing runs nobody is asked. While the question is open it is not asked again: the answer is no.
        Call it in a worker.
        """
        if not self.running:
            return True
        if self._is_asking:
            return False
        from quorum.tui.screens.jobs_screen import EndJobsDialog

        self._is_asking = True
        try:
            await self._questions.wait_until_in_front()  # what runs is listed as it is then
            now = self._transcript.session_view.clock()
            return await self._questions.confirm(EndJobsDialog(self.running, now, clock=self._clock))
        finally:
            self._is_asking = False

    def action_toggle_panel(self) -> None:
        """Show the side panel, or hide it for the rest of the session."""
        self._host.say(self._panel.toggle())

    def action_background_or_panel(self) -> None:
        """Send the command that a call waits for to the background; where there is none, show the side panel or
        hide it."""
        session = self._current.session
        if session is None or not session.agent.jobs.foreground:
            self._host.say(self._panel.toggle())
            return
        from quorum.domain.errors import ToolError

        try:
            session.agent.jobs.send_to_background()
        except ToolError as error:
            self._host.refuse(str(error))
        else:
            self._host.say("sent to the background · /jobs lists what runs there")

    def action_show_jobs(self) -> None:
        """List the background commands."""
        if (session := self._current.require_session("list the background commands")) is None:
            return
        from quorum.tui.screens.jobs_screen import JobsScreen

        view = self._transcript.session_view
        self._host.app.push_screen(JobsScreen(view.present.jobs, session.agent.jobs, clock=view.clock))
