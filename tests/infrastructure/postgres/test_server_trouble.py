"""A server that is away, refuses or is of the wrong kind: a sentence that names the place and the remedy."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from quorum.application.event_bus import EventBus
from quorum.domain.errors import ConfigError, LedgerError
from quorum.domain.events.event import CallStarted, ErrorOccurred, TurnStarted, VoteCast
from quorum.domain.sessions.session_summary import NewSession
from quorum.infrastructure import blocking
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage
from quorum.infrastructure.store.postgres.address import parse_address
from quorum.infrastructure.store.postgres.server import PostgresServer
from tests.support.builders import a_context
from tests.support.fake_ports import RecordingObserver
from tests.support.postgres_server import USER, PostgresForTests, remove_postgres, start_postgres


def opening(url: str, **environ: str) -> None:
    open_storage(StorageTable(url=url), {"HOME": "/nonexistent", **environ})


@pytest.fixture(scope="module")
def own_server():
    """A server of these tests alone, to be stopped and set up otherwise."""
    server = start_postgres()
    yield server
    remove_postgres(server)


def test_a_server_that_is_away_is_named_with_what_to_do(tmp_path):
    with pytest.raises(LedgerError) as caught:
        opening(f"postgresql+psycopg://{USER}@/ledger?host={tmp_path}")

    assert f"postgresql+psycopg://{USER}@{tmp_path}/ledger cannot be opened: the server does not answer" in str(
        caught.value
    )
    assert "start it, or correct [storage] url" in str(caught.value)


def test_a_server_is_given_up_also_where_one_try_takes_longer_than_it_is_waited_for(tmp_path, monkeypatch):
    server = PostgresServer(parse_address(f"postgresql+psycopg://{USER}@/ledger?host={tmp_path}"), {})
    server._outage.patience_secs = 60.0
    clock = iter(range(0, 1000, 100))  # each look at it is 100 s after the one before
    monkeypatch.setattr(blocking, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda _: None))

    with pytest.raises(OperationalError):
        server.connect()


def test_a_database_that_is_missing_is_named_with_what_to_do(postgres):
    with pytest.raises(LedgerError, match=r"/absent cannot be opened: there is no such database; create it"):
        opening(postgres.url("absent"))


def test_a_database_without_tables_leads_to_the_upgrade(postgres):
    with pytest.raises(LedgerError, match="empty holds no ledger yet; run quorum db upgrade"):
        opening(postgres.create_database("empty"))


@pytest.mark.parametrize(
    ("revision", "remedy"), [("0000", "run quorum db upgrade"), ("9999", "newer quorum .* update quorum")]
)
def test_tables_of_another_version_are_not_touched(postgres, revision, remedy):
    url = postgres.new_database()
    with postgres.connect(parse_address(url).database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = %s", (revision,))

    with pytest.raises(LedgerError, match=remedy):
        opening(url)


def test_a_database_in_another_encoding_is_refused(postgres):
    with pytest.raises(LedgerError, match="is in SQL_ASCII; create one with createdb --encoding=UTF8"):
        opening(postgres.create_database("ascii", encoding="SQL_ASCII"))


def test_an_old_server_is_refused(postgres, monkeypatch):
    monkeypatch.setattr("quorum.infrastructure.store.postgres.server._OLDEST_VERSION", 990000)

    with pytest.raises(LedgerError, match=r"is on PostgreSQL \d+; quorum needs 13 or newer"):
        opening(postgres.new_database())


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://me:hunter2@host/ledger",
        "postgresql+psycopg://host/ledger?password=hunter2",
        "postgresql+psycopg://host/ledger?options=hunter2",
        "postgresql+psycopg://host:hunter2/ledger",
        "postgresql+psycopg://me:hunter2@host",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_and_what_it_hides_is_not_shown(url):
    with pytest.raises(ConfigError) as caught:
        opening(url)

    assert "storage.url" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.long
def test_a_wrong_password_is_named_and_not_shown(own_server):
    url = own_server.new_database()
    with own_server.connect("postgres") as connection:
        connection.execute("CREATE ROLE guarded LOGIN PASSWORD 'right-one' SUPERUSER")
    rules = own_server.data / "pg_hba.conf"
    rules.write_text("local all guarded scram-sha-256\n" + rules.read_text())
    own_server.stop()
    own_server.start()
    guarded = url.replace(f"{USER}@", "guarded@")

    with pytest.raises(LedgerError, match="refuses the password; put the right one in the variable") as caught:
        opening(guarded, PGPASSWORD="hunter2")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(LedgerError, match="refuses the password"):
        opening(guarded)
    open_storage(StorageTable(url=guarded), {"PGPASSWORD": "right-one"}).close()


@pytest.mark.long
async def test_a_server_that_restarts_in_the_middle_of_a_session_loses_and_doubles_nothing(
    own_server, tmp_path
):
    table = StorageTable(url=own_server.new_database())
    storage = open_storage(table, {"XDG_STATE_HOME": str(tmp_path)})
    session = await asyncio.to_thread(storage.open_session, NewSession(), cwd="/work")
    await session.ledger.append(TurnStarted(prompt="0"))

    own_server.stop()
    waiting = asyncio.ensure_future(session.ledger.append(TurnStarted(prompt="1")))
    await asyncio.to_thread(own_server.start)
    await waiting
    own_server.stop()
    own_server.start()
    (digest,) = await storage.contents.put([b"former"])
    await session.ledger.append(TurnStarted(prompt="2"))

    records = await storage.archive.read(session.session_id)
    assert [record.event.prompt for record in records] == ["0", "1", "2"]
    assert (await storage.archive.verify(session.session_id)).holds
    assert await storage.contents.get(digest) == b"former"
    await session.ledger.aclose()
    await asyncio.to_thread(storage.close)


@pytest.mark.long
async def test_what_a_server_does_not_take_in_time_is_written_with_the_next(own_server, tmp_path, monkeypatch):
    monkeypatch.setattr("quorum.infrastructure.store.postgres.server.PATIENCE_SECS", 0.1)
    table = StorageTable(url=own_server.new_database())
    storage = open_storage(table, {"XDG_STATE_HOME": str(tmp_path)})
    session = await asyncio.to_thread(storage.open_session, NewSession(), cwd="/work")
    own_server.stop()

    with pytest.raises(LedgerError, match="cannot be written: the server does not answer"):
        await session.ledger.append(TurnStarted(prompt="0"))
    own_server.start()
    await session.ledger.append(TurnStarted(prompt="1"))

    records = await storage.archive.read(session.session_id)
    assert [record.event.prompt for record in records] == ["0", "1"]
    await session.ledger.aclose()
    await asyncio.to_thread(storage.close)


@pytest.mark.long
async def test_a_server_without_a_free_connection_is_named_and_written_to_when_there_is_one(
    own_server, tmp_path, monkeypatch
):
    monkeypatch.setattr("quorum.infrastructure.store.postgres.server.PATIENCE_SECS", 0.1)
    own_server.settings["max_connections"] = "12"
    own_server.stop()
    own_server.start()
    table = StorageTable(url=own_server.new_database())
    storage = open_storage(table, {"XDG_STATE_HOME": str(tmp_path)})
    session = await asyncio.to_thread(storage.open_session, NewSession(), cwd="/work")
    await session.ledger.append(TurnStarted(prompt="0"))
    with ExitStack() as others:
        admin = others.enter_context(closing(own_server.connect("postgres")))
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'quorum'"
        )
        with suppress(psycopg.OperationalError):
            while True:
                others.enter_context(closing(own_server.connect("postgres")))

        for written in (lambda: session.ledger.append(TurnStarted(prompt="1")), storage.archive.list_sessions):
            with pytest.raises(
                LedgerError, match="the server has too many connections; end some, or raise its"
            ):
                await written()
        with pytest.raises(LedgerError, match="cannot be opened: the server has too many connections"):
            opening(table.url)

    await session.ledger.append(TurnStarted(prompt="2"))
    assert [each.event.prompt for each in await storage.archive.read(session.session_id)] == ["0", "1", "2"]
    await session.ledger.aclose()
    await asyncio.to_thread(storage.close)


@pytest.fixture
def small_disk() -> Iterator[tuple[PostgresForTests, Path]]:
    """A server, and a folder on a disk of two megabytes that it alone sees."""
    if shutil.which("bwrap") is None:
        pytest.skip("bwrap is not installed, which makes a small disk")
    with tempfile.TemporaryDirectory(prefix="quorum-disk-", dir="/tmp") as made:
        disk = Path(made)
        disk.chmod(0o777)
        small = ("bwrap", "--dev-bind", "/", "/", "--size", "2000000", "--tmpfs", made, "--die-with-parent")
        server = start_postgres(wrapper=small)
        yield server, disk
        remove_postgres(server)


@pytest.mark.long
async def test_a_server_whose_disk_is_full_is_named_and_continues_when_there_is_room(small_disk, tmp_path):
    server, disk = small_disk
    url = server.new_database()
    with closing(server.connect(parse_address(url).database)) as connection:
        connection.execute(f"CREATE TABLESPACE small LOCATION '{disk}'")
        connection.execute("CREATE TABLE filler (data TEXT) TABLESPACE small")
        connection.execute("ALTER TABLE records SET TABLESPACE small")
        connection.execute("ALTER TABLE filler ALTER data SET STORAGE EXTERNAL")
        fill = "INSERT INTO filler SELECT repeat('x', 8000) FROM generate_series(1, {0})"
        for rows in (100, 10, 1):
            with suppress(psycopg.errors.DiskFull):
                while True:
                    connection.execute(fill.format(rows))
        storage = open_storage(StorageTable(url=url), {"XDG_STATE_HOME": str(tmp_path)})
        session = await asyncio.to_thread(storage.open_session, NewSession(), cwd="/work")

        large = random.Random(1).randbytes(40_000).hex()
        with pytest.raises(
            LedgerError, match="cannot be written: the disk of the server is full; make room there"
        ):
            await session.ledger.append(TurnStarted(prompt=large))
        connection.execute("DROP TABLE filler")
        await session.ledger.append(TurnStarted(prompt="after"))

    assert [each.event.prompt for each in await storage.archive.read(session.session_id)] == [large, "after"]
    await session.ledger.aclose()
    await asyncio.to_thread(storage.close)


def test_the_password_is_neither_in_the_place_nor_in_what_is_printed_of_the_server():
    address = parse_address("postgresql+psycopg://me@db.example.com:5433/ledger")
    server = PostgresServer(address, {"PGPASSWORD": "hunter2"})

    assert server.place == "postgresql+psycopg://me@db.example.com:5433/ledger"
    assert "hunter2" not in repr(server._engine)


@pytest.mark.long
async def test_a_call_does_not_start_while_its_votes_cannot_be_written_which_is_said_once_and_loses_none(
    own_server, tmp_path, monkeypatch
):
    monkeypatch.setattr("quorum.infrastructure.store.postgres.server.PATIENCE_SECS", 0.1)
    table = StorageTable(url=own_server.new_database())
    storage = open_storage(table, {"XDG_STATE_HOME": str(tmp_path)})
    session = await asyncio.to_thread(storage.open_session, NewSession(), cwd="/work")
    observer = RecordingObserver()
    events = EventBus([observer], ledger=session.ledger)
    own_server.stop()

    about = a_context(0, call_id="voted")
    events.note(
        VoteCast(context=about, digest="d", reviewer="p/m", verdict="approve", confidence=None, reason="fine")
    )
    await events.settle()
    with pytest.raises(LedgerError, match="the server does not answer"):
        await events.announce(CallStarted(context=about, tool="write", arguments={}), urgent=True)
    assert len(observer.of(ErrorOccurred)) == 1
    own_server.start()
    again = a_context(1, call_id="again")
    await events.announce(CallStarted(context=again, tool="write", arguments={}), urgent=True)

    records = await storage.archive.read(session.session_id)
    kept = [(record.event.type, record.event.context.call_id) for record in records]
    assert kept == [("vote_cast", "voted"), ("call_started", "voted"), ("call_started", "again")]
    assert len(observer.of(ErrorOccurred)) == 1
    await session.ledger.aclose()
    await asyncio.to_thread(storage.close)
