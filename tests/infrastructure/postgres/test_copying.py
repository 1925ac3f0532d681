"""All sessions copied from SQLite into PostgreSQL and back, each checked where it arrives."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from quorum.application.ports.storage import Storage
from quorum.domain.errors import ConfigError, LedgerError
from quorum.domain.events.event import TurnStarted
from quorum.domain.sessions.session_summary import NamedSession, NewSession
from quorum.domain.text.output import Structured, Text
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import copy_sessions, open_storage
from quorum.infrastructure.store.postgres.address import parse_address
from quorum.infrastructure.store.sql import copying

CWD = "/work"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "here")}


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """The environment of another machine."""
    return {"XDG_STATE_HOME": str(tmp_path / "there")}


@pytest.fixture
def file() -> StorageTable:
    """The ledger in the state folder."""
    return StorageTable()


@pytest.fixture
def database(url: str) -> StorageTable:
    return StorageTable(url=url)


async def in_storage(table: StorageTable, environ: dict[str, str], use: Callable[[Storage], object]):
    storage = await asyncio.to_thread(open_storage, table, environ)
    try:
        return await use(storage)
    finally:
        await asyncio.to_thread(storage.close)


async def write_session(storage: Storage, *prompts: str) -> str:
    session = await asyncio.to_thread(storage.open_session, NewSession(), cwd=CWD)
    for prompt in prompts:
        await session.ledger.append(TurnStarted(prompt=prompt))
    await session.ledger.aclose()
    return session.session_id


async def fill(storage: Storage) -> dict[str, object]:
    """Two sessions, of which one is redacted, a content and two outputs; what to look for."""
    first = await write_session(storage, "one\0two", "a secret-word here")
    await storage.archive.redact(first, "secret-word")
    second = await write_session(storage, *(f"prompt {number}" for number in range(1_200)))
    (digest,) = await storage.contents.put([b"former"])
    outputs = [
        await storage.open_blobs().store(Text("long")),
        await storage.open_blobs().store(Structured({"a": 1})),
    ]
    return {"sessions": {first, second}, "digest": digest, "outputs": outputs, "first": first}


async def check(storage: Storage, filled) -> None:
    assert {session.id for session in await storage.archive.list_sessions()} == filled["sessions"]
    for session_id in filled["sessions"]:
        assert (await storage.archive.verify(session_id)).holds
    assert (await storage.archive.verify(filled["first"])).redacted == (1,)
    assert await storage.contents.get(filled["digest"]) == b"former"
    assert [await storage.open_blobs().load(blob_id) for blob_id in filled["outputs"]] == [
        Text("long"),
        Structured({"a": 1}),
    ]


async def list_outputs(storage: Storage) -> list[str]:
    return await asyncio.to_thread(storage.open_blobs().list_names)


async def copy(source: StorageTable, target: StorageTable, environ: dict[str, str]):
    return await asyncio.to_thread(copy_sessions, source, target, environ, lambda _sentence: None)


@pytest.mark.long
async def test_everything_goes_into_postgresql_and_back(file, database, environ, elsewhere):
    filled = await in_storage(file, environ, fill)

    there = await copy(file, database, environ)
    await in_storage(database, elsewhere, lambda storage: check(storage, filled))
    back = await copy(database, file, elsewhere)

    assert (there.sessions, there.contents, there.outputs, there.left) == (2, 1, 2, ())
    assert (back.sessions, back.contents, back.left) == (2, 1, ())
    await in_storage(file, elsewhere, lambda storage: check(storage, filled))


@pytest.mark.long
async def test_a_copied_session_is_continued_where_it_is_now(file, database, environ, elsewhere):
    filled = await in_storage(file, environ, fill)
    await copy(file, database, environ)

    async def go_on(storage: Storage) -> bool:
        session = await asyncio.to_thread(storage.open_session, NamedSession(filled["first"]), cwd=CWD)
        await session.ledger.append(TurnStarted(prompt="three"))
        await session.ledger.aclose()
        return (await storage.archive.verify(filled["first"])).holds

    assert await in_storage(database, elsewhere, go_on)


@pytest.mark.long
async def test_a_copy_that_was_interrupted_continues_and_one_that_is_done_changes_nothing(
    file, database, environ, elsewhere, monkeypatch
):
    filled = await in_storage(file, environ, fill)
    insert_session, done = copying._insert_session, []

    def fail_at_the_second(source, target, sent) -> None:
        if done:
            raise LedgerError("the power failed")
        done.append(sent)
        insert_session(source, target, sent)

    monkeypatch.setattr(copying, "_insert_session", fail_at_the_second)
    with pytest.raises(LedgerError, match="the power failed"):
        await copy(file, database, environ)
    monkeypatch.undo()

    again = await copy(file, database, environ)
    third = await copy(file, database, environ)

    assert (again.sessions, again.present, again.contents, again.outputs) == (1, 1, 0, 0)
    assert (third.sessions, third.present) == (0, 2)
    await in_storage(database, elsewhere, lambda storage: check(storage, filled))


@pytest.mark.long
async def test_a_target_with_other_sessions_is_refused_and_nothing_is_copied(
    file, database, environ, elsewhere
):
    await in_storage(file, environ, fill)
    theirs = await in_storage(database, elsewhere, lambda storage: write_session(storage, "theirs"))

    with pytest.raises(
        LedgerError, match=rf"holds other sessions than .* such as {theirs}, which is not there"
    ):
        await copy(file, database, environ)

    async def list_all(storage: Storage) -> list[str]:
        return [session.id for session in await storage.archive.list_sessions()]

    assert await in_storage(database, elsewhere, list_all) == [theirs]
    assert await in_storage(database, elsewhere, list_outputs) == []


@pytest.mark.long
async def test_a_session_that_went_on_in_the_target_is_not_overwritten(file, database, environ, elsewhere):
    filled = await in_storage(file, environ, fill)
    await copy(file, database, environ)

    async def go_on(storage: Storage) -> None:
        session = await asyncio.to_thread(storage.open_session, NamedSession(filled["first"]), cwd=CWD)
        await session.ledger.append(TurnStarted(prompt="three"))
        await session.ledger.aclose()

    await in_storage(database, elsewhere, go_on)

    with pytest.raises(LedgerError, match=f"such as {filled['first']}, as another one"):
        await copy(file, database, environ)


async def test_a_session_in_use_is_left_out_and_named(file, database, environ):
    storage = await asyncio.to_thread(open_storage, file, environ)
    session = await asyncio.to_thread(storage.open_session, NewSession(), cwd=CWD)
    await session.ledger.append(TurnStarted(prompt="open"))

    report = await copy(file, database, environ)

    assert report.sessions == 0
    assert f"session {session.session_id} is open in process" in report.left[0]
    await session.ledger.aclose()
    await asyncio.to_thread(storage.close)


@pytest.mark.long
async def test_a_session_whose_chain_does_not_hold_is_left_out_and_named(file, database, environ, tmp_path):
    filled = await in_storage(file, environ, fill)
    with sqlite3.connect(tmp_path / "here" / "quorum" / "ledger.sqlite") as connection:
        connection.execute("UPDATE records SET at_ms = at_ms + 1 WHERE session_id = ?", (filled["first"],))
    connection.close()

    report = await copy(file, database, environ)

    assert report.sessions == 1
    assert f"the record of session {filled['first']} is broken at record" in report.left[0]


@pytest.mark.long
async def test_what_was_changed_in_the_target_is_noticed(file, database, environ, postgres, url):
    filled = await in_storage(file, environ, fill)
    await copy(file, database, environ)
    with postgres.connect(parse_address(url).database) as connection:
        connection.execute("UPDATE records SET payload = 'x' WHERE session_id = %s", (filled["first"],))

    with pytest.raises(LedgerError, match=f"session {filled['first']} in .* is not what is in"):
        await copy(file, database, environ)


async def test_a_database_is_not_copied_into_itself(database, environ):
    with pytest.raises(ConfigError, match="where the sessions are already"):
        await copy(database, database, environ)


@pytest.mark.long
async def test_an_output_that_cannot_be_copied_is_named_and_stays_where_it_is(
    file, database, environ, postgres, url
):
    filled = await in_storage(file, environ, fill)
    with postgres.connect(parse_address(url).database) as connection:
        connection.execute("ALTER TABLE output_pieces RENAME TO away")

    report = await copy(file, database, environ)

    assert report.outputs == 0
    assert sorted(left.split()[2].partition(".")[0] for left in report.left) == sorted(filled["outputs"])
    await in_storage(file, environ, lambda storage: check(storage, filled))
