"""One body for every record of a session and every store of contents: those in a database, and the fakes."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from application.ports.storage import ContentStore, Ledger
from domain.errors import LedgerError
from domain.events.event import Event, TurnStarted
from domain.sessions.past_session import NewSession
from infrastructure.store.ledger.archive import decoded
from infrastructure.store.ledger.database import Database
from infrastructure.store.ledger.opening import open_session
from tests.support.fake_contents import FakeContents
from tests.support.fake_ledger import FakeLedger


@dataclass
class Rig:
    """A record and a store, what is in the record, and a way to make writing fail for a while."""

    ledger: Ledger
    contents: ContentStore
    recorded: Callable[[], list[Event]]
    fail: Callable[[], None]
    mend: Callable[[], None]


def database_rig(folder: Path) -> Iterator[Rig]:
    database = Database(folder / "ledger.sqlite", busy_secs=0.02)
    session = open_session(database, NewSession(), cwd="/work")
    with closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        yield Rig(
            ledger=session.ledger,
            contents=database.contents,
            recorded=lambda: [
                each.event for each in decoded(database.archive.stored(session.session_id).chain)
            ],
            fail=lambda: other.execute("BEGIN IMMEDIATE"),
            mend=lambda: other.execute("ROLLBACK"),
        )
    database.close()


def fake_rig() -> Iterator[Rig]:
    ledger, contents = FakeLedger(), FakeContents()

    def fail() -> None:
        ledger.trouble, contents.full = "the disk is full", True

    def mend() -> None:
        ledger.trouble, contents.full = None, False

    yield Rig(ledger, contents, lambda: list(ledger.events), fail, mend)


@pytest.fixture(params=["database", "fake"])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    yield from database_rig(tmp_path) if request.param == "database" else fake_rig()


def prompt(number: int) -> TurnStarted:
    return TurnStarted(prompt=f"prompt {number}")


def prompts(count: int) -> list[Event]:
    return [prompt(number) for number in range(count)]


async def test_an_event_is_on_the_record_when_append_returns(rig):
    await rig.ledger.append(prompt(0))
    assert rig.recorded() == [prompt(0)]

    await rig.ledger.append(prompt(1), urgent=True)
    assert rig.recorded() == [prompt(0), prompt(1)]


async def test_events_that_come_at_once_are_recorded_in_the_order_they_came(rig):
    await asyncio.gather(*(rig.ledger.append(event, urgent=event == prompt(7)) for event in prompts(40)))

    assert rig.recorded() == prompts(40)


async def test_an_event_that_cannot_be_recorded_is_an_error_and_comes_with_the_next_that_can(rig):
    await rig.ledger.append(prompt(0))
    rig.fail()
    for number in (1, 2):
        with pytest.raises(LedgerError):
            await rig.ledger.append(prompt(number))
    rig.mend()
    assert rig.recorded() == prompts(1)

    await rig.ledger.append(prompt(3))

    assert rig.recorded() == prompts(4)


async def test_a_cancelled_append_is_recorded_all_the_same(rig):
    appending = asyncio.ensure_future(rig.ledger.append(prompt(0)))
    await asyncio.sleep(0)
    appending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await appending

    await rig.ledger.append(prompt(1))

    assert rig.recorded() == prompts(2)


async def test_a_cancelled_append_that_fails_is_recorded_later_and_not_complained_about(rig, caplog):
    rig.fail()
    appending = asyncio.ensure_future(rig.ledger.append(prompt(0)))
    await asyncio.sleep(0)
    appending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await appending
    with pytest.raises(LedgerError):
        await rig.ledger.append(prompt(1))
    rig.mend()

    await rig.ledger.append(prompt(2))

    assert rig.recorded() == prompts(3)
    del appending
    gc.collect()
    assert caplog.records == []


async def test_contents_are_kept_under_their_hash_in_the_order_given(rig):
    given = [b"", b"one", b"\0\xff" * 1000, b"one"]

    names = await rig.contents.put(given)

    assert names == tuple(hashlib.sha256(content).hexdigest() for content in given)
    assert [await rig.contents.get(name) for name in names] == given


async def test_a_content_that_is_kept_already_is_kept_once_more_without_harm(rig):
    (name,) = await rig.contents.put([b"one"])

    assert await rig.contents.put([b"one", b"two"]) == (name, hashlib.sha256(b"two").hexdigest())
    assert await rig.contents.get(name) == b"one"
    assert await rig.contents.put([]) == ()


async def test_however_many_contents_are_given_at_once_each_is_kept(rig):
    given = [f"content {number}".encode() for number in range(1_300)]
    await rig.contents.put(given[::2])

    names = await rig.contents.put([*given, given[0]])

    assert names == tuple(hashlib.sha256(content).hexdigest() for content in (*given, given[0]))
    assert [await rig.contents.get(name) for name in names[::50]] == [*given, given[0]][::50]


async def test_of_contents_that_cannot_be_kept_none_is(rig):
    rig.fail()
    with pytest.raises(LedgerError):
        await rig.contents.put([b"one", b"two"])
    rig.mend()

    for content in (b"one", b"two"):
        with pytest.raises(LedgerError, match="no stored content"):
            await rig.contents.get(hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize("name", ["", "00", "no hash", "0" * 64, "\ud800"], ids=ascii)
async def test_a_content_that_was_never_kept_is_an_error(rig, name):
    with pytest.raises(LedgerError, match="no stored content"):
        await rig.contents.get(name)
