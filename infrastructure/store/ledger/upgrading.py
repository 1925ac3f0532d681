"""The version of a file of SQLite, and bringing it to the one that is needed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from quorum.domain.errors import ConfigError, LedgerError
from quorum.infrastructure.extras import is_installed, render_install_command
from quorum.infrastructure.storage_backend import SchemaState
from quorum.infrastructure.store.ledger.locks import Gate
from quorum.infrastructure.store.ledger.sqlite_file import VERSION, name_revision, translate_database_errors


def read_schema_state(path: Path) -> SchemaState:
    """Which version the file has. Blocks. Raises LedgerError."""
    version = 0
    with translate_database_errors("cannot be read", path):
        if path.exists():
            with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
                version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    found = name_revision(version) if version else ""
    return SchemaState(place=str(path), found=found, needed=name_revision(VERSION), makes_itself=not found)


def upgrade_schema(path: Path) -> SchemaState:
    """Bring an earlier file to the version that is needed, all or nothing; how it was before. Blocks.

    A file that is not there yet is left to the first session, which makes it. Raises LedgerError for a file of
    a newer quorum and for one that is open, and ConfigError where Alembic is missing.
    """
    before = read_schema_state(path)
    if before.found > before.needed:
        raise LedgerError(f"the session ledger {path} was written by a newer quorum; update quorum")
    if before.is_current or before.makes_itself:
        return before
    if not is_installed("alembic"):
        raise ConfigError(f"upgrading the session ledger {path} needs: {render_install_command('postgres')}")
    from quorum.infrastructure.store.migrations.running import upgrade_file

    gate = Gate(path)
    gate.enter()
    try:
        with gate.try_alone() as alone, translate_database_errors("cannot be upgraded", path):
            if not alone:
                raise LedgerError(f"the session ledger {path} is open; end every quorum and upgrade it then")
            upgrade_file(path, begun_at=before.found, version=VERSION)
    finally:
        gate.leave()
    return before
