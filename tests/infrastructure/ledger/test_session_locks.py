from __future__ import annotations

import asyncio
import fcntl
import os
import threading
from types import SimpleNamespace

import pytest

from quorum.domain.errors import LedgerError, SessionInUse
from quorum.infrastructure.store.ledger.locks import SessionLock, SessionLockFolder, list_lock_holders
from quorum.infrastructure.store.ledger.opening import Database
from tests.infrastructure.ledger.ledger_bench import begun, end, gone_on, prompt, session_of, start

HOLDING = """
import asyncio, os, sys
from quorum.domain.events.event import TurnStarted
from quorum.domain.sessions.session_summary import NamedSession, NewSession
from quorum.infrastructure.store.ledger.opening import open_database

async def main():
    database = open_database("", os.environ)
    choice = NamedSession(sys.argv[1]) if sys.argv[1:] else NewSession()
    session = database.open_session(choice, cwd="/srv/project")
    for number in range(50):
        await session.ledger.append(TurnStarted(prompt=f"theirs {number}"))
    print(session.session_id, flush=True)
    sys.stdin.readline()
    await session.ledger.aclose()
    database.close()

asyncio.run(main())
"""


@pytest.mark.long
async def test_two_processes_write_different_sessions_of_one_database_at_once(environ, database):
    ours = begun(database)
    await ours.ledger.append(prompt("first"))
    processes = [start(HOLDING, environ) for _ in range(2)]
    numbers = range(200)

    await asyncio.gather(*(ours.ledger.append(prompt(number)) for number in numbers))
    theirs = [process.stdout.readline().strip() for process in processes]
    for process in processes:
        process.stdin.write("\n")
        assert end(process) == 0

    assert len(await database.archive.read(ours.session_id)) == 201
    for session_id in (ours.session_id, *theirs):
        assert (await database.archive.verify(session_id)).holds
    assert [len(await database.archive.read(each)) for each in theirs] == [50, 50]
    await ours.ledger.aclose()


@pytest.mark.long
async def test_a_session_that_another_process_writes_can_only_be_read_and_is_free_when_that_one_ends(
    environ, database
):
    process = start(HOLDING, environ)
    session_id = process.stdout.readline().strip()

    session = gone_on(database, session_id)

    assert session.ledger is None
    assert session.in_use is not None
    assert session.in_use.pid == process.pid
    assert f"is open in process {process.pid}" in str(session.in_use)
    assert len(session.records) == 50
    (listed,) = await database.archive.list_sessions()
    assert listed.open_in == process.pid
    process.stdin.write("\n")
    assert end(process) == 0
    (listed,) = await database.archive.list_sessions()
    assert listed.open_in is None
    again = gone_on(database, session_id)
    assert again.in_use is None
    await again.ledger.aclose()


@pytest.mark.long
async def test_a_process_that_is_killed_frees_its_session(environ, database):
    process = start(HOLDING, environ)
    session_id = process.stdout.readline().strip()
    process.kill()
    end(process)

    assert (await database.archive.list_sessions())[0].open_in is None
    session = gone_on(database, session_id)
    await session.ledger.append(prompt("ours"))

    assert session.in_use is None
    assert (await database.archive.verify(session_id)).holds
    await session.ledger.aclose()


async def test_one_process_opens_a_session_once(database):
    session_id = await session_of(database, [prompt("one")])
    first = gone_on(database, session_id)

    second = gone_on(database, session_id)

    assert second.in_use is not None
    assert second.in_use.pid == os.getpid()
    await first.ledger.aclose()


def test_whoever_looks_at_a_lock_for_a_moment_takes_it_from_nobody(tmp_path, monkeypatch):
    SessionLock.acquire(tmp_path, "one").release()
    (tmp_path / "one.lock").touch()
    looking = os.open(tmp_path / "one.lock", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    moments = SimpleNamespace(sleep=lambda _secs: fcntl.flock(looking, fcntl.LOCK_UN))
    monkeypatch.setattr("quorum.infrastructure.store.ledger.locks.time", moments)

    lock = SessionLock.acquire(tmp_path, "one")

    assert list_lock_holders(tmp_path) == {"one": os.getpid()}
    lock.release()
    os.close(looking)


def test_whoever_opens_the_database_removes_the_locks_of_killed_processes(tmp_path):
    folder = tmp_path / "ledger.sqlite-locks"
    held = SessionLock.acquire(folder, "held")
    (folder / "left.lock").write_text("4711")

    Database(tmp_path / "ledger.sqlite").close()

    assert [path.name for path in folder.iterdir()] == ["held.lock"]
    held.release()


def test_locks_that_cannot_be_looked_for_keep_nobody_from_the_database(tmp_path):
    SessionLockFolder(tmp_path / ("a" * 300)).remove_abandoned()  # the kernel refuses so long a name


def test_never_do_two_hold_one_lock_however_often_it_is_taken_and_given_back(tmp_path):
    inside: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        for _ in range(150):
            try:
                lock = SessionLock.acquire(tmp_path, "one")
            except SessionInUse:
                continue
            inside.append(number)
            most.append(len(inside))
            inside.remove(number)
            lock.release()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert set(most) == {1}


def test_a_lock_file_that_was_taken_away_while_it_was_awaited_is_no_lock(tmp_path, monkeypatch):
    # This one opens the file, the holder takes it away and ends, and only then this one locks what it has.
    tries = iter([(tmp_path / "one.lock").unlink])

    def lock_late(descriptor: int, kind: int) -> None:
        next(tries, lambda: None)()
        fcntl_flock(descriptor, kind)

    fcntl_flock = fcntl.flock
    monkeypatch.setattr("quorum.infrastructure.store.ledger.locks.fcntl.flock", lock_late)
    lock = SessionLock.acquire(tmp_path, "one")
    monkeypatch.undo()

    assert list_lock_holders(tmp_path) == {"one": os.getpid()}
    lock.release()


@pytest.mark.parametrize("session_id", ["", "../one", "a/b", "a\0b", "x" * 65, "é"], ids=ascii)
def test_an_id_that_is_none_names_no_file(tmp_path, session_id):
    with pytest.raises(LedgerError, match="is not an id of a session"):
        SessionLock.acquire(tmp_path, session_id)

    assert list(tmp_path.iterdir()) == []


async def test_nothing_of_a_lock_is_left_after_a_session_ended(database):
    await session_of(database, [prompt("one")])

    assert list(database.path.with_name("ledger.sqlite-locks").iterdir()) == []
