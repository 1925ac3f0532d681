"""The gate: whether a shell command is proved to do nothing but read what may be read without asking."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from domain.review.path_policy import PathPolicy
from domain.shell.command_line import JudgedCommand, ShellVerdict, ShellVerdictKind, SimpleCommand
from domain.shell.git_commands import GIT_ENVIRONMENT
from domain.shell.refused_options import refused_options
from infrastructure.execution.shell.inspection import Inspection
from infrastructure.execution.shell.parsing import parse
from infrastructure.execution.shell.programs import SystemPrograms

READ_ONLY_ENVIRONMENT: Mapping[str, str] = {
    **GIT_ENVIRONMENT,
    # Else `cd` could enter a folder elsewhere, and ripgrep could be told to run a program on each file.
    "CDPATH": "",
    "RIPGREP_CONFIG_PATH": "",
    # With it, globs stand for hidden files as well.
    "GLOBIGNORE": "",
}


class ShellGate:
    """Judges the commands of one workspace.

    It starts nothing and changes nothing: it looks at names and links, and reads the settings and the index of
    git repositories. Judging takes milliseconds, more where folders are looked through for sensitive files.
    """

    def __init__(self, policy: PathPolicy, programs: SystemPrograms) -> None:
        self._policy = policy
        self._programs = programs

    async def judge(self, command: str, cwd: Path) -> ShellVerdict:
        """What can be told of a command that would run in `cwd`; works in a thread of its own."""
        return await asyncio.to_thread(self._judge, command, cwd)

    def _judge(self, command: str, cwd: Path) -> ShellVerdict:
        line = parse(command)
        if line.unclear is not None:
            return ShellVerdict(
                kind=ShellVerdictKind.ASK,
                reason=f"what it does cannot be told: {line.unclear}",
                parts=tuple(JudgedCommand(part, line.unclear) for part in line.commands),
                unclear=line.unclear,
            )
        verdict = self._judge_commands(line.commands, cwd)
        if line.expanded is None or verdict.is_read_only:
            return verdict
        # Rules are about the words that programs get, and these are others.
        return replace(verdict, unclear=line.expanded)

    def _judge_commands(self, commands: Sequence[SimpleCommand], cwd: Path) -> ShellVerdict:
        inspection = Inspection(os.path.realpath(cwd), self._policy, self._programs)
        parts = tuple(judged for command in commands for judged in _judged(inspection, command))
        objection = next((part.objection for part in parts if part.objection is not None), None)
        return ShellVerdict(
            kind=ShellVerdictKind.READ_ONLY if objection is None else ShellVerdictKind.ASK,
            reason=objection or "it only reads, inside the workspace",
            parts=parts,
            paths_read=tuple(dict.fromkeys(inspection.read)),
            paths_written=tuple(dict.fromkeys(inspection.written)),
            environment=READ_ONLY_ENVIRONMENT if objection is None else {},
        )


def _judged(inspection: Inspection, command: SimpleCommand) -> Iterator[JudgedCommand]:
    objection = inspection.objection(command)
    for variant in inspection.as_run(command) if command.globs else (command,):
        yield JudgedCommand(variant, objection, refused_options(variant.words))
