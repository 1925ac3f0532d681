"""Adding a line to an instruction file: the change is shown, and made once the person approves it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from quorum.tui.chat.controllers.host import ChatHost, CurrentSession
from quorum.tui.chat.controllers.questions import QuestionController
from quorum.tui.keys.keyed_app import fill_in_keys
from quorum.tui.prompt_box.prompt import Prompt

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession


class MemoryController:
    """Shows one change at a time. A line that cannot be added goes back to the prompt.

    Nothing else leads here than Enter on a prompt that begins so. `remember` has Up bring a line back; `clock`
    is the one that stamps keys.
    """

    def __init__(
        self,
        host: ChatHost,
        current: CurrentSession,
        *,
        prompt: Prompt,
        questions: QuestionController,
        remember: Callable[[str], object],
        clock: Callable[[], float],
    ) -> None:
        self._host, self._current, self._prompt = host, current, prompt
        self._questions, self._remember, self._clock = questions, remember, clock
        self._one_at_a_time = asyncio.Lock()

    def add_line(self, line: str, typed: str) -> None:
        """Propose to add a line; where it cannot be, it stays where it was `typed`."""
        session = self._current.require_session("add this")
        if session is None or session.refusal or self._questions.asking:
            self._prompt.replace_text(typed)
            if session is not None:
                self._host.refuse(session.refusal or "answer the question first")
            return
        self._host.run_worker(self._review(session.agent, line, typed), group="memory")

    async def _review(self, agent: AgentSession, line: str, typed: str) -> None:
        from quorum.domain.errors import QuorumError
        from quorum.tui.screens.memory_dialog import MemoryDialog

        async with self._one_at_a_time:
            try:
                proposal = await agent.memory.propose(line)
                self._remember(typed)
                dialog = MemoryDialog(proposal, clock=self._clock)
                if await self._questions.confirm(dialog):
                    await agent.memory.add(dialog.chosen)
                else:
                    self._host.say(fill_in_keys("nothing was added; ↑ brings the line back", self._host.app))
            except QuorumError as error:
                self._prompt.put_before(typed)
                self._host.refuse(str(error))
