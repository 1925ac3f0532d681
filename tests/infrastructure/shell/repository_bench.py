"""What tests of git repositories share: git without anybody's settings, and commands run as judged."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from quorum.infrastructure.execution.commands.environment import build_command_environment


def git(repository: Path, *words: str, env: Mapping[str, str] | None = None) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(repository)}
    people = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", *words],
        cwd=repository,
        env={**os.environ, **own, **people, **(env or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def run_as_judged(command: str, cwd: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-c", "--", command],
        cwd=cwd,
        env={**build_command_environment(os.environ, ()), **environment, "HOME": str(cwd)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def mark_of(repository: Path) -> Path:
    return repository.parent / "mark"
