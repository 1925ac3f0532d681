"""Describes the machine and the project to the model."""

from __future__ import annotations

import asyncio
import os
import platform
import stat
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from datetime import date
from pathlib import Path

from quorum.application.program_lookup import filter_environment, find_program
from quorum.domain.instructions.prompt_part import Environment, RepositoryState
from quorum.domain.shell.command_line import ShellVerdict, ShellVerdictKind
from quorum.domain.shell.sandbox import SandboxOn, SandboxState
from quorum.domain.text.git_head import READ_BYTES, parse_git_file, parse_head
from quorum.infrastructure.config.paths import list_folders_up_to_repository
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.files.workspace import escape_path

_STATUS = "git status --porcelain=v1 --untracked-files=normal"
_PATIENCE_SECS = 2.0
_EARLY_SECS = 0.5  # after the session was opened, when the screen has come up
_ANEW_SECS = 0.3  # for what is known already, from the time when the session was opened
_COMMIT_CHARS = 12


class MachineEnvironment:
    """Implements `EnvironmentPort`, and `BackgroundWork`: git may take long, and no prompt should wait for it.

    `judge` proves that a command only reads, and says with which variables it does: git runs only so, because
    a repository's own settings can name programs. `variables` are those that commands get; `sandbox` answers
    whether they run in one.
    """

    def __init__(
        self,
        cwd: Path,
        settings: Settings,
        *,
        variables: Mapping[str, str],
        judge: Callable[[str, Path], Awaitable[ShellVerdict]],
        sandbox: Callable[[], Awaitable[SandboxState]],
    ) -> None:
        self._cwd = cwd
        self._variables = variables
        self._judge = judge
        self._sandbox = sandbox
        self._command_timeout_secs = settings.tools.run_command.timeout_secs
        self._max_tool_turns = settings.agent.max_tool_turns
        self._early: asyncio.Task[Environment] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Look at the surroundings before the first prompt."""
        self._timer = asyncio.get_running_loop().call_later(_EARLY_SECS, self._look_early)

    async def aclose(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._early is not None:
            self._early.cancel()
            await asyncio.wait([self._early])

    def _look_early(self) -> None:
        self._early = asyncio.create_task(self._look(), name="environment")

    async def describe(self) -> Environment:
        """The surroundings as they are now; if that takes too long, as they were at the opening."""
        if self._timer is not None:
            self._timer.cancel()
        early, self._early = self._early, None
        if early is None or not early.done() or early.cancelled() or early.exception() is not None:
            return await (early if early is not None and not early.done() else self._look())
        try:
            return await asyncio.wait_for(self._look(), _ANEW_SECS)
        except TimeoutError:
            return early.result()

    async def _look(self) -> Environment:
        repository, sandbox = await asyncio.gather(self._read_repository(), self._sandbox())
        return Environment(
            cwd=escape_path(str(self._cwd)),
            platform=f"{platform.system()} {platform.release()} ({platform.machine()})",
            shell="bash",
            date=date.today().isoformat(),
            repository=repository,
            sandboxed=isinstance(sandbox, SandboxOn),
            command_timeout_secs=self._command_timeout_secs,
            max_tool_turns=self._max_tool_turns,
        )

    async def _read_repository(self) -> RepositoryState | None:
        root = (await asyncio.to_thread(list_folders_up_to_repository, self._cwd))[-1]
        try:
            branch = await asyncio.to_thread(_read_branch, root)
        except FileNotFoundError:
            return None
        except OSError:
            branch = None
        verdict = await self._judge(_STATUS, self._cwd)
        changes = None
        if verdict.kind is ShellVerdictKind.READ_ONLY:
            changes = await asyncio.to_thread(
                _count_changes, self._cwd, {**self._variables, **verdict.environment}
            )
        return RepositoryState(root=escape_path(str(root)), branch=branch, changes=changes)


def _read_branch(root: Path) -> str | None:
    """The branch that a repository is on, or the beginning of its commit's hash; None where that is not told.

    Raises FileNotFoundError where there is no repository, or its state is kept elsewhere.
    """
    git = root / ".git"
    if git.is_file():  # a worktree's, or a submodule's: it names the folder
        git = root / (parse_git_file(_read_beginning(git)) or ".git")
    return parse_head(_read_beginning(git / "HEAD"), _COMMIT_CHARS)


def _read_beginning(path: Path) -> str:
    """The beginning of a regular file. Raises OSError.

    A link is not followed, as it may lead to any file of the person: where it leads stands for a reference, as
    git once wrote it.
    """
    if path.is_symlink():
        return f"ref: {path.readlink()}"
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # a pipe would keep whoever reads it waiting
            raise FileNotFoundError(path)
        return os.read(descriptor, READ_BYTES).decode("utf-8", "replace")
    finally:
        os.close(descriptor)


def _count_changes(cwd: Path, environment: dict[str, str]) -> int | None:
    """How many files git finds changed or new; None where that takes too long or is not known."""
    program, *words = _STATUS.split()
    if (found := find_program(program, environment.get("PATH"))) is None:
        return None
    try:
        done = subprocess.run(
            (found, *words),
            cwd=cwd,
            env=filter_environment(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_SECS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return len(done.stdout.splitlines()) if done.returncode == 0 else None
