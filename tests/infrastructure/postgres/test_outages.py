"""A server that goes away while it is asked is waited for, whatever it is asked, and answers each time once."""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from quorum.application.ports.storage import OpenedSession, RequestRate
from quorum.domain.errors import LostConnection
from quorum.domain.events.event import TurnStarted
from quorum.domain.review.questions import RemoteAnswer
from quorum.domain.sessions.session_summary import ContinuedSession
from quorum.domain.text.output import Text
from quorum.infrastructure import blocking
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage
from quorum.infrastructure.store.blobs.file_store import FileBlobStore
from quorum.infrastructure.store.blobs.shared_store import SharedBlobStore
from quorum.infrastructure.store.postgres.address import parse_address
from quorum.infrastructure.store.postgres.database import PostgresDatabase, PostgresOutputs
from tests.support.postgres_proxy import CuttingProxy
from tests.support.postgres_server import PostgresForTests

ANSWER = RemoteAnswer(session_id="s", digest="5f", approves=True, reason=None, answered_by="ada", at_ms=1)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "_RETRY_SECS", 0.01)
    monkeypatch.setattr(blocking, "_TELL_SECS", 0.0)
    monkeypatch.setattr(blocking.Outage, "most_secs", math.inf)


@pytest.fixture
def proxy(postgres: PostgresForTests) -> Iterator[CuttingProxy]:
    with tempfile.TemporaryDirectory(prefix="quorum-proxy-", dir="/tmp") as folder:
        through = CuttingProxy(Path(folder), postgres.folder)
        yield through
        through.close()


@pytest.fixture
def table(postgres: PostgresForTests, proxy: CuttingProxy) -> StorageTable:
    """The address of an empty ledger, through the proxy."""
    name = parse_address(postgres.new_database()).database
    return StorageTable(url=f"postgresql+psycopg://quorum@/{name}?host={proxy.folder}")


@pytest.fixture
def storage(table: StorageTable, tmp_path: Path) -> Iterator[PostgresDatabase]:
    opened = open_storage(table, {"XDG_STATE_HOME": str(tmp_path)})
    assert isinstance(opened, PostgresDatabase)
    yield opened
    opened.close()


async def open_session(storage: PostgresDatabase) -> OpenedSession:
    return await asyncio.to_thread(storage.open_session, ContinuedSession("s"), cwd="/work")


async def append(storage: PostgresDatabase) -> object:
    session = await open_session(storage)
    assert session.ledger is not None
    await session.ledger.append(TurnStarted(prompt="once"))
    await session.ledger.aclose()
    return [getattr(record.event, "prompt", "") for record in await storage.archive.read("s")]


async def keep_content(storage: PostgresDatabase) -> object:
    (digest,) = await storage.contents.put([b"former"])
    return await storage.contents.get(digest), await storage.contents.list_absent([digest])


async def answer(storage: PostgresDatabase) -> object:
    return await storage.answers.add(ANSWER), await storage.answers.find("s", "5f")


async def keep_output(storage: PostgresDatabase) -> object:
    store = storage.open_blobs()
    assert store is not None
    blob_id = await store.store(Text("long " * 10))
    with tempfile.TemporaryDirectory() as folder:
        elsewhere = SharedBlobStore(FileBlobStore(Path(folder)), PostgresOutputs(storage.engine, lambda: 0))
        return await elsewhere.exists(blob_id), await elsewhere.load(blob_id)


async def pace(storage: PostgresDatabase) -> object:
    return await storage.pacer.reserve("fake", RequestRate(per_minute=600)) >= 0


async def hold(storage: PostgresDatabase) -> object:
    session = await open_session(storage)
    assert session.ledger is not None
    held = await asyncio.to_thread(storage.locks.list_holders)
    await session.ledger.aclose()
    return session.notices, list(held)


KEPT = (b"former", frozenset[str]())
SAID = (ANSWER, ANSWER)
OUTPUT = (True, Text("long " * 10))


@pytest.mark.long(after=2)
@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("ask", "statement", "expected"),
    [
        (keep_content, b"SELECT sha256, NOT", KEPT),
        (keep_content, b"INSERT INTO contents", KEPT),
        (keep_content, b"COMMIT", KEPT),
        (keep_content, b"SELECT data, size", KEPT),
        (append, b"INSERT INTO records", ["once"]),
        (append, b"FROM records", ["once"]),
        (answer, b"INSERT INTO review_answers", SAID),
        (answer, b"COMMIT", SAID),
        (answer, b"FROM review_answers", SAID),
        (keep_output, b"INSERT INTO output_pieces", OUTPUT),
        (keep_output, b"COMMIT", OUTPUT),
        (keep_output, b"SELECT name FROM outputs", OUTPUT),
        (keep_output, b"SELECT data FROM output_pieces", OUTPUT),
        (pace, b"INSERT INTO request_rates", True),
        (hold, b"INSERT INTO leases", ((), ["s"])),
        (hold, b"COMMIT", ((), ["s"])),
        (hold, b"FROM sessions", ((), ["s"])),
        (hold, b"FROM leases", ((), ["s"])),
    ],
)
async def test_whatever_is_asked_outlasts_connections_that_are_cut(
    storage: PostgresDatabase,
    proxy: CuttingProxy,
    ask: Callable[[PostgresDatabase], Awaitable[object]],
    statement: bytes,
    expected: object,
    answered: bool,
) -> None:
    proxy.cut_at(statement, answered=answered, times=3)

    assert await ask(storage) == expected
    assert proxy.cuts == 3


async def test_that_a_server_is_waited_for_is_said_and_so_is_that_it_is_back(
    storage: PostgresDatabase, proxy: CuttingProxy
) -> None:
    said: list[str] = []
    with blocking.watch_outages(said.append):
        proxy.cut_at(b"", answered=False, times=5)  # whatever comes

        assert await storage.archive.list_sessions() == ()

    assert said == [
        f"{storage.place} does not answer; it is waited for, at most 60 s",
        f"{storage.place} answers again",
    ]


async def test_who_no_longer_wants_the_answer_does_not_wait_for_the_server(
    storage: PostgresDatabase, proxy: CuttingProxy
) -> None:
    waits = asyncio.Event()
    loop = asyncio.get_running_loop()
    with blocking.watch_outages(lambda _sentence: loop.call_soon_threadsafe(waits.set)):
        proxy.cut_at(b"", answered=False, times=1_000_000)
        asking = asyncio.create_task(storage.answers.find("s", "5f"))
        await waits.wait()

        asking.cancel()
        await asyncio.wait([asking])

    proxy.cut_at(b"", answered=False, times=0)
    assert asking.cancelled()


async def test_a_server_that_does_not_come_back_is_no_longer_waited_for(
    table: StorageTable, proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorum.infrastructure.store.postgres.server.PATIENCE_SECS", 0.1)
    storage = open_storage(table, {})
    proxy.cut_at(b"", answered=False, times=1_000_000)

    with pytest.raises(LostConnection, match="the server does not answer"):
        await storage.contents.put([b"former"])
    proxy.cut_at(b"", answered=False, times=0)
    assert len(await storage.contents.put([b"former"])) == 1
    await asyncio.to_thread(storage.close)
