"""The session behind the screen: its agent, what is known of it, and what the person may see and change of it.

Loaded when the agent is there; the screens that open over the chat are loaded when they are first wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from domain.errors import ProviderError
from domain.mode import Mode
from tui.agent import Agent
from tui.commands import CYCLED_MODES
from tui.session_facts import SessionFacts

if TYPE_CHECKING:
    from tui.accounts.screen import CostScreen
    from tui.model_picker.screen import ModelPicker
    from tui.pager.screen import PagerScreen
    from tui.transcript.entries import Call


class Session:
    """One agent and the facts about its session. `clock` is in seconds."""

    def __init__(self, agent: Agent, *, clock: Callable[[], float]) -> None:
        self.agent = agent
        self.facts = SessionFacts(model=agent.model, mode=agent.mode.value, clock=clock)

    async def set_mode(self, name: str) -> None:
        """Change the review mode."""
        await self.agent.set_mode(Mode(name))
        self.facts.mode = self.agent.mode.value

    async def cycle_mode(self) -> None:
        """The next of the modes that keep asking; never auto."""
        mode = self.facts.mode
        place = CYCLED_MODES.index(mode) if mode in CYCLED_MODES else -1
        await self.set_mode(CYCLED_MODES[(place + 1) % len(CYCLED_MODES)])

    async def set_model(self, name: str) -> str:
        """Choose another model; why it cannot be had, empty where it can."""
        try:
            await self.agent.set_model(name)
        except ProviderError as error:
            return str(error)
        return ""

    def model_picker(self) -> ModelPicker:
        """All models to choose from."""
        from tui.model_picker.screen import ModelPicker

        return ModelPicker(self.agent)

    def costs(self) -> CostScreen:
        """What was used so far, and what it cost."""
        from tui.accounts.screen import CostScreen

        return CostScreen(self.facts.book)

    def pager(self, call: Call) -> PagerScreen:
        """The whole output of a call. Raises BlobError where it is gone."""
        from tui.pager.opening import pager_for

        return pager_for(call, self.agent)
