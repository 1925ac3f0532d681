"""Finds custom slash commands, and asks the person about those of a project that are not trusted."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from quorum.application.ports.people import Approver
from quorum.domain.instructions.custom_command import CustomCommand
from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.sessions.trust import TrustContent
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.config.paths import resolve_trusted_place
from quorum.infrastructure.instructions.command_files import CommandFiles
from quorum.infrastructure.trust.decisions import TrustDecisions


class TrustedCommands:
    """Implements `CommandFinder`. The person's own commands need no trust: only they themselves use them."""

    def __init__(
        self, files: CommandFiles, *, decisions: TrustDecisions, approver: Approver, cwd: Path
    ) -> None:
        self._files = files
        self._decisions = decisions
        self._approver = approver
        self._cwd = cwd

    async def find(self) -> tuple[CustomCommand, ...]:
        """Those that there are now."""
        return await asyncio.to_thread(self._files.find)

    async def trust(self, command: CustomCommand) -> tuple[str | None, tuple[str, ...]]:
        """Why this command may not be used, None where it may; and sentences about what could not be
        remembered."""
        untrusted, problems = await self._decisions.settle(
            list_wanted_commands([command]), self._files.project, self._approver
        )
        if not untrusted:
            return None, tuple(problems)
        state = "has changed since you trusted it" if untrusted[0].changed else "is not trusted"
        folder = shlex.quote(make_printable(str(self._cwd), newlines=False))
        return (
            f"{make_printable(command.file)} {state}; to look at it and trust it: "
            f"quorum -C {folder} config trust"
        ), ()


def list_wanted_commands(commands: Iterable[CustomCommand]) -> dict[Path, TrustContent]:
    """For each command of a project that can be used: its place, and what it holds."""
    return {
        resolve_trusted_place(Path(command.file)): TrustContent(
            digest=command.digest,
            wants=tuple(_list_wants(command)),
            text=tuple(command.body.strip().splitlines()),
        )
        for command in commands
        if command.scope is InstructionScope.PROJECT and not command.problem
    }


def _list_wants(command: CustomCommand) -> Iterator[str]:
    lines = command.body.strip().splitlines()
    yield f"the slash command /{command.name}, sent only when you type it: {format_amount(len(lines), 'line')}"
    if command.model:
        yield f"it asks for the model {command.model}"
    if command.allowed_tools is not None:
        yield f"it narrows what may change something to: {', '.join(command.allowed_tools) or 'nothing'}"
