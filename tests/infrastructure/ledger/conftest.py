from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quorum.infrastructure.store.ledger.opening import Database, open_database
from tests.infrastructure.ledger.ledger_bench import Clock


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def opened(environ: dict[str, str], clock: Clock) -> Iterator[Callable[[], Database]]:
    """Opens the database in the state folder, as often as asked."""
    databases: list[Database] = []

    def open_again() -> Database:
        databases.append(open_database("", environ, clock=clock))
        return databases[-1]

    yield open_again
    for database in databases:
        database.close()


@pytest.fixture
def database(opened: Callable[[], Database]) -> Database:
    return opened()
