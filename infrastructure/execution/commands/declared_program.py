"""The command lines that settings declare: which programs they may name, and where those are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from quorum.application.program_lookup import (
    explain_local_package,
    explain_missing,
    filter_environment,
    find_as_shell_does,
    find_local_package,
    find_program,
    pin_runner,
)
from quorum.domain.errors import ConfigError, ToolError


def expand_declared_command(
    command: Sequence[str], where: str, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """The words with a leading ~/ of the program expanded. `where` names the table, as `hooks[0]`.

    Raises ConfigError for a program that would be looked for in the opened folder, and for a NUL character.
    """
    program, *words = command
    if program.startswith("~/") and "HOME" in environment:
        program = environment["HOME"] + program[1:]
    if not program or ("/" in program and not program.startswith("/")):
        raise ConfigError(
            f'{where}.command starts with "{program}", which would be looked for in whatever folder is open; '
            "name the program by its absolute path, by ~/…, or by a name on PATH"
        )
    if any("\0" in word for word in command):
        raise ConfigError(f"{where}.command holds a NUL character, which no program can be given; leave it out")
    return (program, *words)


def find_declared_program(
    name: str, words: Sequence[str], environment: Mapping[str, str], *, cwd: Path, is_confined: bool
) -> tuple[tuple[str, ...], dict[str, str]]:
    """What to start: the absolute path of a program with its words, and its environment. Looks at files.

    `is_confined`: it runs in the sandbox, where one that a command may write does no harm. A path begins at
    `cwd`. Raises ToolError that says why there is none.
    """
    path = environment.get("PATH")
    named = str(cwd / name) if "/" in name else name
    found = find_as_shell_does(named, path) if is_confined else find_program(named, path)
    if found is None:
        raise ToolError(explain_missing(named, path))
    if is_confined:
        return (found, *words), dict(environment)
    if local := find_local_package((name, *words), str(cwd)):
        raise ToolError(explain_local_package((name, *words), local))
    argv, settings = pin_runner((name, *words), found, str(cwd))
    return argv, filter_environment(environment) | settings
