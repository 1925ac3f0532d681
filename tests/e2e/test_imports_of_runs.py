"""What `quorum run` loads: nothing that draws a screen, and no library of databases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.headless_run import environment

_DATABASES = ("sqlalchemy", "alembic", "psycopg")
_UNUSED = (
    "textual",
    "opentelemetry",
    "cbor2",
    "anthropic",
    "openai",
    "pydantic_core",
    "jsonschema",
    *_DATABASES,
)
MOST_MODULES = 450
"""Of quorum, to list a folder: each takes 0.2 ms. What few runs need is imported where it is used."""


def test_a_run_without_a_screen_loads_nothing_that_draws_one_and_no_library_of_databases(
    tmp_path: Path,
) -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "quorum", "run", "list ."],
        cwd=tmp_path,
        env=environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines() if "|" in line}
    assert {
        "quorum.application.session.agent_session",
        "quorum.infrastructure.store.ledger.opening",
        "sqlite3",
    } <= loaded
    assert not {name for name in loaded if name.partition(".")[0] in _UNUSED}
    assert "quorum.domain.review.hazards.inspection" not in loaded  # no command was looked at
    own = {name for name in loaded if name.partition(".")[0] == "quorum"}
    assert len(own) <= MOST_MODULES, len(own)
