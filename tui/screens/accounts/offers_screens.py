"""The screens of `/skills`, `/agents` and `/lsp`: what there is, and whether the model may use it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from textual.content import Content

from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.accounts.mcp_screen import STYLES, indent_lines
from quorum.tui.screens.accounts.sheet import AccountSheet, wrap_text
from quorum.tui.widgets.colours import QUIET

if TYPE_CHECKING:
    from quorum.domain.calls.diagnostics import LanguageServerStatus


if TYPE_CHECKING:
    from quorum.domain.instructions.offer_list import AgentDefinition, Skill

    _Offer: TypeAlias = AgentDefinition | Skill

_NO_AGENTS = (
    "There are no agents in .claude/agents and .agents/agents, neither of this project nor your own. Tasks are "
    "done by the usual subagent, whose tools only look."
)
_NO_SKILLS = "There are no skills in .claude/skills and .agents/skills, neither of this project nor your own."
_ASKED = "not trusted yet: asked about with your next prompt"


class SkillsScreen(AccountSheet):
    """Shows skills, each with whether it is trusted as it is, and where it lies."""

    HEADING = "Skills"

    def __init__(self, skills: Sequence[tuple[Skill, bool]]) -> None:
        super().__init__()
        self._skills = tuple(skills)

    def build_lines(self, width: int) -> Iterator[Content]:
        """Name and state of each, what it is for, and where it lies."""
        if not self._skills:
            yield from wrap_text(_NO_SKILLS, width)
        for place, (skill, is_trusted) in enumerate(self._skills):
            yield from _draw_offer(skill, is_trusted, (skill.label,), width, is_first=not place)


class AgentsScreen(AccountSheet):
    """Shows agent definitions, each with whether it is trusted as it is, and what it may have."""

    HEADING = "Agents"

    def __init__(self, agents: Sequence[tuple[AgentDefinition, bool]]) -> None:
        super().__init__()
        self._agents = tuple(agents)

    def build_lines(self, width: int) -> Iterator[Content]:
        """Name and state of each, what it is for, its tools and model, and where it lies."""
        if not self._agents:
            yield from wrap_text(_NO_AGENTS, width)
        for place, (agent, is_trusted) in enumerate(self._agents):
            model = f" · model {agent.model}" if agent.model else ""
            means = () if agent.problem else (f"{agent.means}{model}",)
            source = f"{agent.label} ({'your own' if agent.scope == 'user' else 'of the project'})"
            yield from _draw_offer(agent, is_trusted, (*means, source), width, is_first=not place)


def _draw_offer(
    offer: _Offer, is_trusted: bool, details: Sequence[str], width: int, *, is_first: bool
) -> Iterator[Content]:
    if not is_first:
        yield Content("")
    state = "cannot be used" if offer.problem else "trusted" if is_trusted else _ASKED
    yield Content.assemble((make_printable(offer.name, newlines=False), "bold"), (f"  {state}", QUIET))
    yield from wrap_text(offer.problem or offer.description, width)
    for detail in details:
        yield from (line.stylize(QUIET) for line in wrap_text(detail, width))


_NONE = "The settings name no language server. A table [lsp.NAME] with a command and languages adds one."


class LanguageServersScreen(AccountSheet):
    """Shows the servers as they were when it was opened."""

    HEADING = "Language servers"

    def __init__(self, servers: Sequence[LanguageServerStatus]) -> None:
        super().__init__()
        self._servers = tuple(servers)

    def build_lines(self, width: int) -> Iterator[Content]:
        """Name and state of each, what it serves and found, and what went wrong."""
        if not self._servers:
            yield from indent_lines(_NONE, width)
        for place, server in enumerate(self._servers):
            if place:
                yield Content("")
            yield Content.assemble(
                (server.name, "bold"),
                "  ",
                (server.state.value, STYLES.get(server.state.value, QUIET)),
                (f"  {make_printable(server.version, newlines=False)}".rstrip(), QUIET),
            )
            about = f"{', '.join(server.languages)}: {server.command}"
            yield from (line.stylize(QUIET) for line in indent_lines(about, width))
            if server.state.value == "running":
                found = (format_amount(server.errors, "error"), format_amount(server.warnings, "warning"))
                yield from indent_lines(f"{' and '.join(found)} in the files that it was asked about", width)
            if server.state.value == "not started":
                yield from indent_lines("it starts with the first edit of or question about its files", width)
            if server.problem:
                yield from (line.stylize("$text-error") for line in indent_lines(server.problem, width))
                yield from indent_lines(f"/lsp restart {server.name} tries again", width)
