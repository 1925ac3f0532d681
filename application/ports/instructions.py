"""Ports to what a project and the machine tell the agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from quorum.domain.instructions.custom_command import CustomCommand, ExpandedCommand
from quorum.domain.instructions.instruction import InstructionFile, InstructionScope, MemoryDraft
from quorum.domain.instructions.prompt_part import Environment


class InstructionFinder(Protocol):
    """Finds instruction files, and knows which of them the person trusts."""

    @property
    def has_new_folders(self) -> bool:
        """Whether the model has seen a file in a folder in which nothing was looked for yet."""
        ...

    async def find(self) -> tuple[InstructionFile, ...]:
        """Those that hold now, the outermost first: the person's own, those from the project's root to the
        working directory, and those in the folders between that and files that the model has seen."""
        ...

    async def select_trusted(
        self, files: Sequence[InstructionFile], *, in_turn: bool = False
    ) -> tuple[tuple[InstructionFile, ...], tuple[str, ...]]:
        """Those of them that the person trusts, once they were asked about the others; and sentences for the
        person about those that they do not, and about what could not be remembered. `in_turn`: a turn runs, in
        which the person may not want to be asked."""
        ...


class MemoryFilesPort(Protocol):
    """Adds lines to instruction files."""

    async def draft(self, line: str, scope: InstructionScope) -> MemoryDraft:
        """The change that adds a line to the file that holds for this scope. Raises MemoryRefused."""
        ...

    async def write(self, draft: MemoryDraft) -> tuple[str, ...]:
        """Make a change that the person approved, and have the new content trusted where nothing else is in it
        than what they trusted before and this line; sentences for the person. Raises MemoryRefused where the
        file is no longer as it was; nothing is written then."""
        ...


class EnvironmentPort(Protocol):
    async def describe(self) -> Environment:
        """The surroundings as they are now."""
        ...


class CommandFinder(Protocol):
    """Finds custom slash commands, and knows which of them the person trusts."""

    async def find(self) -> tuple[CustomCommand, ...]:
        """Those that there are now: the project's from its root to the working directory, then the person's
        own. Those that cannot be used say why."""
        ...

    async def trust(self, command: CustomCommand) -> tuple[str | None, tuple[str, ...]]:
        """Why this command may not be used, None where it may; the person is asked about one of a project that
        they do not trust yet. And sentences about what could not be remembered."""
        ...


class PromptExpander(Protocol):
    """Knows what a prompt that is a custom command stands for."""

    async def expand(self, prompt: str) -> tuple[ExpandedCommand | None, tuple[str, ...]]:
        """What the model reads in place of the prompt, None where it is no such command; and sentences for
        the person. Raises CommandRefused."""
        ...


_Offer_co = TypeVar("_Offer_co", covariant=True)


class OfferCatalog(Protocol[_Offer_co]):
    """What a session offers the model of one kind: skills, or the agents that have tasks done."""

    async def refresh(self) -> tuple[tuple[_Offer_co, ...], tuple[str, ...]]:
        """Those that are trusted now, once the person was asked about the others; and sentences for them."""
        ...

    async def survey(self) -> tuple[tuple[_Offer_co, bool], ...]:
        """All that there are now, one of each name, each with whether the person trusts it as it is."""
        ...
