"""Undo and rewind: going back to before a turn, in the conversation, the files or both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.agent.turns import QueuedTask, Turns
from tui.chat.controllers.host import ChatHost, CurrentSession
from tui.prompt_box.prompt import Prompt

if TYPE_CHECKING:
    from domain.errors import QuorumError
    from tui.agent.port import Agent

_NO_TURN = "there is no turn to undo"


class RewindController:
    """Has the person choose what to take back, and takes it back in line with the turns."""

    def __init__(self, host: ChatHost, current: CurrentSession, turns: Turns, prompt: Prompt) -> None:
        self._host, self._current, self._turns, self._prompt = host, current, turns, prompt

    def action_undo(self) -> None:
        """Show what taking back the last turn would change."""
        if (session := self._current.writable("undo")) is None:
            return
        if (turn := session.last_turn) is None:
            self._host.say(_NO_TURN)
        else:
            self._host.app.push_screen(session.restore_screen(turn, self._take_back))

    def action_rewind(self) -> None:
        """Show the turns, to go back to before one of them."""
        if (session := self._current.writable("rewind")) is None:
            return
        if session.last_turn is None:
            self._host.say(_NO_TURN)
        else:
            self._host.app.push_screen(session.turn_list(self._take_back))

    def action_show_diff(self) -> None:
        """Show what the session changed, file by file."""
        if (session := self._current.require_session("look at its changes")) is not None:
            self._host.app.push_screen(session.changes_screen(self._take_back))

    async def _take_back(self, task: QueuedTask, prompt: str) -> QuorumError | None:
        """Have a turn taken back, in line with the turns; why that failed, if it did.

        Its `prompt` comes back to be edited; it is empty where the conversation stays.
        """
        from application.cancellation import run_to_end
        from domain.errors import QuorumError

        failure: QuorumError | None = None

        async def whole(agent: Agent) -> None:
            nonlocal failure
            try:
                await run_to_end(task.run(agent))
            except QuorumError as error:
                failure = error

        await self._turns.perform(QueuedTask(task.does, whole))
        if failure is None and prompt:
            self._turns.begin_after("")
            self._turns.note_returned(prompt)
            self._prompt.give_back(prompt)
        return failure
