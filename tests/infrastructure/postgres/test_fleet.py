"""Sessions of a fleet in PostgreSQL: submitted with their jobs, advanced one at a time, and never lost."""

from __future__ import annotations

import asyncio
import gc
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quorum.application.ports.fleet import SessionBusy
from quorum.domain.errors import ConfigError
from quorum.domain.fleet_session import Advance, FleetRequest, FleetSession, FleetState
from quorum.domain.review.questions import RemoteAnswer
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_fleet, open_storage
from quorum.infrastructure.store.postgres import fleet as fleet_worker
from quorum.infrastructure.store.postgres.address import parse_address
from quorum.infrastructure.store.postgres.fleet import PostgresFleet
from tests.support.postgres_proxy import CuttingProxy
from tests.support.postgres_server import PostgresForTests

ENDED = Advance(state=FleetState.ENDED, status="completed")


@pytest.fixture
def url(postgres: PostgresForTests) -> str:
    return postgres.new_database()


@pytest.fixture
def fleet(url: str) -> Iterator[PostgresFleet]:
    opened = PostgresFleet(parse_address(url), {})
    yield opened
    opened.close()


def submit(fleet: PostgresFleet, *prompts: str) -> list[str]:
    requests = [FleetRequest(prompt=prompt, cwd="/work", name=prompt) for prompt in prompts]
    return [session.session_id for session in fleet.submit(requests)]


def states(fleet: PostgresFleet) -> list[FleetState]:
    return [session.state for session in fleet.list_sessions()]


def test_a_ledger_of_one_machine_has_no_fleet(tmp_path):
    with pytest.raises(ConfigError, match="name PostgreSQL in"):
        open_fleet(StorageTable(url=f"sqlite:///{tmp_path}/ledger.sqlite"), {})


def test_a_key_is_submitted_once_and_all_requests_or_none_are(fleet: PostgresFleet):
    first = FleetRequest(prompt="review", cwd="/work", key="pull request 7")

    (session,) = fleet.submit([first])
    assert fleet.submit([first]) == ()
    with pytest.raises(AttributeError):
        fleet.submit([FleetRequest(prompt="more", cwd="/work"), None])  # type: ignore[list-item]

    assert [each.session_id for each in fleet.list_sessions()] == [session.session_id]
    assert (session.prompt, session.state) == ("review", FleetState.QUEUED)


@pytest.mark.parametrize(
    ("end", "is_run_again"),
    [
        (Advance(state=FleetState.FAILED, status="failed", error="KeyError"), True),
        (Advance(state=FleetState.ENDED, status="failed", error="no network"), True),
        (Advance(state=FleetState.ENDED, status="limit"), True),
        (Advance(state=FleetState.CANCELLED), True),
        (Advance(state=FleetState.REVIEW_OPEN), False),
        (ENDED, False),
    ],
)
def test_a_key_is_submitted_again_where_its_session_did_not_complete_and_that_is_asked_for(
    fleet: PostgresFleet, end: Advance, is_run_again: bool
):
    request = FleetRequest(prompt="review", cwd="/work", key="pull request 7")
    (first,) = fleet.submit([request])
    assert fleet.submit([request], retry_failed=True) == ()  # it is queued still
    fleet.put(first.session_id, end)
    assert fleet.submit([request]) == ()

    again = fleet.submit([request, request], retry_failed=True)

    assert [session.state for session in again] == [FleetState.QUEUED] * is_run_again
    assert fleet.submit([request], retry_failed=True) == ()  # the key is that of the new one
    kept = fleet.find(first.session_id)
    assert kept is not None
    assert (kept.advance.status, kept.advance.error) == (end.status, end.error)


