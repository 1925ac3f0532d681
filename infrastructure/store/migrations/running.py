"""Bringing the tables of a database, or a file of SQLite, to the newest revision."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

_FOLDER = Path(__file__).parent


def run_upgrade(connection: Connection, *, begun_at: str | None = None) -> None:
    """Run the revisions that are missing, in the transaction of this connection.

    `begun_at` is the revision of a database in which Alembic has left no mark yet.
    """
    config = _configure()
    config.attributes["connection"] = connection
    if begun_at is not None:
        command.stamp(config, begun_at)
    command.upgrade(config, "head")


def _configure() -> Config:
    config = Config()
    # A percent sign in the path would begin a reference to another setting.
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    return config


def upgrade_file(path: Path, *, begun_at: str, version: int) -> None:
    """Run the revisions that come after `begun_at`, and note the new version: all or nothing.

    Blocks. Raises sqlite3.Error.
    """
    try:
        with _make_engine(path).begin() as connection:
            run_upgrade(connection, begun_at=begun_at)
            connection.exec_driver_sql(f"PRAGMA user_version = {version}")
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise error.orig from error
        raise


def _make_engine(path: Path) -> Engine:
    """Connections whose transactions hold changes of the schema, too: the driver's own begin after these."""
    engine = create_engine(URL.create("sqlite+pysqlite", database=str(path)), poolclass=NullPool)
    event.listen(engine, "connect", _leave_transactions_to_us)
    event.listen(engine, "begin", _begin)
    return engine


def _leave_transactions_to_us(connection: Any, _record: object) -> None:
    connection.isolation_level = None


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
