"""Settings as far as a completion needs them: read from the person's own files, unchecked, and only that.

A project's file is not read. It is a stranger's, and what it names would be offered at the prompt of a shell.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.paths import locate

_LARGEST_BYTES = 1_000_000


def read_own_settings(environ: Mapping[str, str], config_file: Path | None) -> Mapping[str, object]:
    """The file that `--config` or QUORUM_CONFIG names, else the person's own; empty where it cannot be read."""
    try:
        places = locate(cwd=Path("/"), environ=environ, config_file=config_file)
        file = places.named or places.user
        if file is None or not file.is_file() or file.stat().st_size > _LARGEST_BYTES:
            return {}
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (ConfigError, OSError, ValueError, RecursionError):
        return {}


def list_known_servers(settings: Mapping[str, object]) -> tuple[str, ...]:
    """The names of the MCP servers of the settings."""
    return tuple(get_table(get_table(settings, "mcp"), "servers"))


def get_table(settings: Mapping[str, object], name: str) -> Mapping[str, object]:
    """One table of the settings; empty where there is none of this name."""
    table = settings.get(name)
    return table if isinstance(table, dict) else {}
