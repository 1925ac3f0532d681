"""An append that is cut off, or whose process stops in the middle of it: nothing is lost, and nothing twice."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from quorum.domain.errors import LedgerError
from quorum.domain.events.event import TurnStarted
from quorum.domain.sessions.session_summary import ContinuedSession, NewSession
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage
from quorum.infrastructure.storage_backend import BlobPlace
from quorum.infrastructure.store.postgres.address import parse_address
from quorum.infrastructure.store.postgres.database import PostgresDatabase
from tests.support.postgres_proxy import CuttingProxy
from tests.support.postgres_server import PostgresForTests

ROOT = Path(__file__).parents[3]
CWD = "/work"
# Whoever is to "stop inside" stops itself when all is written and nothing is committed.
WRITER = """
import asyncio, signal, sys, threading
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import TurnStarted
from quorum.domain.sessions.session_summary import ContinuedSession
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage
from quorum.infrastructure.store.postgres import server
from quorum.infrastructure.store.sql.rows import SessionChain

server.ABANDONED_SECS = 1
write_chain = SessionChain.write

def stop_inside(chain, connection, linked):
    linked = list(linked)
    write_chain(chain, connection, linked)
    if any(b"stop inside" in record.payload for record in linked) and not stopped:
        stopped.append(True)
        # Sent to the process, another thread may take the signal, and this one commits before it is stopped.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

stopped = []
SessionChain.write = stop_inside
SessionChain.write_at_once = lambda chain, connection, linked: False  # nobody can stop inside of one statement

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


WAITING = """SELECT count(*) FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND datname = current_database()"""


def prompt(text: str) -> TurnStarted:
    return TurnStarted(prompt=text)


async def read_prompts(storage, session_id: str) -> list[str]:
    return [record.event.prompt for record in await storage.archive.read(session_id)]


@pytest.fixture
def proxy(postgres: PostgresForTests) -> Iterator[CuttingProxy]:
    with tempfile.TemporaryDirectory(prefix="quorum-proxy-", dir="/tmp") as folder:
        through = CuttingProxy(Path(folder), postgres.folder)
        yield through
        through.close()


@pytest.mark.parametrize(
    ("before", "statement", "answered"),
    [
        pytest.param(0, b"BEGIN", False, id="the first event, before it began"),
        pytest.param(0, b"INSERT INTO records", False, id="the first event, before the row"),
        pytest.param(0, b"INSERT INTO records", True, id="the first event, after the row"),
        pytest.param(0, b"COMMIT", False, id="the first event, before the commit"),
        pytest.param(0, b"COMMIT", True, id="the first event, after the commit"),
        pytest.param(1, b"INSERT INTO records", False, id="a later event, before its statement"),
        pytest.param(1, b"INSERT INTO records", True, id="a later event, after its statement"),
    ],
)
async def test_an_append_whose_connection_is_cut_is_on_record_once(
    postgres, proxy, tmp_path, statement, answered, before
):
    address = parse_address(postgres.new_database())
    url = f"postgresql+psycopg://quorum@/{address.database}?host={proxy.folder}"
    storage = await asyncio.to_thread(open_storage, StorageTable(url=url), {"XDG_STATE_HOME": str(tmp_path)})
    session = await asyncio.to_thread(storage.open_session, NewSession(), cwd=CWD)
    for number in range(before):
        await session.ledger.append(prompt(f"before {number}"))

    proxy.cut_at(statement, answered=answered)
    await session.ledger.append(prompt("cut off"))
    assert proxy.cuts == 1
    await session.ledger.append(prompt("after"))

    expected = [*(f"before {number}" for number in range(before)), "cut off", "after"]
    assert await read_prompts(storage, session.session_id) == expected
    assert (await storage.archive.verify(session.session_id)).holds
    await session.ledger.aclose()
    await asyncio.to_thread(storage.close)


async def test_a_later_event_is_one_statement_which_the_database_ends_by_itself(postgres, proxy, tmp_path):
    address = parse_address(postgres.new_database())
    url = f"postgresql+psycopg://quorum@/{address.database}?host={proxy.folder}"
    storage = await asyncio.to_thread(open_storage, StorageTable(url=url), {"XDG_STATE_HOME": str(tmp_path)})
    session = await asyncio.to_thread(storage.open_session, NewSession(), cwd=CWD)
    await session.ledger.append(prompt("first"))

    proxy.cut_at(b"COMMIT", answered=False)
    for number in range(10):
        await session.ledger.append(prompt(f"later {number}"))

    assert proxy.cuts == 0
    proxy.cut_at(b"never", answered=False)
    assert await read_prompts(storage, session.session_id) == ["first", *(f"later {n}" for n in range(10))]
    assert (await storage.archive.verify(session.session_id)).holds
    await session.ledger.aclose()
    await asyncio.to_thread(storage.close)


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ("UPDATE sessions SET title = 'redacted'", ""),
        ("UPDATE sessions SET records = records + 1", "was removed or changed by another program"),
        ("UPDATE leases SET epoch = nextval('lease_epochs')", "was taken over by"),
        ("DELETE FROM leases", "was taken over by"),
    ],
    ids=["its name", "its records", "its lease", "no lease"],
)
async def test_an_append_that_waits_for_a_change_of_its_session_heeds_it(
    machine, postgres, url, change, refused
):
    opened = await asyncio.to_thread(machine("one").open_session, ContinuedSession("s"), cwd=CWD)
    await opened.ledger.append(prompt("before"))
    with closing(postgres.connect(parse_address(url).database)) as other:
        other.execute("BEGIN")
        other.execute(change)
        append = asyncio.ensure_future(opened.ledger.append(prompt("meanwhile")))
        await asyncio.to_thread(wait_for, postgres, url, WAITING, lambda found: found != (0,))
        other.execute("COMMIT")

        if refused:
            with pytest.raises(LedgerError, match=refused):
                await append
        else:
            await append
    prompts = await read_prompts(machine("two"), "s")
    assert prompts == (["before"] if refused else ["before", "meanwhile"])


