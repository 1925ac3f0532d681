"""One body for all that share request rates: PostgreSQL, one process, and memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from quorum.application.ports.storage import RequestPacer, RequestRate
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.local_pacer import LocalPacer
from quorum.infrastructure.storage import open_storage
from tests.support.fake_storage import FakePacer
from tests.support.postgres_server import PostgresForTests

SLOW = RequestRate(1)  # no test takes as long as a token of it


@pytest.fixture(params=["postgres", "local", "fake"])
def pacer(request: pytest.FixtureRequest) -> Iterator[RequestPacer]:
    match request.param:
        case "postgres":
            server: PostgresForTests = request.getfixturevalue("postgres")
            storage = open_storage(StorageTable(url=server.new_database()), {})
            yield storage.pacer
            storage.close()
        case "local":
            yield LocalPacer()
        case _:
            yield FakePacer()


async def test_a_burst_is_sent_at_once_and_then_each_waits_longer_than_the_one_before(pacer: RequestPacer):
    first, second, third = [await pacer.reserve("p", SLOW) for _ in range(3)]

    assert first == 0
    assert 0 < second <= 60
    assert second < third <= 120


async def test_each_provider_has_a_rate_of_its_own(pacer: RequestPacer):
    assert [await pacer.reserve(name, SLOW) for name in ("p", "q", "p/q")] == [0, 0, 0]


async def test_of_those_who_ask_at_once_none_is_given_the_turn_of_another(pacer: RequestPacer):
    waits = await asyncio.gather(*(pacer.reserve("p", SLOW) for _ in range(8)))

    assert sum(wait == 0 for wait in waits) == 1
    assert len(set(waits)) == 8


async def test_all_who_use_one_database_share_its_rates(postgres: PostgresForTests):
    table = StorageTable(url=postgres.new_database())
    storages = [open_storage(table, {}) for _ in range(2)]

    waits = [await storage.pacer.reserve("p", SLOW) for storage in storages]

    for storage in storages:
        storage.close()
    assert waits[0] == 0
    assert waits[1] > 0


async def test_a_bucket_that_was_not_used_fills_up_again():
    now = 0.0
    pacer = LocalPacer(lambda: now)
    rate = RequestRate(12)  # two at once, and one more every five seconds
    assert [await pacer.reserve("p", rate) for _ in range(4)] == pytest.approx([0, 0, 5, 10])

    now = 15.0
    assert await pacer.reserve("p", rate) == 0
    now = 1000.0
    assert [await pacer.reserve("p", rate) for _ in range(3)] == pytest.approx([0, 0, 5])
