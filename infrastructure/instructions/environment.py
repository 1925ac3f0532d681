"""Describes the machine and the project to the model."""

from __future__ import annotations

import asyncio
import platform
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from datetime import date
from pathlib import Path

from domain.instructions.environment import Environment, RepositoryState
from domain.shell.command_line import ShellVerdict, ShellVerdictKind
from domain.shell.sandbox import SandboxOn, SandboxState
from infrastructure.config.paths import folders_up_to_repository

_STATUS = "git status --porcelain=v1 --untracked-files=normal"
_PATIENCE_SECS = 2.0
_HEAD_BYTES = 1_000


class MachineEnvironment:
    """Implements `EnvironmentPort`.

    `judge` proves that a command only reads, and says with which variables it does: git runs only so, because
    a repository's own settings can name programs. `variables` are those that commands get; `sandbox` answers
    whether they run in one.
    """

    def __init__(
        self,
        cwd: Path,
        *,
        variables: Mapping[str, str],
        judge: Callable[[str, Path], Awaitable[ShellVerdict]],
        sandbox: Callable[[], Awaitable[SandboxState]],
        command_timeout_secs: int,
        max_tool_turns: int,
    ) -> None:
        self._cwd = cwd
        self._variables = variables
        self._judge = judge
        self._sandbox = sandbox
        self._command_timeout_secs = command_timeout_secs
        self._max_tool_turns = max_tool_turns

    async def describe(self) -> Environment:
        """The surroundings as they are now."""
        repository, sandbox = await asyncio.gather(self._repository(), self._sandbox())
        return Environment(
            cwd=str(self._cwd),
            platform=f"{platform.system()} {platform.release()} ({platform.machine()})",
            shell="bash",
            date=date.today().isoformat(),
            repository=repository,
            sandboxed=isinstance(sandbox, SandboxOn),
            command_timeout_secs=self._command_timeout_secs,
            max_tool_turns=self._max_tool_turns,
        )

    async def _repository(self) -> RepositoryState | None:
        root = folders_up_to_repository(self._cwd)[-1]
        branch = await asyncio.to_thread(_branch, root)
        if branch is None:
            return None
        verdict = await self._judge(_STATUS, self._cwd)
        changes = None
        if verdict.kind is ShellVerdictKind.READ_ONLY:
            changes = await asyncio.to_thread(_changes, self._cwd, {**self._variables, **verdict.environment})
        return RepositoryState(root=str(root), branch=branch, changes=changes)


def _branch(root: Path) -> str | None:
    """The branch that a repository is on; None where there is none, or its state is kept elsewhere."""
    git = root / ".git"
    try:
        if git.is_file():  # a worktree's, or a submodule's: it names the folder
            git = root / _first_line(git).removeprefix("gitdir:").strip()
        head = _first_line(git / "HEAD")
    except (OSError, ValueError):
        return None
    name = head.removeprefix("ref: refs/heads/")
    if not name.isprintable():
        return None
    return name if name != head else head[:12]


def _first_line(path: Path) -> str:
    """The first line of a regular file. Raises OSError."""
    if not path.is_file():  # a pipe would keep whoever opens it waiting
        raise FileNotFoundError(path)
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(_HEAD_BYTES).partition("\n")[0].strip()


def _changes(cwd: Path, environment: dict[str, str]) -> int | None:
    """How many files git finds changed or new; None where that takes too long or cannot be told."""
    try:
        done = subprocess.run(
            _STATUS.split(),
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_SECS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return len(done.stdout.splitlines()) if done.returncode == 0 else None
