"""Bringing the tables of a database to the newest revision."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy.engine import Connection

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
