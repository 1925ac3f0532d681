from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from quorum.domain.errors import ConfigError, LedgerError
from quorum.domain.sessions.session_summary import NewSession
from quorum.infrastructure.store.ledger.opening import Database, open_database
from quorum.infrastructure.store.ledger.sqlite_file import SqliteFile, begin_transaction
from tests.infrastructure.ledger.ledger_bench import (
    CWD,
    begun,
    end,
    gone_on,
    prompt,
    session_of,
    sqlite,
    start,
    started,
)

APPENDING = """
import asyncio, os, sys
from quorum.domain.events.event import TurnStarted
from quorum.domain.sessions.session_summary import NewSession
from quorum.infrastructure.store.ledger.opening import open_database

async def main():
    session = open_database("", os.environ).open_session(NewSession(), cwd="/srv/project")
    print(session.session_id, flush=True)
    async def append(lane):
        number = 0
        while True:
            await session.ledger.append(TurnStarted(prompt=f"{lane} {number} " + "x" * 2000), urgent=lane == 2)
            os.write(1, f"{lane} {number}\\n".encode())
            number += 1
    await asyncio.gather(*map(append, range(4)))

asyncio.run(main())
"""

FULL_DISK = """
import asyncio, os, resource
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import TurnStarted
from quorum.domain.sessions.session_summary import NewSession
from quorum.infrastructure.store.ledger.opening import open_database

async def main():
    database = open_database("", os.environ)
    session = database.open_session(NewSession(), cwd="/srv/project")
    print(session.session_id)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    last = -1
    for number in range(60):
        try:
            await session.ledger.append(TurnStarted(prompt=f"{number} " + "x" * 10_000))
            last = number
        except LedgerError as error:
            sentence = str(error)
    kept = len(await database.archive.read(session.session_id))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await session.ledger.append(TurnStarted(prompt="60"))
    await session.ledger.aclose()
    database.close()
    print(last, kept)
    print(sentence)

asyncio.run(main())
"""

UNDER_ANOTHER_USER = """
import os, sys
from quorum.domain.errors import LedgerError
from quorum.infrastructure.store.ledger.opening import open_database
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
try:
    open_database("", os.environ).close()
except LedgerError as error:
    print(error)
"""


@pytest.mark.long
@pytest.mark.parametrize("acknowledgements", [1, 7, 60, 200, 333])
async def test_a_process_that_is_killed_while_it_appends_loses_nothing_that_was_confirmed(
    environ, opened, acknowledgements
):
    process = start(APPENDING, environ)
    session_id = process.stdout.readline().strip()
    printed = [process.stdout.readline().strip() for _ in range(acknowledgements)]
    process.kill()
    printed += [line.strip() for line in process.stdout if line.endswith("\n")]
    end(process)

    database = opened()
    records = await database.archive.read(session_id)

    assert database.notices == ()
    assert (await database.archive.verify(session_id)).holds
    kept = [" ".join(record.event.prompt.split()[:2]) for record in records]
    assert set(printed) <= set(kept)
    assert len(set(kept)) == len(kept)
    for lane in "0123":  # in the order of appending, without a gap
        numbers = [int(each.split()[1]) for each in kept if each[0] == lane]
        assert numbers == list(range(len(numbers)))
    again = gone_on(database, session_id)
    await again.ledger.append(prompt("again"))
    await again.ledger.aclose()
    assert (await database.archive.verify(session_id)).holds


async def test_a_ledger_that_is_taken_away_is_neither_written_nor_made_anew_and_can_be_put_back(database):
    session = begun(database)
    await session.ledger.append(prompt("before"))
    away = database.path.with_name("away")
    database.path.rename(away)

    with pytest.raises(LedgerError, match=r"cannot be written: it was removed or replaced while it was used"):
        await session.ledger.append(prompt("while it was away"))
    with pytest.raises(LedgerError, match=r"cannot be read: it was removed or replaced while it was used"):
        await database.archive.list_sessions()
    assert not database.path.exists()
    away.rename(database.path)
    await session.ledger.append(prompt("after"))
    await session.ledger.aclose()

    records = await database.archive.read(session.session_id)
    assert [record.event.prompt for record in records][-3:] == ["before", "while it was away", "after"]
    assert (await database.archive.verify(session.session_id)).holds