async def test_a_session_whose_row_another_transaction_holds_is_refused_and_not_waited_for(
    machine, postgres, url, tmp_path
):
    one = machine("one")
    opened = await asyncio.to_thread(one.open_session, ContinuedSession("s"), cwd=CWD)
    await opened.ledger.append(prompt("before"))
    here = PostgresDatabase(
        parse_address(url),
        {"XDG_STATE_HOME": str(tmp_path)},
        blobs=BlobPlace(lambda _mask: None, is_named=False),
        busy_secs=0.05,
    )
    with closing(postgres.connect(parse_address(url).database)) as other, closing(here):
        other.execute("BEGIN")
        other.execute("SELECT FROM leases FOR SHARE")

        found = await asyncio.to_thread(here.open_session, ContinuedSession("s"), cwd=CWD)

        assert found.ledger is None
        assert "session s is open in another process" in str(found.in_use)


@pytest.fixture
def writer(url: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, which writes the session "s" line by line."""
    command = [sys.executable, "-c", WRITER, url, str(tmp_path / "other")]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        yield process
        process.kill()


def write(writer: subprocess.Popen[str], text: str) -> None:
    assert writer.stdin is not None
    writer.stdin.write(f"{text}\n")


def read_line(writer: subprocess.Popen[str]) -> str:
    assert writer.stdout is not None
    return writer.stdout.readline().strip()


def stop_inside(writer: subprocess.Popen[str]) -> None:
    """Have it begin an append, and stop before that is committed."""
    write(writer, "before")
    assert read_line(writer) == "written"
    write(writer, "stop inside")
    os.waitid(os.P_PID, writer.pid, os.WSTOPPED | os.WNOWAIT)


def wait_for(postgres: PostgresForTests, url: str, query: str, is_met: Callable[[object], bool]) -> None:
    with closing(postgres.connect(parse_address(url).database)) as connection:
        while not is_met(connection.execute(query).fetchone()):
            time.sleep(0.01)


@pytest.mark.long
async def test_a_process_that_stopped_inside_an_append_is_taken_over_and_appends_nothing_afterwards(
    machine, postgres, url, writer
):
    await asyncio.to_thread(stop_inside, writer)
    here = machine("here")
    refused = await asyncio.to_thread(here.open_session, ContinuedSession("s"), cwd=CWD)
    assert refused.ledger is None
    with closing(postgres.connect(parse_address(url).database)) as connection:  # waits for the row, too
        connection.execute("UPDATE leases SET renewed_at = renewed_at - interval '1 minute'")

    taken = await asyncio.to_thread(here.open_session, ContinuedSession("s"), cwd=CWD)
    await taken.ledger.append(prompt("taken over"))
    os.kill(writer.pid, signal.SIGCONT)

    assert f"session s was taken over by process {os.getpid()}" in await asyncio.to_thread(read_line, writer)
    write(writer, "once more")
    assert "was taken over by" in await asyncio.to_thread(read_line, writer)
    assert f"taken over from process {writer.pid}" in taken.notices[0]
    assert await read_prompts(here, "s") == ["before", "taken over"]
    assert (await here.archive.verify("s")).holds


@pytest.mark.long
async def test_a_process_that_stopped_inside_an_append_and_was_not_taken_over_does_it_once(
    machine, postgres, url, writer
):
    await asyncio.to_thread(stop_inside, writer)
    abandoned = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
    )
    await asyncio.to_thread(wait_for, postgres, url, abandoned, lambda row: row == (0,))

    os.kill(writer.pid, signal.SIGCONT)

    assert await asyncio.to_thread(read_line, writer) == "written"
    write(writer, "after")
    assert await asyncio.to_thread(read_line, writer) == "written"
    here = machine("here")
    assert await read_prompts(here, "s") == ["before", "stop inside", "after"]
    assert (await here.archive.verify("s")).holds


async def test_a_database_that_is_read_only_is_read_and_named_when_it_is_to_be_written(machine, postgres, url):
    one = machine("one")
    opened = await asyncio.to_thread(one.open_session, ContinuedSession("s"), cwd=CWD)
    await opened.ledger.append(prompt("before"))
    with closing(postgres.connect("postgres")) as connection:
        connection.execute(
            f"ALTER DATABASE {parse_address(url).database} SET default_transaction_read_only = on"
        )

    here = machine("here")

    assert await read_prompts(here, "s") == ["before"]
    with pytest.raises(
        LedgerError, match=r"cannot be written: the server is read-only, as a replica is; name the"
    ):
        await asyncio.to_thread(here.open_session, NewSession(), cwd=CWD)
    with pytest.raises(LedgerError, match="the server is read-only"):
        await here.contents.put([b"former"])
