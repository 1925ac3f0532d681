"""Who may write a session in PostgreSQL: one process at a time, and none that was taken over."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from quorum.application.ports.storage import OpenedSession
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import TurnStarted
from quorum.domain.sessions.session_summary import ContinuedSession, NamedSession, NewSession
from quorum.infrastructure.store.postgres.address import parse_address
from tests.support.postgres_server import PostgresForTests
from tests.support.stopped_process import stop_child

ROOT = Path(__file__).parents[3]
CWD = "/work"
WRITER = """
import asyncio, os, sys
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import TurnStarted
from quorum.domain.sessions.session_summary import ContinuedSession
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage

async def write(url, state):
    storage = await asyncio.to_thread(open_storage, StorageTable(url=url), {"XDG_STATE_HOME": state})
    opened = await asyncio.to_thread(storage.open_session, ContinuedSession("s"), cwd="/work")
    for line in sys.stdin:
        try:
            await opened.ledger.append(TurnStarted(prompt=line.strip()))
            print("written", flush=True)
        except LedgerError as error:
            print(error, flush=True)
    await opened.ledger.aclose()
    await asyncio.to_thread(storage.close)

asyncio.run(write(*sys.argv[1:]))
"""


def prompt(text: str) -> TurnStarted:
    return TurnStarted(prompt=text)


async def open_session(storage, choice) -> OpenedSession:
    return await asyncio.to_thread(storage.open_session, choice, cwd=CWD)


async def read_prompts(storage, session_id: str) -> list[str]:
    return [record.event.prompt for record in await storage.archive.read(session_id)]


@pytest.fixture
def writer(url: str, tmp_path: Path):
    """Another process, which writes the session "s" line by line."""
    command = [sys.executable, "-c", WRITER, url, str(tmp_path / "other")]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        yield process
        process.kill()


def write(writer: subprocess.Popen[str], text: str) -> str:
    assert writer.stdin is not None
    assert writer.stdout is not None
    writer.stdin.write(f"{text}\n")
    return writer.stdout.readline().strip()


def let_leases_end(postgres: PostgresForTests, url: str) -> None:
    """As if half a minute had passed without a sign of life."""
    postgres.let_leases_end(parse_address(url).database)


async def test_one_writes_and_another_reads_and_learns_by_whom_it_is_written(machine):
    one, two = machine("one"), machine("two")
    session = await open_session(one, NewSession())
    await session.ledger.append(prompt("first"))

    read = await open_session(two, NamedSession(session.session_id))
    await session.ledger.append(prompt("second"))

    assert read.ledger is None
    assert f"is open in process {os.getpid()} on {socket.gethostname()}" in str(read.in_use)
    assert await read_prompts(two, session.session_id) == ["first", "second"]
    (listed,) = await two.archive.list_sessions()
    assert listed.open_in == os.getpid()


async def test_what_one_gave_back_another_continues(machine):
    one, two = machine("one"), machine("two")
    session = await open_session(one, NewSession())
    await session.ledger.append(prompt("first"))
    await session.ledger.aclose()

    continued = await open_session(two, NamedSession(session.session_id))
    await continued.ledger.append(prompt("second"))

    assert continued.notices == ()
    assert await read_prompts(one, session.session_id) == ["first", "second"]
    assert (await one.archive.verify(session.session_id)).holds


@pytest.mark.parametrize("before", [0, 1], ids=["before its first event", "after one"])
async def test_one_that_was_taken_over_appends_nothing_and_learns_by_whom(machine, postgres, url, before):
    one, two = machine("one"), machine("two")
    paused = await open_session(one, ContinuedSession("s"))
    for number in range(before):
        await paused.ledger.append(prompt(f"of the first {number}"))
    let_leases_end(postgres, url)

    taken = await open_session(two, ContinuedSession("s"))
    with pytest.raises(LedgerError, match=rf"taken over by process {os.getpid()} on .* nothing more can be"):
        await paused.ledger.append(prompt("too late"))
    await taken.ledger.append(prompt("of the second"))

    assert "taken over from process" in taken.notices[0]
    assert await read_prompts(two, "s") == [*(f"of the first {n}" for n in range(before)), "of the second"]
    assert (await two.archive.verify("s")).holds


async def test_giving_back_what_was_taken_over_leaves_it_to_the_other(machine, postgres, url):
    one, two = machine("one"), machine("two")
    paused = await open_session(one, ContinuedSession("s"))
    let_leases_end(postgres, url)
    taken = await open_session(two, ContinuedSession("s"))

    await paused.ledger.aclose()

    await taken.ledger.append(prompt("still here"))
    assert (await open_session(machine("three"), ContinuedSession("s"))).ledger is None


@pytest.mark.long
async def test_a_stopped_process_that_continues_after_it_was_taken_over_appends_nothing(
    machine, postgres, url, writer
):
    assert write(writer, "before") == "written"
    here = machine("here")
    assert (await open_session(here, ContinuedSession("s"))).ledger is None
    stop_child(writer.pid)
    let_leases_end(postgres, url)

    taken = await open_session(here, ContinuedSession("s"))
    await taken.ledger.append(prompt("taken over"))
    os.kill(writer.pid, signal.SIGCONT)

    assert f"session s was taken over by process {os.getpid()}" in write(writer, "too late")
    assert f"taken over from process {writer.pid}" in taken.notices[0]
    assert await read_prompts(here, "s") == ["before", "taken over"]
    assert (await here.archive.verify("s")).holds


@pytest.mark.long
async def test_a_killed_process_leaves_its_session_to_the_next_at_once(machine, writer):
    assert write(writer, "before") == "written"
    here = machine("here")

    writer.kill()
    writer.wait()
    taken = await open_session(here, ContinuedSession("s"))
    while taken.ledger is None:  # the server needs a moment to see that the connection is gone
        taken = await open_session(here, ContinuedSession("s"))

    assert f"taken over from process {writer.pid}" in taken.notices[0]
    assert await read_prompts(here, "s") == ["before"]


async def test_a_record_that_does_not_follow_the_head_is_refused_by_the_database(machine, postgres, url):
    one = machine("one")
    session = await open_session(one, ContinuedSession("s"))
    await session.ledger.append(prompt("first"))
    columns = "session_id, seq, at_ms, type, payload, salt, digest, link"

    with postgres.connect(parse_address(url).database) as other, pytest.raises(psycopg.errors.UniqueViolation):
        other.execute(f"INSERT INTO records ({columns}) SELECT {columns} FROM records")
    with postgres.connect(parse_address(url).database) as other:
        other.execute(r"UPDATE sessions SET head = '\x00'")
    with pytest.raises(LedgerError, match="changed by another program"):
        await session.ledger.append(prompt("second"))

    assert await read_prompts(one, "s") == ["first"]


async def test_a_session_in_use_elsewhere_is_not_pruned_and_neither_are_its_contents(machine):
    one, two = machine("one"), machine("two")
    session = await open_session(one, NewSession())
    await session.ledger.append(prompt("first"))
    (digest,) = await one.contents.put([b"former"])

    pruned = await two.archive.prune(keep=0)

    assert [spared.id for spared in pruned.spared] == [session.session_id]
    assert await two.contents.get(digest) == b"former"


async def test_two_put_the_same_content_at_once(machine):
    one, two = machine("one"), machine("two")

    kept = await asyncio.gather(*(storage.contents.put([b"same"] * 3) for storage in (one, two) * 5))

    assert len({digest for digests in kept for digest in digests}) == 1
    assert await one.contents.get(kept[0][0]) == b"same"
