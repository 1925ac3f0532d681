"""Custom slash commands of a session: which there are, and what a prompt that is one stands for."""

from __future__ import annotations

from collections.abc import Collection

from quorum.application.ports.instructions import CommandFinder
from quorum.domain.errors import CommandRefused
from quorum.domain.instructions.custom_command import (
    CustomCommand,
    ExpandedCommand,
    choose_names,
    fill_placeholders,
    index_commands,
    parse_command,
)


class CustomCommands:
    """Reads the files anew for each prompt that may be a command: what counts is their present content.

    `reserved` are the names that never are those of a custom command.
    """

    def __init__(self, finder: CommandFinder, *, reserved: Collection[str] = ()) -> None:
        self._finder = finder
        self._reserved = frozenset(reserved)
        self._reported: set[str] = set()
        self.known: tuple[tuple[str, CustomCommand], ...] = ()

    async def refresh(self) -> None:
        """Look anew which there are; afterwards they are `known`, each with the name to type for it."""
        self.known = choose_names(index_commands(await self._finder.find(), self._reserved))

    async def is_known(self, prompt: str) -> bool:
        """Whether a prompt is one of those that there are now."""
        return await self._find(prompt) is not None

    async def expand(self, prompt: str) -> tuple[ExpandedCommand | None, tuple[str, ...]]:
        """What a prompt stands for, None where it is no such command; and sentences for the person.

        Asks them about a command of a project that they do not trust. Raises CommandRefused where it cannot be
        used.
        """
        typed = parse_command(prompt)
        if typed is None or (command := await self._find(prompt)) is None:
            return None, ()
        if command.problem:
            raise CommandRefused(f"/{typed.name} cannot be used: {command.problem}")
        refusal, notices = await self._finder.trust(command)
        if refusal is not None:
            raise CommandRefused(f"/{typed.name} cannot be used: {refusal}")
        expanded = ExpandedCommand(
            name=typed.name,
            file=command.file,
            sha256=command.digest,
            text=fill_placeholders(command, typed.arguments),
            model=command.model,
            allowed_tools=command.allowed_tools,
        )
        if not expanded.text.strip():
            raise CommandRefused(f"/{typed.name} says nothing without arguments; its file is {command.file}")
        new = tuple(notice for notice in command.notices if notice not in self._reported)
        self._reported.update(new)
        return expanded, (*notices, *new)

    async def _find(self, prompt: str) -> CustomCommand | None:
        typed = parse_command(prompt)
        if typed is None or typed.name in self._reserved:
            return None
        commands = index_commands(await self._finder.find(), self._reserved)
        self.known = choose_names(commands)
        return commands.get(typed.name)
