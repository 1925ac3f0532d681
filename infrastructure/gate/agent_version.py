"""Which version of an agent is installed."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping

from quorum.application.program_lookup import find_program
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.gate.hook_files import HookedAgent

_VERSION_SECS = 20


def read_version(agent: HookedAgent, environment: Mapping[str, str]) -> str:
    """What the program says its version is in this environment, or why that is not known."""
    program = find_program(agent.program, environment.get("PATH"))
    if program is None:
        return "not found"
    try:
        answer = subprocess.run(
            [program, "--version"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_SECS,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired):
        return "does not answer"
    first = next(iter(answer.stdout.strip().splitlines()), "")
    return make_printable(first)[:40].rstrip(".") or "does not say"


def read_version_alone(agent: HookedAgent, path: str | None) -> str:
    """The same, where the program sees nothing of the person but this PATH."""
    with tempfile.TemporaryDirectory(prefix="quorum-probe-", ignore_cleanup_errors=True) as home:
        return read_version(agent, {"PATH": path or os.defpath, "HOME": home})
