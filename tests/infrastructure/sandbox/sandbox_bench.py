"""What tests of the sandbox share: a home with secrets, a workspace in it, and commands run there."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from quorum.domain.calls.summary import extract_text
from quorum.domain.review.path_policy import NO_CODE, OwnCode, PathPolicy
from quorum.domain.shell.network_hosts import HostList
from quorum.domain.shell.sandbox import SandboxOff
from quorum.infrastructure.execution.network.command_secrets import CommandSecrets
from quorum.infrastructure.execution.sandbox.identity_store import IdentityStore
from quorum.infrastructure.execution.sandbox.preflight import look_for_sandbox
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.execution.sandbox.session_tmp import SessionTmp
from quorum.infrastructure.tools.builtin.run_command import RunCommand
from tests.infrastructure.commands.command_bench import RecordingControls, context_with, tool_in

_STATE = look_for_sandbox(os.environ.get("PATH"))
needs_bubblewrap = pytest.mark.skipif(
    isinstance(_STATE, SandboxOff),
    reason=f"{_STATE.why}; {_STATE.remedy}" if isinstance(_STATE, SandboxOff) else "",
)


@dataclass(kw_only=True)
class Household:
    """A home folder of its own, a workspace in it, and the tool that runs commands there."""

    home: Path
    root: Path
    environ: dict[str, str]
    own: list[Path] = field(default_factory=list)
    more_roots: list[Path] = field(default_factory=list)
    readable: list[str] = field(default_factory=list)
    writable: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    code: OwnCode = NO_CODE
    network: bool = True
    hosts: HostList | None = None
    tmp: SessionTmp | None = None
    identities: IdentityStore | None = None
    secrets: CommandSecrets | None = None

    def write(self, path: str, text: str = "secret\n") -> Path:
        """A file, at a path that begins at the home."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def policy(self) -> PathPolicy:
        return PathPolicy(roots=(str(self.root), *map(str, self.more_roots)), code=self.code)

    def sandbox(self, choice: str = "auto") -> Sandbox:
        return Sandbox(
            choice=choice,  # type: ignore[arg-type]
            policy=self.policy(),
            environ=self.environ,
            own=self.own,
            # The interpreter of the tests may lie in the real home, which is hidden as well.
            readable=[*self.readable, sys.prefix, sys.base_prefix, str(Path(__file__).parents[3])],
            writable=self.writable,
            closed=self.closed,
            links=self.links,
            network=lambda: self.network,
            list_hosts=None if self.hosts is None else lambda: self.hosts or HostList(),
            tmp=self.tmp,
            identities=self.identities,
            secrets=self.secrets,
        )

    def tool(self, choice: str = "auto") -> RunCommand:
        return tool_in(self.root.resolve(), inherited=self.environ, sandbox=self.sandbox(choice))

    async def run(self, command: str, *, was_asked: bool = False, **arguments: int | str) -> str:
        """What a model reads of the command. `was_asked`: a person has approved it."""
        given = {"command": command, **arguments}
        controls = RecordingControls(was_asked=was_asked)
        return extract_text(await self.tool().execute(given, context_with(controls)))


def a_household(folder: Path) -> Household:
    home = folder / "home"
    root = home / "src" / "project"
    root.mkdir(parents=True)
    environ = {"HOME": str(home), "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
    return Household(home=home, root=root, environ=environ)


def git(folder: Path, *words: str) -> None:
    """Git without the settings of whoever runs the tests."""
    names = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com"}
    names |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com"}
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *words],
        cwd=folder,
        env={"PATH": os.environ.get("PATH", os.defpath), **names, **settings},
        check=True,
        capture_output=True,
    )


def a_repository(folder: Path) -> None:
    """A repository with one commit of one file, and who commits to it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.txt").write_text("a\n")
    git(folder, "init", "--quiet")
    git(folder, "config", "user.name", "A")
    git(folder, "config", "user.email", "a@example.com")
    git(folder, "add", "a.txt")
    git(folder, "commit", "--quiet", "--message", "first")
