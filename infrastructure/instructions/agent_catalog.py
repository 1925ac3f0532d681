"""The agent definitions of a session: found, and trusted by the content of their files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from quorum.application.ports.people import Approver
from quorum.domain.errors import ToolError
from quorum.domain.instructions.agent_definition import AgentDefinition
from quorum.domain.instructions.offer_list import shorten
from quorum.domain.sessions.trust import TrustContent
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.nearest import find_nearest_word
from quorum.infrastructure.instructions.agent_files import AgentFiles
from quorum.infrastructure.instructions.trusted_offers import SUMMARY_LENGTH, OfferKind, TrustedOffers
from quorum.infrastructure.trust.decisions import TrustDecisions


class AgentCatalog:
    """Implements `AgentDefinitions`. What can be named is what was trusted when the present turn began, with
    the content that it had then."""

    def __init__(self, files: AgentFiles, *, decisions: TrustDecisions, approver: Approver, cwd: Path) -> None:
        self._offers = TrustedOffers(
            AGENTS, files.find, project=files.project, decisions=decisions, approver=approver, cwd=cwd
        )

    async def refresh(self) -> tuple[tuple[AgentDefinition, ...], tuple[str, ...]]:
        """Those that are trusted now, one of each name, once the person was asked about the others; and
        sentences about what cannot be used or is not followed."""
        notices = await self._offers.refresh()
        notices += [notice for each in self._offers.trusted for notice in each.notices]
        return self._offers.trusted, tuple(notices)

    async def survey(self) -> tuple[tuple[AgentDefinition, bool], ...]:
        """All that there are now, one of each name, each with whether the person trusts it as it is. Nobody is
        asked."""
        return await self._offers.survey()

    def find(self, name: str) -> AgentDefinition:
        found = self._offers.get_trusted(name)
        if found is not None:
            return found
        near = find_nearest_word(name, [each.name for each in self._offers.trusted])
        hint = f"did you mean {near}? " if near is not None else ""
        raise ToolError(
            f"there is no agent {shorten(name, 80)!r}; {hint}Those that can be named: {self._offers.names}. "
            "Without a name the usual subagent does the task"
        )


def _list_wants(definition: AgentDefinition) -> Iterator[str]:
    lines = definition.instructions.splitlines()
    yield (
        f"the agent {definition.name}, to which the model may give tasks: {format_amount(len(lines), 'line')} "
        "of instructions"
    )
    yield f"it has {definition.means}; each of its calls is reviewed as any other"
    if definition.model:
        yield f"it asks for the model {definition.model}"
    yield shorten(definition.description, SUMMARY_LENGTH)


def _render_text(definition: AgentDefinition) -> Iterator[str]:
    yield f"description: {shorten(definition.description, 2_000)}"
    yield from definition.instructions.splitlines()


def _describe(definition: AgentDefinition) -> TrustContent:
    return TrustContent(
        digest=definition.digest, wants=tuple(_list_wants(definition)), text=tuple(_render_text(definition))
    )


AGENTS: OfferKind[AgentDefinition] = OfferKind("agent", lambda definition: definition.file, _describe)
