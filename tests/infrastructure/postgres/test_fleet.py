"""Sessions of a fleet in PostgreSQL: submitted with their jobs, advanced one at a time, and never lost."""

from __future__ import annotations

import asyncio
import gc
import logging
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import procrastinate
import procrastinate.utils
import pytest

from quorum.application.ports.fleet import SessionBusy, SessionKilled
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.errors import ConfigError
from quorum.domain.events.event import CallFinished, CallStarted, TurnStarted
from quorum.domain.fleet_session import (
    MOST_KILLS,
    MOST_LOSSES,
    MOST_UNCLEAR_LOSSES,
    SUSPECT_LOSSES,
    Advance,
    FleetRequest,
    FleetSession,
    FleetState,
    WorkerIdentity,
)
from quorum.domain.review.questions import DecisionLabel, RemoteAnswer
from quorum.domain.sessions.session_summary import ContinuedSession
from quorum.infrastructure import wall_clock
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_fleet, open_storage
from quorum.infrastructure.store.postgres import fleet as fleet_module
from quorum.infrastructure.store.postgres import fleet_table, server
from quorum.infrastructure.store.postgres.address import parse_address
from quorum.infrastructure.store.postgres.fleet import FleetWorker, Loss, PostgresFleet
from quorum.infrastructure.store.postgres.server import PostgresServer
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


def test_what_the_libraries_of_the_queue_log_is_not_printed(fleet: PostgresFleet, caplog):
    FleetWorker(fleet, {}, end, concurrency=1, identity=None)

    for name in ("procrastinate.worker", "psycopg", "psycopg.pool"):
        logging.getLogger(name).warning("trouble")

    assert caplog.messages == []


def test_all_that_use_a_database_in_a_process_share_its_connections(url: str):
    one, two = PostgresServer(parse_address(url), {}), PostgresServer(parse_address(url), {})

    def read_pid(server: PostgresServer) -> int:
        return server.read(lambda connection: connection.execute("SELECT pg_backend_pid()").scalar_one())

    first, second = read_pid(one), read_pid(two)
    one.close()
    third = read_pid(two)
    two.close()

    assert first == second == third


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

    await answer_reviews(url, waiting, ended, "of no fleet")

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
    monkeypatch.setattr(fleet_module, "_RECONNECT_SECS", 0.01)
    monkeypatch.setattr(fleet_module, "_CONNECT_SECS", 0.5)
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
    monkeypatch.setattr(fleet_module, "_HEARTBEAT_SECS", 0.05)
    monkeypatch.setattr(fleet_module, "_LOOK_SECS", 0.05)
    monkeypatch.setattr(fleet_module, "_GRACE_SECS", 0.0)
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
    monkeypatch.setattr(fleet_module, "GONE_SECS", 1.0)
    monkeypatch.setattr(fleet_module, "_HEARTBEAT_SECS", 0.2)
    monkeypatch.setattr(fleet_module, "_LOOK_SECS", 0.2)
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


def execute(postgres: PostgresForTests, url: str, statement: str) -> None:
    with postgres.connect(parse_address(url).database) as connection:
        connection.execute(statement)


def find(fleet: PostgresFleet, session_id: str) -> FleetSession:
    session = fleet.find(session_id)
    assert session is not None
    return session


def read_database_ms(postgres: PostgresForTests, url: str) -> int:
    with postgres.connect(parse_address(url).database) as connection:
        (now,) = connection.execute("SELECT extract(epoch FROM clock_timestamp()) * 1000").fetchone() or (0,)
    return int(now)  # type: ignore[call-overload]


