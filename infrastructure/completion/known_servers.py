"""MCP servers that a person is likely to name."""

from __future__ import annotations

from collections.abc import Mapping

from infrastructure.completion.known_settings import get_table


def list_known_servers(settings: Mapping[str, object]) -> tuple[str, ...]:
    """Those of the settings."""
    return tuple(get_table(get_table(settings, "mcp"), "servers"))
