"""Setting a goal with its checks, looking at it, and taking it away."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from quorum.tui.chat.controllers.host import CHANGES, ChatHost, CurrentSession
from quorum.tui.prompt_box.prompt import Prompt

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession
    from quorum.tui.session.session import Session

_OFF = "off"


class GoalController:
    """Sets a goal and sends its text as a prompt. What cannot be set goes back into the `prompt`; `submit` puts
    a prompt in line."""

    def __init__(
        self, host: ChatHost, current: CurrentSession, *, prompt: Prompt, submit: Callable[[str], object]
    ) -> None:
        self._host, self._current = host, current
        self._prompt, self._submit = prompt, submit

    def action_goal(self, text: str = "") -> None:
        """Set this goal, or take it away; without a text, show how it stands."""
        text = text.strip()
        if not text:
            self._show()
        elif (session := self._find_writable(text)) is None:
            self._prompt.put_before(f"/goal {text}")
        else:
            self._host.run_worker(self._change(session.agent, text), group=CHANGES)

    def _find_writable(self, text: str) -> Session | None:
        """The session; a goal is taken away also while a turn runs, and set between turns."""
        if text != _OFF:
            return self._current.get_writable("set a goal")
        session = self._current.require_session("take the goal away")
        if session is not None and session.refusal:
            self._host.refuse(session.refusal)
            return None
        return session

    async def _change(self, agent: AgentSession, text: str) -> None:
        from quorum.domain.errors import QuorumError
        from quorum.domain.goal import parse_goal

        try:
            if text == _OFF:
                await agent.require_goals().drop()
            else:
                typed = parse_goal(text)
                await agent.require_goals().set_goal(typed)
                self._submit(typed.text)
        except QuorumError as problem:
            if text != _OFF:
                self._prompt.put_before(f"/goal {text}")
            self._host.refuse(str(problem))
        self._host.refresh_state()

    def _show(self) -> None:
        if (session := self._current.require_session("look at the goal")) is not None:
            self._host.run_worker(self._show_goal(session), group="goal", exclusive=True)

    async def _show_goal(self, session: Session) -> None:
        """Show it as it stands, with what happened to the files meanwhile."""
        from quorum.tui.screens.accounts.goal_screen import GoalScreen

        agent, goal = session.agent, None
        if agent.goals is not None:
            if not agent.record.in_use:
                await agent.goals.look_again()
            goal = agent.goals.goal
        self._host.app.push_screen(GoalScreen(goal, agent.mask.mask_text))
