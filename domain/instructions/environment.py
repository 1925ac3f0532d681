"""What a model should know of the machine and the project that it works in."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.text.amounts import format_amount


class RepositoryState(Struct, frozen=True, kw_only=True):
    """A git repository. `changes` is how many files differ from the last commit, None where that is not known.

    `branch` is a branch's name, or the beginning of a commit's hash; None where that is not known.
    """

    root: str
    branch: str | None
    changes: int | None


class Environment(Struct, frozen=True, kw_only=True):
    """The surroundings of a session when it was opened.

    `date` is written as in 2026-11-23; `sandboxed`: commands run in a sandbox. `command_timeout_secs` is how
    long a command may take unless its call says otherwise, `max_tool_turns` how many rounds of calls one prompt
    may take.
    """

    cwd: str
    platform: str
    shell: str
    date: str
    repository: RepositoryState | None
    sandboxed: bool
    command_timeout_secs: int
    max_tool_turns: int

    @property
    def lines(self) -> tuple[str, ...]:
        """What a model reads about it."""
        return (
            f"Working directory: {self.cwd}",
            f"Git: {self._git}",
            f"Platform: {self.platform}; commands run in {self.shell}",
            f"Date: {self.date}",
            f"Commands: {self._commands}",
            f"Limits: a command ends after {self.command_timeout_secs} seconds unless its call sets another "
            f"limit; a prompt may take {format_amount(self.max_tool_turns, 'round')} of tool calls",
        )

    @property
    def _git(self) -> str:
        if self.repository is None:
            return "not a repository"
        state = {None: "", 0: ", no uncommitted changes", 1: ", 1 file with uncommitted changes"}.get(
            self.repository.changes, f", {self.repository.changes} files with uncommitted changes"
        )
        branch = "an unknown branch" if self.repository.branch is None else f'"{self.repository.branch}"'
        return f"repository {self.repository.root}, on {branch}{state}, as the session began"

    @property
    def _commands(self) -> str:
        if self.sandboxed:
            return (
                "run in a sandbox, which lets them write in the working directory and in a /tmp of the "
                "session only; the network may be off"
            )
        return "run without a sandbox"
