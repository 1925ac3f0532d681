"""Custom slash commands as rows of the menu and the help."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from quorum.domain.text.printable import make_printable
from quorum.tui.keys.slash_commands import Command

if TYPE_CHECKING:
    from quorum.domain.instructions.custom_command import CustomCommand

_LONGEST_HINT = 60


def list_custom_rows(known: Iterable[tuple[str, CustomCommand]]) -> tuple[Command, ...]:
    """The commands, each under the name to type for it, with what it does and the file it comes from."""
    return tuple(_build_row(name, command) for name, command in known)


def _build_row(name: str, command: CustomCommand) -> Command:
    does = f"cannot be used: {command.problem}" if command.problem else command.description
    source = make_printable(command.label, newlines=False)
    return Command(
        name,
        f"{make_printable(does, newlines=False)} ({source})",
        "",
        hint=make_printable(command.argument_hint, newlines=False)[:_LONGEST_HINT],
    )