async def test_another_file_in_the_place_of_the_ledger_is_not_written(database):
    session = begun(database)
    await session.ledger.append(prompt("before"))
    own = database.path.rename(database.path.with_name("own"))
    database.path.write_bytes(own.read_bytes())

    with pytest.raises(LedgerError, match="removed or replaced"):
        await session.ledger.append(prompt("after"))
    own.replace(database.path)


@pytest.mark.long
async def test_a_full_disk_loses_nothing_and_what_waited_comes_when_there_is_room(environ, opened):
    process = start(FULL_DISK, environ)
    session_id = process.stdout.readline().strip()
    acknowledged, kept = map(int, process.stdout.readline().split())
    sentence = process.stdout.readline()
    assert end(process) == 0

    database = opened()
    records = await database.archive.read(session_id)

    assert 0 < acknowledged < 59
    assert kept == acknowledged + 1
    assert [record.event.prompt.split()[0] for record in records] == [str(number) for number in range(61)]
    assert (await database.archive.verify(session_id)).holds
    assert f"{database.path} cannot be written" in sentence
    assert "disk" in sentence


@pytest.mark.parametrize("before", [0, 1], ids=["a new session", "one that is there"])
async def test_what_was_committed_although_the_disk_said_otherwise_is_not_written_twice(
    database, monkeypatch, before
):
    @contextmanager
    def committed_and_failed(connection):
        with begin_transaction(connection):
            yield
        raise LedgerError("the disk failed at the last moment")

    session = begun(database)
    for number in range(before):
        await session.ledger.append(prompt(number))
    monkeypatch.setattr(
        SqliteFile, "begin_transaction", lambda _file, connection: committed_and_failed(connection)
    )
    with pytest.raises(LedgerError, match="last moment"):
        await session.ledger.append(prompt(before))
    monkeypatch.undo()

    await session.ledger.append(prompt(before + 1))

    records = await database.archive.read(session.session_id)
    assert [record.event for record in records] == [prompt(number) for number in range(before + 2)]
    assert (await database.archive.verify(session.session_id)).holds
    await session.ledger.aclose()


async def test_what_is_locked_too_long_is_an_error_that_says_so_and_aclose_writes_it_later(tmp_path):
    database = Database(tmp_path / "ledger.sqlite", busy_secs=0.02)
    session = database.open_session(NewSession(), cwd=CWD)
    with sqlite(database.path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"ledger\.sqlite cannot be written: another process"):
            await session.ledger.append(prompt("waits"))
        with pytest.raises(LedgerError, match="locked"):
            await database.open_session(NewSession(), cwd=CWD).ledger.aclose()
        other.execute("ROLLBACK")

    await session.ledger.aclose()

    assert len(await database.archive.read(session.session_id)) == 1
    database.close()


async def test_closing_tells_how_many_events_could_not_be_written(tmp_path):
    database = Database(tmp_path / "ledger.sqlite", busy_secs=0.02)
    session = database.open_session(NewSession(), cwd=CWD)
    with sqlite(database.path) as other:
        other.execute("BEGIN IMMEDIATE")
        for number in range(3):
            with pytest.raises(LedgerError):
                await session.ledger.append(prompt(number))

        with pytest.raises(LedgerError, match=r"3 events of the session are not recorded: .*locked"):
            database.close()


