"""The storage backend for PostgreSQL. Loads nothing of the database until it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.domain.errors import ConfigError
from quorum.infrastructure.extras import is_installed, render_install_command
from quorum.infrastructure.storage_backend import BlobPlace, SchemaState, StorageBackend
from quorum.infrastructure.store.postgres.address import (
    SCHEME,
    PostgresAddress,
    list_password_files,
    parse_address,
)

if TYPE_CHECKING:
    from quorum.application.ports.fleet import Fleet
    from quorum.application.ports.storage import Storage


def _open(url: str, environ: Mapping[str, str], blobs: BlobPlace) -> Storage:
    address = _parse_usable(url)
    from quorum.infrastructure.store.postgres.database import PostgresDatabase  # it loads SQLAlchemy

    return PostgresDatabase(address, environ, blobs=blobs)


def _read_state(url: str, environ: Mapping[str, str]) -> SchemaState:
    address = _parse_usable(url)
    from quorum.infrastructure.store.postgres.upgrading import read_schema_state

    return read_schema_state(address, environ)


def _upgrade(url: str, environ: Mapping[str, str]) -> SchemaState:
    address = _parse_usable(url)
    from quorum.infrastructure.store.postgres.upgrading import upgrade_schema

    return upgrade_schema(address, environ)


def _open_fleet(url: str, environ: Mapping[str, str]) -> Fleet:
    address = parse_address(url)
    if not (is_installed("psycopg") and is_installed("procrastinate")):
        raise ConfigError(f"a fleet needs: {render_install_command('fleet')}")
    from quorum.infrastructure.store.postgres.fleet import PostgresFleet

    return PostgresFleet(address, environ)


def _parse_usable(url: str) -> PostgresAddress:
    address = parse_address(url)
    if not is_installed("psycopg"):
        raise ConfigError(f"storage.url names PostgreSQL, which needs: {render_install_command('postgres')}")
    return address


def _list_files(url: str, environ: Mapping[str, str]) -> list[Path]:
    """The file with the password, which no command of a model may read."""
    parse_address(url)
    return list_password_files(environ)


BACKEND = StorageBackend(
    scheme=SCHEME,
    url_form=f"the address of a PostgreSQL database, {SCHEME}://USER@HOST/NAME",
    # What is wrong with the rest is said when it is opened, by an error that does not repeat it.
    accepts=lambda url: url.startswith(f"{SCHEME}://"),
    open=_open,
    list_files=_list_files,
    read_state=_read_state,
    upgrade=_upgrade,
    open_fleet=_open_fleet,
)
