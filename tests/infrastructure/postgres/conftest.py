from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage
from quorum.infrastructure.store.postgres.database import PostgresDatabase
from tests.support.postgres_server import PostgresForTests

Opens = Callable[..., PostgresDatabase]


@pytest.fixture
def url(postgres: PostgresForTests) -> str:
    """The address of an empty ledger."""
    return postgres.new_database()


@pytest.fixture
def machine(url: str, tmp_path: Path) -> Iterator[Opens]:
    """Opens the ledger as a machine of that name does, with a state folder of its own."""
    opened: list[PostgresDatabase] = []

    def opens(name: str = "one") -> PostgresDatabase:
        storage = open_storage(StorageTable(url=url), {"XDG_STATE_HOME": str(tmp_path / name)})
        assert isinstance(storage, PostgresDatabase)
        opened.append(storage)
        return storage

    yield opens
    for storage in opened:
        storage.close()
