"""MCP servers that a person is likely to name."""

from __future__ import annotations

from collections.abc import Mapping

from infrastructure.completion.known_settings import table_of


def list_known_servers(settings: Mapping[str, object]) -> tuple[str, ...]:
    """Those of the settings."""
    return tuple(table_of(table_of(settings, "mcp"), "servers"))
