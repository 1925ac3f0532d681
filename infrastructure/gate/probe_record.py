"""What the last probe of each agent found, kept in the state folder, and which version is installed."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from quorum.application.program_lookup import find_program
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.gate.agent_probe import ProbeResult
from quorum.infrastructure.gate.hook_files import HookChange, HookedAgent, write_change
from quorum.infrastructure.gate.probed_agents import PROBED_AGENTS

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


PROBES_FOLDER = "gate-probes"


def keep_result(result: ProbeResult, environ: Mapping[str, str]) -> None:
    """In place of what was found before. Raises ConfigError where it cannot be written."""
    if (folder := _locate_folder(environ)) is not None:
        path = folder / f"{result.agent}.json"
        try:
            before = path.read_bytes() if path.exists() else None
        except OSError as error:
            raise ConfigError(f"{escape_path(path)} cannot be read: {error.strerror}") from error
        write_change(HookChange(path, before, msgspec.json.encode(result) + b"\n"))


def read_results(environ: Mapping[str, str]) -> Iterator[tuple[str, ProbeResult | ConfigError]]:
    """Each agent that was probed, and what was found, or why that cannot be read. Raises ConfigError where
    nothing of it can be."""
    if (folder := _locate_folder(environ)) is None:
        return
    try:
        kept = set(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise ConfigError(f"{escape_path(folder)} cannot be read: {error.strerror}") from error
    for agent in PROBED_AGENTS:
        path = folder / f"{agent}.json"
        if path.name not in kept:
            continue
        try:
            yield agent, replace(msgspec.json.decode(path.read_bytes(), type=ProbeResult), agent=agent)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            yield agent, ConfigError(f"{escape_path(path)} cannot be read: {error}")


def _locate_folder(environ: Mapping[str, str]) -> Path | None:
    state = locate_state_folder(environ)
    return state / PROBES_FOLDER if state is not None else None
