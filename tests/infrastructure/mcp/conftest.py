"""What the tests of MCP servers have in common."""

from __future__ import annotations

import pytest

from quorum.infrastructure.mcp import connection


@pytest.fixture(autouse=True)
def _time_to_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that a busy machine takes long to start is not greeted in the older way for that."""
    monkeypatch.setattr(connection, "_PROBE_SECS", 60.0)
    monkeypatch.setattr(connection, "_LONGEST_PROBE_SECS", 60.0)