async def test_a_session_whose_record_was_taken_away_is_reported_and_holds_up_no_other(database):
    lost, other = begun(database), begun(database)
    for session in (lost, other):
        await session.ledger.append(started(session.session_id))
    with sqlite(database.path) as connection:
        for table, column in (("records", "session_id"), ("sessions", "id")):
            connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (lost.session_id,))

    results = await asyncio.gather(
        lost.ledger.append(prompt("lost")), other.ledger.append(prompt("kept")), return_exceptions=True
    )

    assert isinstance(results[0], LedgerError)
    assert "was removed or changed by another program" in str(results[0])
    assert results[1] is None
    with pytest.raises(LedgerError, match="was removed or changed"):
        await lost.ledger.append(prompt("lost too"))
    assert len(await database.archive.read(other.session_id)) == 2
    await lost.ledger.aclose()
    await other.ledger.aclose()


@pytest.mark.long
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("there", [False, True], ids=["no database", "a database"])
async def test_a_folder_that_may_not_be_written_is_an_error_with_the_remedy(there):
    with TemporaryDirectory() as home:  # not among the others, which nobody else may enter
        environ = {"HOME": home, "XDG_STATE_HOME": home}
        folder = Path(home) / "quorum"
        folder.mkdir()
        if there:
            database = open_database("", environ)
            await session_of(database, [prompt("one")])
            database.close()
        for path in (Path(home), folder, *folder.iterdir()):
            path.chmod(0o555)

        process = start(UNDER_ANOTHER_USER, environ)
        sentence = process.stdout.read()
        assert end(process) == 0

        assert str(folder / "ledger.sqlite") in sentence
        assert "writable" in sentence
        assert "storage] url" in sentence


def test_a_file_in_the_place_of_the_folder_is_an_error_with_the_remedy(environ):
    Path(environ["XDG_STATE_HOME"]).write_text("in the way")

    with pytest.raises(LedgerError, match="a file is in the place of its folder; move that away"):
        open_database("", environ)


def test_a_folder_in_the_place_of_the_file_is_an_error(environ):
    (Path(environ["XDG_STATE_HOME"]) / "quorum/ledger.sqlite").mkdir(parents=True)

    with pytest.raises(LedgerError, match=r"ledger\.sqlite"):
        open_database("", environ)


async def test_a_database_of_a_newer_version_is_refused_and_left_as_it_is(opened, environ):
    database = opened()
    await session_of(database, [prompt("one")])
    database.close()
    with sqlite(database.path) as connection:
        connection.execute("PRAGMA user_version = 2")
    before = database.path.read_bytes()

    with pytest.raises(LedgerError, match=r"written by a newer quorum \(format 2, this one knows 1\); update"):
        open_database("", environ)

    assert database.path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path, environ):
    file = tmp_path / "bookmarks.sqlite"
    with sqlite(file) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")
    before = file.read_bytes()

    with pytest.raises(LedgerError, match="is a database of another program; name another file"):
        open_database(f"sqlite:///{file}", environ)

    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://localhost/quorum",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///relative.sqlite",
        "sqlite:////a.sqlite?mode=ro",
        "sqlite+aiosqlite:////a.sqlite",
        "/a.sqlite",
    ],
)
def test_a_url_that_names_no_file_of_sqlite_is_an_error_that_names_the_key(url, environ):
    with pytest.raises(ConfigError, match=r"storage\.url names no file of SQLite"):
        open_database(url, environ)


async def test_the_url_may_begin_in_the_home_folder_and_its_folder_keeps_its_permissions(
    environ, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    tmp_path.chmod(0o755)

    database = open_database("sqlite:///~/mine.sqlite", environ)

    assert database.path == (tmp_path / "mine.sqlite").resolve()
    assert database.path.stat().st_mode & 0o777 == 0o600
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    database.close()


def test_nothing_is_left_open_by_an_opening_that_failed(tmp_path, environ):
    file = tmp_path / "bookmarks.sqlite"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE bookmarks (url)")
    connection.close()
    before = len(os.listdir("/dev/fd")) if sys.platform == "linux" else 0
    with pytest.raises(LedgerError):
        open_database(f"sqlite:///{file}", environ)

    assert sys.platform != "linux" or len(os.listdir("/dev/fd")) == before
