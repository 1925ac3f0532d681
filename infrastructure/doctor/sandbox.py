"""Whether commands would run in a sandbox here."""

from __future__ import annotations

import os
from collections.abc import Mapping

from domain.review.path_policy import PathPolicy
from domain.shell.sandbox import SandboxOff
from infrastructure.config.schema import RunCommandTable
from infrastructure.doctor.finding import Finding, fail, ok, warn
from infrastructure.execution.sandbox.sandbox import Sandbox


async def sandbox_found(table: RunCommandTable, environ: Mapping[str, str]) -> Finding:
    """Try the sandbox as a session in this folder would. To be repaired only where it is required."""
    sandbox = Sandbox(choice=table.sandbox, policy=PathPolicy(roots=(os.getcwd(),)), environ=environ)
    state = await sandbox.state()
    if not isinstance(state, SandboxOff):
        return ok("sandbox", state.told)
    return (fail if state.required else warn)("sandbox", state.told, state.remedy)
