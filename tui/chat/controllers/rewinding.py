"""Undo, rewind and redo: to before a turn and forward again, in the conversation, the files or both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorum.tui.agent.turns import QueuedTask, Turns
from quorum.tui.chat.controllers.host import ChatHost, CurrentSession
from quorum.tui.prompt_box.prompt import Prompt

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession
    from quorum.domain.errors import QuorumError
    from quorum.domain.sessions.state import PastUndo
    from quorum.tui.session.session import Session
    from quorum.tui.transcript.layout.view import TranscriptView

_NO_TURN = "there is no turn to undo"
_NO_UNDO = "there is nothing to redo: no undo since the last turn began"


class RewindController:
    """Has the person choose what to take back, and takes it back in line with the turns."""

    def __init__(
        self, host: ChatHost, current: CurrentSession, turns: Turns, prompt: Prompt, transcript: TranscriptView
    ) -> None:
        self._host, self._current, self._turns, self._prompt = host, current, turns, prompt
        self._transcript = transcript

    def action_undo(self) -> None:
        """Show what taking back the last turn would change."""
        if (session := self._current.get_writable("undo")) is None:
            return
        if (turn := session.last_turn) is None:
            self._host.refuse(_NO_TURN)
        else:
            from quorum.tui.screens.rewind.restore_screen import RestoreScreen

            self._host.app.push_screen(RestoreScreen(session.agent, turn, self._take_back, cwd=session.cwd))

    def action_rewind(self) -> None:
        """Show the turns, to go back to before one of them."""
        if (session := self._current.get_writable("rewind")) is None:
            return
        if session.last_turn is None:
            self._host.refuse(_NO_TURN)
        else:
            from quorum.tui.screens.rewind.turn_list import TurnList

            self._host.app.push_screen(TurnList(session.agent, self._take_back, cwd=session.cwd))

    def action_redo(self) -> None:
        """Show what redoing the last undo would change."""
        if (session := self._current.get_writable("redo")) is None:
            return
        if (undo := session.agent.rewind.last_undo) is None:
            self._host.refuse(_NO_UNDO)
            return
        from quorum.tui.screens.rewind.restore_screen import RedoScreen

        async def redo(task: QueuedTask, _: str) -> QuorumError | None:
            failure = await self.perform(task)
            self._continue_redone(session, undo)
            return failure

        self._host.app.push_screen(RedoScreen(session.agent, undo, redo, cwd=session.cwd))

    def action_show_diff(self) -> None:
        """Show what the session changed, file by file."""
        if (session := self._current.require_session("look at its changes")) is not None:
            from quorum.tui.screens.rewind.changes_screen import ChangesScreen

            self._host.app.push_screen(ChangesScreen(session.agent, self._take_back, cwd=session.cwd))

    async def _take_back(self, task: QueuedTask, prompt: str) -> QuorumError | None:
        """Have a turn taken back, in line with the turns; why that failed, if it did.

        Its `prompt` comes back to be edited; it is empty where the conversation stays.
        """
        failure = await self.perform(task)
        if failure is None and prompt:
            self._turns.begin_after("")
            self._turns.note_returned(prompt)
            self._prompt.give_back(prompt, yields=True)
        return failure

    def _continue_redone(self, session: Session, undo: PastUndo) -> None:
        """Have the next turn follow those that count again, whose prompt is not to be edited any more."""
        redone = [turn for turn in session.agent.rewind.turns if turn.number in undo.turns and not turn.undone]
        if not redone:
            return
        timings = self._transcript.session_view.timings.turns
        last = redone[-1].number
        self._turns.begin_after(timings[last].ending if last < len(timings) else "")
        if prompt := redone[0].prompt:
            self._turns.forget_returned(prompt)
            self._prompt.withdraw(prompt)

    async def perform(self, task: QueuedTask) -> QuorumError | None:
        """Carry a task out in line with the turns, to its end; why it failed, if it did."""
        from quorum.application.cancellation import run_to_end
        from quorum.domain.errors import QuorumError

        failure: QuorumError | None = None

        async def rewind(agent: AgentSession) -> None:
            nonlocal failure
            try:
                await run_to_end(task.run(agent))
            except QuorumError as error:
                failure = error

        if not await self._turns.perform(QueuedTask(task.does, rewind)):
            return QuorumError("it was interrupted before it began, and nothing has changed")
        self._transcript.action_scroll_end()  # what it came to stands there
        return failure
