"""The command lines that settings declare: which programs they may name, and where those are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence

from domain.errors import ConfigError


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


def find_program(name: str, environment: Mapping[str, str]) -> str | None:
    """The absolute path of a program by its name on PATH or its absolute path; None where there is none."""
    return shutil.which(name, path=environment.get("PATH", os.defpath))
