"""The screens of `/skills` and `/agents`: what there is, and whether the model may use it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from textual.content import Content

from quorum.domain.text.printable import make_printable
from quorum.tui.screens.accounts.sheet import AccountSheet, wrap_text
from quorum.tui.widgets.colours import QUIET

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
