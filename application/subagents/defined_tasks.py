"""Tasks for subagents of a definition: with its instructions, its model, and its tools as far as there are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.application.ports.models import LlmGateway
from quorum.application.turn.switchable_session import SESSIONS_OWN, complete_model_name
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.calls.tool_traits import ToolTraits, find_traits
from quorum.domain.errors import ProviderError
from quorum.domain.events.event import NoticeGiven
from quorum.domain.instructions.offer_list import AgentDefinition
from quorum.domain.subagents.subagent_task import SubagentTask


class DefinedTasks:
    """Makes tasks of prompts and the names of agents. A definition gives no tool that the session has not.

    `find` raises ToolError for a name that is not known. `current_model` answers which model the session has.
    """

    def __init__(
        self,
        find: Callable[[str], AgentDefinition],
        tools: ToolSet,
        current_model: Callable[[], str],
        gateway: LlmGateway,
        events: EventBus,
    ) -> None:
        self._find = find
        self._tools = tools
        self._current_model = current_model
        self._gateway = gateway
        self._events = events
        self._reported: set[str] = set()

    async def build(self, prompt: str, agent: str = "") -> SubagentTask:
        """The task; without an agent's name it is one for the usual subagent. Raises ToolError for a name that
        is not known. What of a definition cannot be had is said once."""
        if not agent:
            return SubagentTask(prompt=prompt)
        definition = self._find(agent)
        return SubagentTask(
            prompt=prompt,
            agent=definition.name,
            instructions=definition.instructions,
            tools=await self._choose_tools(definition),
            model=await self._choose_model(definition),
        )

    async def _choose_tools(self, definition: AgentDefinition) -> frozenset[str] | None:
        if definition.tools is None:
            if not definition.excluded:
                return None
            only_look = (each.name for each in self._tools.list_definitions() if each.risk is RiskLevel.LOW)
            return select_for_subagent(only_look) - frozenset(definition.excluded)
        known = select_for_subagent(self._tools.names)
        wanted = definition.wanted_tools
        if missing := [name for name in wanted if name not in known]:
            await self._report(
                f"the agent {definition.name} names tools that it cannot have here: {', '.join(missing)}"
            )
        given = known.intersection(wanted)
        added = (name for name in known - given if _comes_along(find_traits(name), given))
        return given | frozenset(added).difference(definition.excluded)

    async def _choose_model(self, definition: AgentDefinition) -> str:
        """The full name of its model; empty where that of the owner answers."""
        if definition.model in SESSIONS_OWN:
            return ""
        current = self._current_model()
        try:
            return await complete_model_name(definition.model, current, self._gateway)
        except ProviderError as error:
            await self._report(
                f"the agent {definition.name} asks for the model {definition.model}, which cannot be had: "
                f"{error}; {current} answers"
            )
            return ""

    async def _report(self, message: str) -> None:
        if message not in self._reported:
            self._reported.add(message)
            await self._events.record(NoticeGiven(message=message))


def select_for_subagent(tools: Iterable[str]) -> frozenset[str]:
    """Those of the tools that a subagent may have."""
    return frozenset(name for name in tools if not find_traits(name).is_owners)


def _comes_along(traits: ToolTraits, given: Collection[str]) -> bool:
    """Whether an agent has a tool that it does not name: to look after what runs in the background, or to read
    what a long output left out."""
    return traits.is_always_given or traits.companion_of in given
