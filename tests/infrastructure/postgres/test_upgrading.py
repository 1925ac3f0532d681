"""The version of the tables is looked at without Alembic, which brings them to the newest, all or nothing."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from quorum.domain.errors import LedgerError
from quorum.domain.events.event import TurnStarted
from quorum.domain.review.questions import RemoteAnswer
from quorum.domain.sessions.session_summary import ContinuedSession
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage, read_schema_state, upgrade_schema
from quorum.infrastructure.store.ledger import sqlite_file, upgrading
from quorum.infrastructure.store.ledger.sqlite_file import VERSION, name_revision
from quorum.infrastructure.store.migrations import running
from quorum.infrastructure.store.postgres import connection as postgres_connection
from quorum.infrastructure.store.postgres import server
from quorum.infrastructure.store.postgres import upgrading as postgres_upgrading
from quorum.infrastructure.store.postgres.address import parse_address
from quorum.infrastructure.store.postgres.connection import REVISION

NEXT = """
from alembic import op
import sqlalchemy as sa

revision = "0006"
down_revision = "0005"

def upgrade():
    op.add_column("sessions", sa.Column("colour", sa.Text))
    {more}
"""


@pytest.fixture
def sqlite_table(tmp_path: Path) -> StorageTable:
    """A ledger in SQLite with nothing in it."""
    table = StorageTable(url=f"sqlite:///{tmp_path}/ledger.sqlite")
    open_storage(table, {}).close()
    return table


def add_revision(folder: Path, monkeypatch: pytest.MonkeyPatch, more: str = "") -> None:
    """What a later version of this program would bring."""
    (folder / "later").mkdir()
    (folder / "later" / "v0005.py").write_text(NEXT.format(more=more))
    configure = running._configure

    def configure_with_later():
        config = configure()
        config.set_main_option("path_separator", "os")
        config.set_main_option("version_locations", f"{running._FOLDER / 'versions'}:{folder / 'later'}")
        return config

    monkeypatch.setattr(running, "_configure", configure_with_later)
    for module in (server, postgres_connection, postgres_upgrading):
        monkeypatch.setattr(module, "REVISION", "0006")
    for module in (sqlite_file, upgrading):
        monkeypatch.setattr(module, "VERSION", 3)


def columns_of_sessions(path: str) -> list[str]:
    with sqlite3.connect(path) as connection:
        return [row[1] for row in connection.execute("PRAGMA table_info(sessions)")]


def test_the_newest_revision_is_the_one_that_postgresql_expects_and_a_file_needs_none_of_its_own():
    newest = ScriptDirectory.from_config(running._configure()).get_current_head()
    assert newest == REVISION == "0005"
    assert name_revision(VERSION) == "0001"


def test_a_file_of_an_earlier_version_takes_an_answer_to_a_review(tmp_path):
    storage = open_storage(StorageTable(url=f"sqlite:///{tmp_path}/ledger.sqlite"), {})
    with sqlite3.connect(tmp_path / "ledger.sqlite") as earlier:
        earlier.execute("DROP TABLE review_answers")

    assert asyncio.run(storage.answers.find("s", "5f")) is None
    answer = RemoteAnswer(
        session_id="s", digest="5f", approves=True, reason=None, answered_by="ada@laptop", at_ms=1
    )
    assert asyncio.run(storage.answers.add(answer)) == answer
    assert asyncio.run(storage.answers.find("s", "5f")) == answer
    storage.close()


def test_tables_are_made_in_an_empty_database_and_a_second_upgrade_changes_nothing(postgres):
    table = StorageTable(url=postgres.create_database("to_be_made"))

    assert not read_schema_state(table, {}).is_current
    assert upgrade_schema(table, {}).found == ""
    assert upgrade_schema(table, {}).found == REVISION
    assert read_schema_state(table, {}).is_current
    open_storage(table, {}).close()


def test_a_later_revision_is_asked_for_and_made_in_postgresql(postgres, tmp_path, monkeypatch):
    table = StorageTable(url=postgres.new_database())
    add_revision(tmp_path, monkeypatch)

    with pytest.raises(
        LedgerError, match=r"earlier quorum \(0005, this one needs 0006\); run quorum db upgrade"
    ):
        open_storage(table, {})
    assert upgrade_schema(table, {}).found == "0005"

    assert read_schema_state(table, {}).is_current
    open_storage(table, {}).close()


async def test_a_quorum_goes_on_with_tables_to_which_a_newer_one_only_added(postgres):
    table = StorageTable(url=postgres.new_database())
    running = await asyncio.to_thread(open_storage, table, {})
    with postgres.connect(parse_address(table.url).database) as connection:
        connection.execute(f"UPDATE alembic_version SET version_num = '{REVISION}.01'")
        connection.execute("CREATE TABLE added (colour text)")

    started = await asyncio.to_thread(open_storage, table, {})
    for number, storage in enumerate((running, started)):
        opened = await asyncio.to_thread(storage.open_session, ContinuedSession(f"s{number}"), cwd="/work")
        await opened.ledger.append(TurnStarted(prompt="go"))
        await opened.ledger.aclose()
        await asyncio.to_thread(storage.close)

    assert read_schema_state(table, {}).is_current
    assert upgrade_schema(table, {}).found == f"{REVISION}.01"
    with postgres.connect(parse_address(table.url).database) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(f"{REVISION}.01",)]


def test_a_revision_that_fails_changes_nothing_in_postgresql(postgres, tmp_path, monkeypatch):
    table = StorageTable(url=postgres.new_database())
    add_revision(tmp_path, monkeypatch, 'op.execute("SELECT nonsense")')

    with pytest.raises(LedgerError, match="cannot be upgraded"):
        upgrade_schema(table, {})

    with postgres.connect(parse_address(table.url).database) as connection:
        found = connection.execute("SELECT FROM information_schema.columns WHERE column_name = 'colour'")
        assert found.fetchall() == []
    assert read_schema_state(table, {}).found == "0005"


def test_a_later_revision_is_asked_for_and_made_in_sqlite(sqlite_table, tmp_path, monkeypatch):
    add_revision(tmp_path, monkeypatch)

    with pytest.raises(LedgerError, match=r"earlier quorum .* run quorum db upgrade"):
        open_storage(sqlite_table, {})
    assert upgrade_schema(sqlite_table, {}).found == "0001"

    assert read_schema_state(sqlite_table, {}).is_current
    assert "colour" in columns_of_sessions(f"{tmp_path}/ledger.sqlite")
    open_storage(sqlite_table, {}).close()


def test_a_revision_that_fails_changes_nothing_in_sqlite(sqlite_table, tmp_path, monkeypatch):
    add_revision(tmp_path, monkeypatch, 'op.execute("SELECT nonsense")')

    with pytest.raises(LedgerError, match="cannot be upgraded"):
        upgrade_schema(sqlite_table, {})

    assert read_schema_state(sqlite_table, {}).found == "0001"
    assert "colour" not in columns_of_sessions(f"{tmp_path}/ledger.sqlite")


def test_a_file_that_is_open_is_not_upgraded(sqlite_table, tmp_path, monkeypatch):
    storage = open_storage(sqlite_table, {})
    add_revision(tmp_path, monkeypatch)

    with pytest.raises(LedgerError, match="is open; end every quorum"):
        upgrade_schema(sqlite_table, {})

    storage.close()


def test_a_file_that_is_not_there_yet_is_left_to_the_first_session(tmp_path):
    table = StorageTable(url=f"sqlite:///{tmp_path}/none.sqlite")

    assert read_schema_state(table, {}).makes_itself
    assert upgrade_schema(table, {}).found == ""
    assert not (tmp_path / "none.sqlite").exists()
