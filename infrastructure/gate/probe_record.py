"""What the last probe of each agent found, kept in the state folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.gate.agent_probe import ProbeResult
from quorum.infrastructure.gate.hook_files import HookChange, write_change
from quorum.infrastructure.gate.probed_agents import PROBED_AGENTS

PROBES_FOLDER = "gate-probes"


def keep_result(result: ProbeResult, environ: Mapping[str, str]) -> None:
    """In place of what was found before. Raises ConfigError where it cannot be written."""
    if (path := _locate(result.agent, environ)) is not None:
        before = path.read_bytes() if path.exists() else None
        write_change(HookChange(path, before, msgspec.json.encode(result) + b"\n"))


def read_results(environ: Mapping[str, str]) -> Iterator[tuple[str, ProbeResult | ConfigError]]:
    """Each agent that was probed, and what was found, or why that cannot be read."""
    for agent in PROBED_AGENTS:
        path = _locate(agent, environ)
        if path is None or not path.exists():
            continue
        try:
            yield agent, msgspec.json.decode(path.read_bytes(), type=ProbeResult)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            yield agent, ConfigError(f"{escape_path(path)} cannot be read: {error}")


def _locate(agent: str, environ: Mapping[str, str]) -> Path | None:
    state = locate_state_folder(environ)
    return state / PROBES_FOLDER / f"{agent}.json" if state is not None else None
