"""What one command will be held to, told before it runs, and what is to be said once it has."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from infrastructure.execution.sandbox.new_protected_paths import ProtectedPathCheck

_SIGNALLED = {128 + each.value: each.name for each in signal.Signals}
_READ_ONLY = "Read-only file system"
# What the system and usual programs say where there is no network.
_UNREACHABLE = (
    "Network is unreachable",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Could not resolve host",
    "Couldn't resolve host",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A command line as it is really run.

    `is_confined` tells whether that is inside a sandbox; `is_complete` whether the whole workspace could be
    looked through for protected and sensitive files; `has_network` whether it reaches the network; `check`
    looks for protected paths that it makes; `notes` are sentences about it.
    """

    argv: tuple[str, ...]
    is_confined: bool = False
    is_complete: bool = True
    has_network: bool = True
    check: ProtectedPathCheck | None = None
    notes: tuple[str, ...] = ()

    def background(self, ended: int) -> int:
        """How many of the processes that were ended are the command's: the first one is the sandbox's own."""
        return ended - 1 if self.is_confined and ended else ended

    def finish(self, *, was_asked: bool) -> list[str]:
        """Set aside protected paths that the command made and nobody was asked about, and say so.

        Call it once nothing of the command is alive, however it ended, and off the event loop.
        """
        return self.check.finish(was_asked=was_asked) if self.check is not None else []

    def remarks(self, exit_code: int | None, output: str) -> list[str]:
        """What there is to say of the sandbox once the command has ended, a sentence each."""
        if not self.is_confined:
            return []
        said: list[str] = [*self.notes]
        if exit_code in _SIGNALLED:
            said.append(f"in the sandbox exit code {exit_code} may stand for {_SIGNALLED[exit_code]}")
        if _READ_ONLY in output:
            said.append(
                "in the sandbox commands write in the workspace only, and there not to protected paths such as "
                ".git; the person can open more with tools.run_command.sandbox_writable (docs/sandbox.md)"
            )
        if not self.has_network and exit_code != 0 and any(text in output for text in _UNREACHABLE):
            said.append(
                "it may have failed because the sandbox has no network; unless tools.run_command.network is "
                "off, a command that the person approves in the mode ask has it (docs/sandbox.md)"
            )
        if not self.is_complete:
            said.append(
                "the workspace is too large to be looked through: protected and sensitive files deep in it "
                "were not kept from the command"
            )
        return said


Line: TypeAlias = Callable[[Sequence[str], Path, Mapping[str, str]], Launch]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """The limits of a command. `description` is part of what a review approves; None if no sandbox was asked
    for. `network` says whether the command reaches the network.
    """

    description: str | None = None
    network: bool = True
    line: Line | None = None

    @property
    def is_closed(self) -> bool:
        """Whether the command runs inside a sandbox, and without network."""
        return self.line is not None and not self.network

    def launch(self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> Launch:
        """The command line to run, which begins with a program's absolute path. Reads folders; call it off the
        event loop.
        """
        return self.line(argv, cwd, environment) if self.line is not None else Launch(argv=tuple(argv))