@pytest.fixture
def day_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of this machine is a day ahead of that of the database."""
    read = wall_clock.read_wall_clock_ms
    monkeypatch.setattr(procrastinate.utils, "utcnow", lambda: datetime.now(UTC) + timedelta(days=1))
    monkeypatch.setattr(server, "read_wall_clock_ms", lambda: read() + 86_400_000)


async def be_busy(_session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
    raise SessionBusy("process 7 has it")


async def be_killed(_session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
    raise SessionKilled("killed by SIGKILL; it said last: out of memory")


async def end(_session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
    return ENDED


@pytest.mark.usefixtures("day_ahead")
async def test_a_worker_whose_clock_is_ahead_parks_by_the_clock_of_the_database(
    postgres: PostgresForTests, url: str
):
    fleet = PostgresFleet(parse_address(url), {})
    (busy,) = submit(fleet, "one")
    before = read_database_ms(postgres, url)

    await fleet.advance_sessions(be_busy, concurrency=1, until_empty=True)

    session = find(fleet, busy)
    now = read_database_ms(postgres, url)
    fleet.close()
    assert session.parked_until_ms is not None
    assert before < session.parked_until_ms < now + 60_000
    for at_ms in (session.submitted_ms, session.updated_ms):
        assert abs(at_ms - now) < 60_000
    assert (session.state, session.advance.error) == (FleetState.QUEUED, "process 7 has it")


@pytest.mark.usefixtures("day_ahead")
async def test_records_have_the_time_of_the_database(postgres: PostgresForTests, url: str):
    storage = await asyncio.to_thread(open_storage, StorageTable(url=url), {})
    opened = await asyncio.to_thread(storage.open_session, ContinuedSession("s"), cwd="/work")
    assert opened.ledger is not None
    await opened.ledger.append(TurnStarted(prompt="x"))
    await opened.ledger.aclose()

    (record,) = await storage.archive.read("s")

    await asyncio.to_thread(storage.close)
    assert abs(record.at_ms - read_database_ms(postgres, url)) < 60_000


@pytest.mark.usefixtures("day_ahead")
async def test_what_a_worker_that_is_gone_ran_is_queued_for_now(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    (session,) = submit(fleet, "one")
    lose_worker(postgres, url)

    assert await rescue(url) == [Loss(session, was_alone=True)]

    assert find(fleet, session).parked_until_ms is None


async def test_what_an_earlier_quorum_parked_for_a_day_is_freed(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fleet_module, "_LOOK_SECS", 0.1)
    (parked,) = submit(fleet, "one")
    execute(postgres, url, "UPDATE procrastinate_jobs SET scheduled_at = now() + interval '1 day'")
    assert find(fleet, parked).parked_until_ms is not None

    working = asyncio.ensure_future(fleet.advance_sessions(end, concurrency=1, until_empty=False))
    while not find(fleet, parked).state.is_final:  # noqa: ASYNC110 - a row of the database
        await asyncio.sleep(0.05)
    working.cancel()
    await asyncio.wait([working])


async def test_a_session_whose_process_is_killed_each_time_is_set_aside_and_can_be_queued_again(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    (poison,) = submit(fleet, "one")
    await begin_call(url, poison)
    for kills in range(1, MOST_KILLS + 1):
        execute(postgres, url, "UPDATE procrastinate_jobs SET scheduled_at = NULL")
        await fleet.advance_sessions(be_killed, concurrency=1, until_empty=True)
        assert (find(fleet, poison).attempts, find(fleet, poison).kills) == (kills, kills)

    session = find(fleet, poison)
    assert session.is_set_aside
    last_call = 'its last call was run_command {"command": "sort huge"}'
    last_words = "its process was killed by SIGKILL; it said last: out of memory"
    assert f"set aside after 3 times in a row, {last_call}: {last_words}" in session.advance.error
    assert f"quorum fleet retry {poison}" in session.advance.error
    assert fleet.retry([poison, "of no fleet"]) == (poison,)
    assert fleet.retry([poison]) == ()
    session = find(fleet, poison)
    assert (session.state, session.prompt, session.kills) == (FleetState.QUEUED, "one", 0)
    await fleet.advance_sessions(end, concurrency=1, until_empty=True)
    assert states(fleet) == [FleetState.ENDED]


@asynccontextmanager
async def open_jobs(
    url: str,
    identity: WorkerIdentity | None = None,
    put_kill: Callable[[Loss], Awaitable[None]] | None = None,
) -> AsyncIterator[fleet_module.FleetJobs]:
    options = PostgresServer(parse_address(url), {}).build_connect_options()
    connector = procrastinate.PsycopgConnector(kwargs=options)
    async with procrastinate.App(connector=connector).open_async():
        yield fleet_module.FleetJobs(connector, identity, put_kill=put_kill)


async def rescue(url: str, identity: WorkerIdentity | None = None) -> list[Loss]:
    """What a worker does regularly, or, with an identity, when it begins."""
    async with open_jobs(url, identity) as jobs:
        if identity is not None:
            await jobs.register_worker()
            return []
        lost = await jobs.rescue()
        await jobs.remove_gone()
        return lost


def lose_worker(
    postgres: PostgresForTests, url: str, *, server_id: str = "", is_draining: bool = False
) -> None:
    """Leave what a worker leaves that is killed while it runs what is queued."""
    with postgres.connect(parse_address(url).database) as connection:
        (worker,) = connection.execute(
            "INSERT INTO procrastinate_workers(last_heartbeat) VALUES (now() - interval '1 hour') RETURNING id"
        ).fetchone() or (0,)
        connection.execute(
            "INSERT INTO fleet_workers VALUES (%s, 'process 7', %s, %s, '1.2', '/srv')",
            (worker, server_id, is_draining),
        )
        connection.execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s", (worker,))


async def test_a_session_that_is_lost_with_its_worker_each_time_is_set_aside(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    (poison,) = submit(fleet, "one")

    for _ in range(MOST_LOSSES):
        assert not find(fleet, poison).is_set_aside
        assert fleet.begin_attempt(poison) is not None
        await begin_call(url, poison)
        lose_worker(postgres, url)
        for session_id, was_alone in await rescue(url):
            fleet.put_loss(session_id, was_alone=was_alone)

    assert fleet.begin_attempt(poison) is None
    session = find(fleet, poison)
    assert (session.is_set_aside, session.attempts, session.prompt) == (True, MOST_LOSSES, "one")


async def test_a_session_that_was_lost_before_it_did_anything_is_not_taken_for_the_cause(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    (slow,) = submit(fleet, "one")
    await begin_call(url, slow)

    for _ in range(MOST_LOSSES):  # a call was running at the first of them alone
        lose_worker(postgres, url)
        ((session_id, was_alone),) = await rescue(url)
        assert not fleet.put_loss(session_id, was_alone=was_alone)

    assert find(fleet, slow).losses == MOST_LOSSES


async def test_sessions_that_are_lost_together_are_not_all_set_aside_so_soon(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    sessions = submit(fleet, "one", "two")
    execute(postgres, url, f"UPDATE fleet_queue SET losses = {MOST_UNCLEAR_LOSSES - 2}")

    for is_set_aside in (False, True):
        lose_worker(postgres, url)
        for session_id, was_alone in await rescue(url):
            fleet.put_loss(session_id, was_alone=was_alone)
        assert [find(fleet, session).is_set_aside for session in sessions] == [is_set_aside, is_set_aside]

    assert [find(fleet, session).losses for session in sessions] == [MOST_UNCLEAR_LOSSES, MOST_UNCLEAR_LOSSES]


async def test_a_session_that_goes_on_between_its_losses_is_not_set_aside_so_soon(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    (moving,) = submit(fleet, "one")
    execute(postgres, url, f"UPDATE fleet_queue SET losses = {MOST_LOSSES - 1}")
    await begin_call(url, moving, Outcome.OK)
    lose_worker(postgres, url)
    (lost,) = await rescue(url)
    assert not fleet.put_loss(moving, was_alone=lost.was_alone)

    await begin_call(url, moving)
    lose_worker(postgres, url)
    (lost,) = await rescue(url)

    assert lost.was_alone
    assert fleet.put_loss(moving, was_alone=lost.was_alone)


async def test_a_session_that_ends_a_shared_worker_is_set_aside_at_the_third_time_and_no_other(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    poison, *others = submit(fleet, "poison", "two", "three")
    for _ in range(SUSPECT_LOSSES):
        lose_worker(postgres, url)
        for session_id, was_alone in await rescue(url):
            fleet.put_loss(session_id, was_alone=was_alone)
    beside: dict[str, set[str]] = {}
    running: set[str] = set()
    ended = asyncio.Event()

    async def advance(session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
        running.add(session.session_id)
        beside[session.session_id] = set(running)
        try:
            if session.session_id == poison:
                await begin_call(url, poison)
                ended.set()
                await asyncio.Event().wait()
            await asyncio.sleep(0)
            return ENDED
        finally:
            running.discard(session.session_id)

    # The worker of `poison` is gone as soon as that runs; another one advances what is left.
    working = asyncio.ensure_future(fleet.advance_sessions(advance, concurrency=3, until_empty=False))
    await asyncio.wait_for(ended.wait(), 30)
    execute(
        postgres,
        url,
        "UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'"
        f" WHERE id = (SELECT worker_id FROM procrastinate_jobs WHERE lock = '{poison}')",
    )
    lost = await rescue(url)
    assert lost == [Loss(poison, was_alone=True)]
    assert fleet.put_loss(poison, was_alone=True)
    working.cancel()
    await asyncio.wait([working])
    execute(postgres, url, "UPDATE procrastinate_jobs SET scheduled_at = NULL")
    await fleet.advance_sessions(end, concurrency=1, until_empty=True)

    assert beside[poison] == {poison}
    assert find(fleet, poison).is_set_aside
    assert [find(fleet, each).state for each in others] == [FleetState.ENDED, FleetState.ENDED]


async def replace_worker(fleet: PostgresFleet, postgres: PostgresForTests, url: str) -> None:
    """Have a worker be killed, and another one of the same parent begin."""
    lose_worker(postgres, url, server_id="5f")

    async def put_kill(loss: Loss) -> None:
        await asyncio.to_thread(fleet.put_worker_kill, loss.session_id, was_alone=loss.was_alone)

    async with open_jobs(url, WorkerIdentity(name="process 8", server_id="5f"), put_kill) as jobs:
        await jobs.register_worker()


async def test_a_session_that_kills_its_worker_each_time_is_set_aside_though_the_parent_starts_another(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    (poison,) = submit(fleet, "one")

    for losses in range(1, MOST_LOSSES + 1):
        assert fleet.begin_attempt(poison) is not None
        await begin_call(url, poison)
        await replace_worker(fleet, postgres, url)
        assert find(fleet, poison).losses == losses

    assert fleet.begin_attempt(poison) is None
    assert find(fleet, poison).is_set_aside
    assert "its last call was run_command" in find(fleet, poison).advance.error
    assert "its worker was killed; quorum fleet retry" in find(fleet, poison).advance.error


async def test_a_killed_worker_is_no_fault_of_a_session_that_goes_on_or_of_which_nothing_had_begun(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    moving, other = submit(fleet, "moving", "other")
    await begin_call(url, moving)
    await replace_worker(fleet, postgres, url)
    assert (find(fleet, moving).losses, find(fleet, other).losses) == (1, 0)

    await replace_worker(fleet, postgres, url)  # before anything of it began again
    assert find(fleet, moving).losses == 1

    await begin_call(url, moving, Outcome.OK)
    await begin_call(url, moving)
    await replace_worker(fleet, postgres, url)
    session = find(fleet, moving)
    assert (session.losses, session.state, session.advance.error) == (
        0,
        FleetState.QUEUED,
        "its worker was killed",
    )


async def test_of_workers_that_notice_a_loss_at_once_one_counts_it(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    sessions = submit(fleet, "one", "two", "three")
    lose_worker(postgres, url)

    lost = await asyncio.gather(*(rescue(url) for _ in range(5)))

    counted = sorted(found for each in lost for found in each)
    assert counted == [Loss(each, was_alone=False) for each in sessions]
    assert [find(fleet, session).losses for session in sessions] == [1, 1, 1]


async def test_what_is_no_kill_is_not_counted_as_one(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    (session,) = submit(fleet, "one")

    await fleet.advance_sessions(be_busy, concurrency=1, until_empty=True)
    lose_worker(postgres, url, is_draining=True)
    assert await rescue(url) == []
    assert find(fleet, session).state is FleetState.QUEUED
    lose_worker(postgres, url, server_id="5f")
    await rescue(url, WorkerIdentity(name="process 7", server_id="6e"))
    assert find(fleet, session).state is FleetState.RUNNING
    await rescue(url, WorkerIdentity(name="process 7", server_id="5f"))  # the parent has started another one

    assert find(fleet, session).state is FleetState.QUEUED
    assert (find(fleet, session).attempts, find(fleet, session).losses) == (1, 0)
    assert [worker.identity.server_id for worker in fleet.list_workers()] == ["", ""]


async def test_a_worker_that_was_only_cut_off_keeps_its_name_and_what_nobody_took_and_loses_nothing(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    identity = WorkerIdentity(name="process 7", server_id="5f")
    (taken,) = submit(fleet, "taken")
    async with open_jobs(url, identity) as jobs:
        worker = await jobs.register_worker()
        await jobs.fetch_job([fleet_module.QUEUE], worker)
        execute(postgres, url, "UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'")
        assert await rescue(url) == [Loss(taken, was_alone=True)]
        assert find(fleet, taken).losses == 1
        (ours,) = fleet.submit([FleetRequest(prompt="ours", cwd="/work", priority=1)])
        await jobs.update_heartbeat(worker)
        assert find(fleet, taken).losses == 0
        await jobs.fetch_job([fleet_module.QUEUE], worker)
        execute(postgres, url, "DELETE FROM procrastinate_workers")  # as an earlier quorum does as it begins

        await jobs.update_heartbeat(worker)
        assert await rescue(url) == []

        (listed,) = fleet.list_workers()
        assert (listed.identity.name, listed.sessions) == ("process 7", (ours.session_id,))
        assert (find(fleet, taken).state, find(fleet, taken).losses) == (FleetState.QUEUED, 0)


async def test_what_a_worker_drained_is_known_when_the_next_one_begins(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fleet_module, "_LOOK_SECS", 0.1)
    submit(fleet, "one")
    lose_worker(postgres, url, is_draining=True)
    losses: list[int] = []
    done = asyncio.Event()

    async def note(session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
        losses.append(session.losses)
        done.set()
        return ENDED

    working = asyncio.ensure_future(fleet.advance_sessions(note, concurrency=1, until_empty=False))
    await asyncio.wait_for(done.wait(), 30)
    working.cancel()
    await asyncio.wait([working])

    assert losses == [0]


def test_what_is_written_as_a_connection_is_cut_is_written_once(
    fleet: PostgresFleet, cut: PostgresFleet, proxy: CuttingProxy
):
    def cut_next() -> None:
        proxy.cut_at(b"COMMIT", answered=True)

    cut_next()
    (session,) = cut.submit([FleetRequest(prompt="one", cwd="/work")])
    session_id = session.session_id
    cut_next()
    cut.begin_attempt(session_id)
    cut_next()
    cut.put_kill(session_id, "killed")
    cut_next()
    cut.put_loss(session_id, was_alone=True)

    kept = find(fleet, session_id)
    assert (kept.attempts, kept.kills, kept.losses) == (1, 1, 0)
    cut_next()
    cut.put(session_id, Advance(state=FleetState.FAILED))
    cut_next()
    assert cut.retry([session_id]) == (session_id,)
    cut_next()
    assert cut.cancel([session_id]) == (session_id,)
    assert proxy.cuts == 7


async def test_a_worker_that_is_asked_to_end_says_so_and_leaves_what_does_not_end_to_others(
    fleet: PostgresFleet, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fleet_module, "_GRACE_SECS", 0.0)
    (session,) = submit(fleet, "one")
    begun = asyncio.Event()
    seen: list[bool] = []

    async def wait(_session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            seen.extend(worker.is_draining for worker in fleet.list_workers())
        raise AssertionError

    identity = WorkerIdentity(name="process 7")
    working = asyncio.ensure_future(
        fleet.advance_sessions(wait, concurrency=1, until_empty=False, worker=identity)
    )
    await begun.wait()
    working.cancel()
    await asyncio.wait([working])

    assert seen == [True]
    assert (find(fleet, session).state, find(fleet, session).losses) == (FleetState.QUEUED, 0)


async def test_submitters_take_turns_and_a_higher_priority_comes_first(
    fleet: PostgresFleet, monkeypatch: pytest.MonkeyPatch
):
    order: list[str] = []

    async def note(session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
        order.append(session.name)
        if session.name == "a1":
            monkeypatch.setattr(fleet_table, "name_answerer", lambda: "late@host")
            await asyncio.to_thread(submit, fleet, "c0", "c1")
        return ENDED

    for person, prompts in (("ada", ["a0", "a1", "a2", "a3"]), ("bob", ["b0", "b1"])):
        monkeypatch.setattr(fleet_table, "name_answerer", lambda person=person: person)
        submit(fleet, *prompts)
    fleet.submit([FleetRequest(prompt="urgent", name="urgent", cwd="/work", priority=1)])
    fleet.submit([FleetRequest(prompt="idle", name="idle", cwd="/work", priority=-9)])

    await fleet.advance_sessions(note, concurrency=1, until_empty=True)

    assert order == ["urgent", "a0", "b0", "a1", "b1", "c0", "a2", "c1", "a3", "idle"]


async def test_a_session_keeps_its_priority_when_it_is_answered(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    requests = [FleetRequest(prompt="x", name=str(number), cwd="/work", priority=number) for number in (1, 2)]
    low, high = (session.session_id for session in fleet.submit(requests))
    fleet.put(low, Advance(state=FleetState.REVIEW_OPEN))
    fleet.put(high, Advance(state=FleetState.REVIEW_OPEN))
    execute(postgres, url, "DELETE FROM procrastinate_jobs")
    order: list[str] = []

    async def note(session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
        order.append(session.session_id)
        return ENDED

    await answer_reviews(url, low, high)
    await fleet.advance_sessions(note, concurrency=1, until_empty=True)

    assert order == [high, low]


async def test_one_worker_sends_the_numbers_to_a_collector_and_another_one_once_it_is_silent(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    instance = fleet.claim_metrics("http://one", "a", 60)
    other_collector = fleet.claim_metrics("http://two", "b", 60)

    assert len({instance, other_collector, ""}) == 3
    assert fleet.claim_metrics("http://one", "b", 60) == ""
    assert fleet.claim_metrics("http://one", "a", 60) == instance
    execute(postgres, url, "UPDATE fleet_metrics SET until = now() - interval '1 second'")
    assert fleet.claim_metrics("http://one", "b", 60) == instance
    assert fleet.claim_metrics("http://one", "a", 60) == ""


async def test_workers_that_give_signs_of_life_are_listed_with_what_they_run(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    (session,) = submit(fleet, "one")
    identity = WorkerIdentity(name="process 7 on build1", version="1.2", folder="/srv")
    seen: list[object] = []

    async def look(_session: FleetSession, _is_cancelled: Callable[[], bool]) -> Advance:
        execute(postgres, url, "INSERT INTO procrastinate_workers DEFAULT VALUES")
        execute(
            postgres, url, "INSERT INTO procrastinate_workers(last_heartbeat) VALUES (now() - interval '1 day')"
        )
        seen.extend((worker.identity.name, worker.sessions) for worker in fleet.list_workers())
        seen.append(find(fleet, session).worker)
        return ENDED

    await fleet.advance_sessions(look, concurrency=1, until_empty=True, worker=identity)

    assert seen == [("process 7 on build1", (session,)), ("worker 2", ()), "process 7 on build1"]


async def test_a_fleet_of_an_earlier_quorum_goes_on_beside_a_newer_one(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str
):
    (old,) = submit(fleet, "one")
    execute(postgres, url, "DROP TABLE fleet_queue, fleet_workers")
    execute(postgres, url, "DELETE FROM procrastinate_jobs")
    await answer_reviews(url, old)  # before any newer fleet was opened

    newer = PostgresFleet(parse_address(url), {})
    session = find(newer, old)
    assert (session.state, session.attempts) == (FleetState.QUEUED, 0)
    assert newer.begin_attempt(old) is not None
    newer.put(old, ENDED)
    newer.close()

    assert states(fleet) == [FleetState.ENDED]


@pytest.mark.parametrize("is_dry", [False, True])
async def test_pruning_takes_the_rows_of_a_fleet_too(
    fleet: PostgresFleet, postgres: PostgresForTests, url: str, is_dry: bool
):
    done, waiting, unbegun, queued, running = submit(fleet, "done", "waiting", "unbegun", "queued", "running")
    (elsewhere,) = fleet.submit([FleetRequest(prompt="x", cwd="/elsewhere")])
    fleet.put(done, ENDED)
    fleet.put(waiting, Advance(state=FleetState.REVIEW_OPEN))
    fleet.cancel([unbegun, elsewhere.session_id])
    storage = await asyncio.to_thread(open_storage, StorageTable(url=url), {})
    opened = {}
    for session_id in (done, waiting, running):
        choice = ContinuedSession(session_id)
        opened[session_id] = await asyncio.to_thread(storage.open_session, choice, cwd="/work")
        await opened[session_id].ledger.append(TurnStarted(prompt="x"))
    for session_id in (done, waiting):
        await opened[session_id].ledger.aclose()

    until = fleet.read_clock_ms()

    await storage.archive.prune(keep=0, dry_run=is_dry)
    none = await storage.archive.prune_unbegun(until - 60_000, None, dry_run=is_dry)
    unbegun_here = await storage.archive.prune_unbegun(until, "/work", dry_run=is_dry)

    await opened[running].ledger.aclose()
    await asyncio.to_thread(storage.close)
    left = {session.session_id for session in fleet.list_sessions()}
    everything = {done, waiting, unbegun, queued, running, elsewhere.session_id}
    assert (none, unbegun_here) == (0, 1)
    assert left == (everything if is_dry else {queued, running, elsewhere.session_id})


async def test_a_failed_session_keeps_its_prompt_until_a_turn_has_begun(fleet: PostgresFleet, url: str):
    begun, unbegun = submit(fleet, "begun", "unbegun")
    storage = await asyncio.to_thread(open_storage, StorageTable(url=url), {})
    opened = await asyncio.to_thread(storage.open_session, ContinuedSession(begun), cwd="/work")
    assert opened.ledger is not None
    await opened.ledger.append(TurnStarted(prompt="begun"))
    await opened.ledger.aclose()
    await asyncio.to_thread(storage.close)

    for session_id in (begun, unbegun):
        fleet.put(session_id, Advance(state=FleetState.FAILED, status="failed", error="KeyError"))

    assert [session.prompt for session in fleet.list_sessions()] == [None, "unbegun"]
    assert fleet.retry([begun, unbegun]) == (begun, unbegun)


def test_a_goal_is_kept_with_its_checks_in_a_fleet_of_an_earlier_quorum(postgres: PostgresForTests, url: str):
    PostgresFleet(parse_address(url), {}).close()
    execute(postgres, url, "ALTER TABLE fleet_sessions DROP COLUMN checks")
    fleet = PostgresFleet(parse_address(url), {})

    goal, plain = fleet.submit(
        [
            FleetRequest(prompt="all pass", cwd="/work", checks=('test "a"', "true")),
            FleetRequest(prompt="one", cwd="/work"),
        ]
    )
    fleet.close()

    assert (goal.prompt, goal.checks) == ("all pass", ('test "a"', "true"))
    assert plain.checks is None


async def test_a_text_is_redacted_in_what_a_fleet_keeps_beside_the_record(fleet: PostgresFleet, url: str):
    request = FleetRequest(prompt="use key-1", name="with key-1", cwd="/key-1", checks=("grep key-1 a", "true"))
    (session,) = fleet.submit([request])
    await begin_call(url, session.session_id)
    for _ in range(MOST_KILLS):
        fleet.put_kill(session.session_id, "killed by SIGKILL; it said last: key-1 is wrong")
    storage = await asyncio.to_thread(open_storage, StorageTable(url=url), {})

    await storage.archive.redact(session.session_id, "key-1")

    await asyncio.to_thread(storage.close)
    kept = find(fleet, session.session_id)
    assert kept.prompt is not None
    assert not any("key-1" in text for text in (kept.name, kept.cwd, kept.prompt, kept.advance.error))
    assert "sort huge" in kept.advance.error
    assert kept.checks is not None
    assert (kept.checks[1], "key-1" in kept.checks[0]) == ("true", False)


async def begin_call(url: str, session_id: str, ends: Outcome | None = None) -> None:
    """Record that a call began, and ended so, if it did."""
    storage = await asyncio.to_thread(open_storage, StorageTable(url=url), {})
    opened = await asyncio.to_thread(storage.open_session, ContinuedSession(session_id), cwd="/work")
    assert opened.ledger is not None
    context = ToolExecutionContext(call_id="call-1", batch_id="b", call_index=0, turn_index=0)
    await opened.ledger.append(
        CallStarted(context=context, tool="run_command", arguments={"command": "sort huge"})
    )
    if ends is not None:
        finished = CallFinished(
            context=context,
            tool="run_command",
            outcome=ends,
            decision=DecisionLabel.ALLOWED,
            output="",
            duration_secs=1,
        )
        await opened.ledger.append(finished)
    await opened.ledger.aclose()
    await asyncio.to_thread(storage.close)


async def answer_reviews(url: str, *session_ids: str) -> None:
    storage = await asyncio.to_thread(open_storage, StorageTable(url=url), {})
    for session_id in session_ids:
        answer = RemoteAnswer(
            session_id=session_id, digest="5f", approves=True, reason=None, answered_by="ada", at_ms=1
        )
        await storage.answers.add(answer)
    await asyncio.to_thread(storage.close)
