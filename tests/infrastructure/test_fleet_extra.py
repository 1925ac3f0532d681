"""What a fleet says where the packages that it needs are not installed."""

from __future__ import annotations

import re

import pytest

from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.extras import render_install_command
from quorum.infrastructure.storage import open_fleet, open_storage
from quorum.infrastructure.store.postgres import backend

TABLE = StorageTable(url="postgresql+psycopg://quorum@db.invalid/quorum")


@pytest.mark.parametrize("missing", [("psycopg",), ("procrastinate",), ("psycopg", "procrastinate")])
def test_a_fleet_asks_for_its_own_extra_whichever_of_its_packages_is_missing(
    missing: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "is_installed", lambda module: module not in missing)

    with pytest.raises(ConfigError) as refused:
        open_fleet(TABLE, {})

    assert str(refused.value) == f"a fleet needs: {render_install_command('fleet')}"


def test_sessions_in_postgresql_ask_for_the_extra_of_the_database_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backend, "is_installed", lambda _module: False)

    with pytest.raises(ConfigError, match=re.escape(render_install_command("postgres"))):
        open_storage(TABLE, {})