async def test_each_session_is_advanced_once_and_its_prompt_is_kept_no_longer(fleet: PostgresFleet):
    submit(fleet, "one", "two", "three")
    advanced: list[str | None] = []

    async def advance(session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
        advanced.append(session.prompt)
        return ENDED

    await fleet.advance_sessions(advance, concurrency=2, until_empty=True)

    assert sorted(str(prompt) for prompt in advanced) == ["one", "three", "two"]
    assert states(fleet) == [FleetState.ENDED] * 3
    assert [session.prompt for session in fleet.list_sessions()] == [None] * 3


async def test_an_answer_to_a_review_queues_its_session_in_the_same_transaction(fleet: PostgresFleet, url: str):
    (waiting, ended) = submit(fleet, "one", "two")

    async def advance(session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
        return Advance(state=FleetState.REVIEW_OPEN) if session.session_id == waiting else ENDED

    await fleet.advance_sessions(advance, concurrency=1, until_empty=True)
    assert states(fleet) == [FleetState.REVIEW_OPEN, FleetState.ENDED]

    storage = await asyncio.to_thread(open_storage, StorageTable(url=url), {})
    for session_id in (waiting, ended, "of no fleet"):
        await storage.answers.add(
            RemoteAnswer(
                session_id=session_id, digest="5f", approves=True, reason=None, answered_by="ada", at_ms=1
            )
        )
    await asyncio.to_thread(storage.close)

    assert states(fleet) == [FleetState.QUEUED, FleetState.ENDED]


async def test_a_session_that_is_busy_stays_queued_and_says_why(fleet: PostgresFleet):
    submit(fleet, "one")

    async def refuse(_session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
        raise SessionBusy("process 7 has it")

    await fleet.advance_sessions(refuse, concurrency=1, until_empty=True)

    (session,) = fleet.list_sessions()
    assert (session.state, session.advance.error, session.prompt) == (
        FleetState.QUEUED,
        "process 7 has it",
        "one",
    )


@pytest.mark.parametrize("is_busy", [True, False])
async def test_what_another_worker_ended_meanwhile_stays_so_and_no_trouble_is_printed(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str, is_busy: bool
):
    (session_id,) = submit(fleet, "one")
    troubles: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: troubles.append(context))

    async def advance(_session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
        with postgres.connect(parse_address(url).database) as connection:  # as the other one leaves it
            connection.execute("DELETE FROM procrastinate_jobs")
        fleet.put(session_id, ENDED)
        if is_busy:
            raise SessionBusy("the session was taken over")
        return Advance(state=FleetState.FAILED, error="the session was taken over")

    await fleet.advance_sessions(advance, concurrency=1, until_empty=True)
    gc.collect()

    (session,) = fleet.list_sessions()
    assert session.advance == ENDED
    assert troubles == []


@pytest.fixture
def proxy(postgres: PostgresForTests) -> Iterator[CuttingProxy]:
    with tempfile.TemporaryDirectory(prefix="quorum-proxy-", dir="/tmp") as folder:
        through = CuttingProxy(Path(folder), postgres.folder)
        yield through
        through.close()


@pytest.fixture
def cut(proxy: CuttingProxy, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresFleet]:
    """The same fleet, through the proxy."""
    monkeypatch.setattr(fleet_worker, "_RECONNECT_SECS", 0.01)
    monkeypatch.setattr(fleet_worker, "_CONNECT_SECS", 0.5)
    name = parse_address(url).database
    opened = PostgresFleet(parse_address(f"postgresql+psycopg://quorum@/{name}?host={proxy.folder}"), {})
    yield opened
    opened.close()


@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("asked", ["fetch", "finish"])
async def test_a_job_outlasts_connections_that_are_cut_as_it_is_fetched_and_ends(
    fleet: PostgresFleet,
    cut: PostgresFleet,
    proxy: CuttingProxy,
    postgres,
    url: str,
    asked: str,
    answered: bool,
):
    submit(fleet, "one")
    proxy.cut_at(f"procrastinate_{asked}_job".encode(), answered=answered, times=2)

    async def advance(_session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
        return ENDED

    await cut.advance_sessions(advance, concurrency=1, until_empty=True)

    assert proxy.cuts == 2
    with postgres.connect(parse_address(url).database) as connection:
        assert connection.execute("SELECT count(*) FROM procrastinate_jobs").fetchone() == (0,)
    assert states(fleet) == [FleetState.ENDED]


async def test_an_outage_ends_no_session_and_the_worker_is_heard_of_and_goes_on_after_it(
    fleet: PostgresFleet, cut: PostgresFleet, proxy: CuttingProxy, postgres, url: str, monkeypatch
):
    monkeypatch.setattr(fleet_worker, "_HEARTBEAT_SECS", 0.05)
    monkeypatch.setattr(fleet_worker, "_LOOK_SECS", 0.05)
    monkeypatch.setattr(fleet_worker, "_GRACE_SECS", 0.0)
    submit(fleet, "long", "short")
    begun, release, short = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def advance(session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
        if session.name == "long":
            begun.set()
            await release.wait()
        else:
            short.set()
        return ENDED

    working = asyncio.ensure_future(cut.advance_sessions(advance, concurrency=1, until_empty=False))
    await begun.wait()
    proxy.cut_at(b"", answered=False, times=8)  # whatever comes
    with postgres.connect(parse_address(url).database) as connection:
        while proxy.cuts < 8:  # noqa: ASYNC110 - another thread
            await asyncio.sleep(0.01)
        heard = "SELECT max(last_heartbeat) FROM procrastinate_workers"
        (before,) = connection.execute(heard).fetchone()
        while connection.execute(heard).fetchone() == (before,):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)
    release.set()
    await short.wait()
    while FleetState.RUNNING in states(fleet):  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.01)
    working.cancel()
    await asyncio.wait([working])

    assert states(fleet) == [FleetState.ENDED, FleetState.ENDED]


async def test_a_cancelled_session_is_taken_from_the_queue_and_no_answer_brings_it_back(
    fleet: PostgresFleet,
):
    (queued,) = submit(fleet, "one")

    assert fleet.cancel([queued]) == (queued,)
    assert fleet.cancel([queued]) == ()
    fleet.put(queued, ENDED)

    async def advance(session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
        raise AssertionError(session)

    await fleet.advance_sessions(advance, concurrency=1, until_empty=True)
    assert states(fleet) == [FleetState.CANCELLED]


@pytest.mark.long
async def test_a_running_session_is_told_that_it_is_cancelled(fleet: PostgresFleet):
    (running,) = submit(fleet, "one")
    told: list[bool] = []
    begun = asyncio.Event()

    async def advance(_session: FleetSession, is_cancelled: Callable[[], bool]) -> Advance:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            told.append(is_cancelled())
        raise AssertionError

    working = asyncio.ensure_future(fleet.advance_sessions(advance, concurrency=1, until_empty=False))
    await begun.wait()
    await asyncio.to_thread(fleet.cancel, [running])
    while not told:  # noqa: ASYNC110 - a notification of the server
        await asyncio.sleep(0.05)
    working.cancel()
    await asyncio.wait([working])

    assert told == [True]
    assert states(fleet) == [FleetState.CANCELLED]


@pytest.mark.long
async def test_the_session_of_a_worker_that_is_gone_is_taken_by_another(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fleet_worker, "GONE_SECS", 1.0)
    monkeypatch.setattr(fleet_worker, "_HEARTBEAT_SECS", 0.2)
    monkeypatch.setattr(fleet_worker, "_LOOK_SECS", 0.2)
    submit(fleet, "one")
    with postgres.connect(parse_address(url).database) as connection:  # as a worker that is killed leaves it
        connection.execute(
            "INSERT INTO procrastinate_workers(last_heartbeat) VALUES (now() - interval '1 minute')"
        )
        connection.execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = 1")
    done = asyncio.Event()
    advanced: Counter[str] = Counter()

    async def advance(session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
        advanced[session.session_id] += 1
        done.set()
        return ENDED

    working = asyncio.ensure_future(fleet.advance_sessions(advance, concurrency=1, until_empty=False))
    await asyncio.wait_for(done.wait(), 30)
    working.cancel()
    await asyncio.wait([working])

    assert states(fleet) == [FleetState.ENDED]
    assert list(advanced.values()) == [1]
