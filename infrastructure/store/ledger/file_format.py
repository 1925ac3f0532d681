"""What makes a file of SQLite a database of ours, and how a new one is made."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from infrastructure.store.sql.schema import create_tables

# The version that this program reads and writes, kept in the file as its user_version.
VERSION = 1
# Tells our files from other people's databases: "quor", kept as the application_id.
APPLICATION = 0x71756F72


def name_revision(version: int) -> str:
    """The revision of Alembic that a version of the file is."""
    return f"{version:04}"


def make_tables(connection: Connection) -> None:
    """Make an empty file a database of ours, in the mode in which readers do not wait for writers."""
    connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    create_tables(connection)
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION}")
    connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")
