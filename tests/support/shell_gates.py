"""A shell gate over a real folder."""

from __future__ import annotations

import os
from pathlib import Path

from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.shell.command_line import ShellVerdict
from quorum.infrastructure.execution.shell.gate import ShellGate
from quorum.infrastructure.execution.shell.programs import SystemPrograms


def gate_for(*roots: Path, path: str = os.defpath) -> ShellGate:
    policy = PathPolicy(roots=tuple(os.path.realpath(root) for root in roots))
    return ShellGate(policy, SystemPrograms(path, policy))


async def judge(command: str, workspace: Path, *, cwd: Path | None = None) -> ShellVerdict:
    return await gate_for(workspace).judge(command, cwd or workspace)
