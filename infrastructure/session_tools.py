"""Which tools a session has, put together from its settings and its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quorum.application.ports.tools import Tool
from quorum.domain.calls.tool import is_offered
from quorum.domain.conversation.session_kind import SessionKind
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.instructions.agent_catalog import AgentCatalog


def build_tool_offer(settings: Settings) -> Callable[[str, str], bool]:
    """Whether a tool is offered to a model: what `tools.enabled` names always is."""
    enabled = frozenset(settings.tools.enabled)
    return lambda tool, model: tool in enabled or is_offered(tool, model)


def decide_server_tools(settings: Settings, kind: SessionKind) -> Callable[[str, bool], bool]:
    """Whether a session of this kind has a tool of an MCP server, by its name and whether it only reads."""
    enabled, disabled = frozenset(settings.tools.enabled), frozenset(settings.tools.disabled)

    def is_offered(name: str, reads_only: bool) -> bool:
        if name in disabled or (enabled and name not in enabled):
            return False
        match kind:
            case SessionKind.AGENT:
                return True
            case SessionKind.ASK:
                return reads_only
            case SessionKind.DISCUSS | SessionKind.DEBATE | SessionKind.REVIEW | SessionKind.EXTERNAL:
                return False

    return is_offered


def choose_offered_agents(agents: AgentCatalog, tools: Mapping[str, Tool]) -> AgentCatalog | None:
    """The agents that are offered to the model: none where it cannot give tasks."""
    return agents if "task" in tools else None
