from __future__ import annotations

import asyncio
import stat
import threading
from decimal import Decimal
from types import MappingProxyType

import pytest

from quorum.domain.conversation.response import Usage
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import ModelChanged, StateMerged, UsageCounted
from quorum.domain.sessions.session_facts import StoredSessionFacts
from quorum.infrastructure.store.ledger import sqlite_file
from quorum.infrastructure.store.sql import writer
from tests.infrastructure.ledger.ledger_bench import CWD, begun, gone_on, prompt, session_of, sqlite, started


@pytest.fixture
def reported(monkeypatch) -> list[str]:
    """The statements that connections get, in order."""
    statements: list[str] = []
    prepare = sqlite_file._prepare

    def prepare_traced(connection, pragmas):
        connection.set_trace_callback(statements.append)
        prepare(connection, pragmas)

    monkeypatch.setattr(sqlite_file, "_prepare", prepare_traced)
    return statements


async def test_a_session_is_listed_with_its_first_event_and_not_before(database, clock):
    session = begun(database)
    assert await database.archive.list_sessions() == ()

    await session.ledger.append(started(session.session_id))

    (listed,) = await database.archive.list_sessions()
    assert (listed.id, listed.cwd, listed.model) == (session.session_id, CWD, "openai/m")
    assert (listed.title, listed.turns, listed.records, listed.cost_usd) == ("", 0, 1, None)
    assert listed.started_ms == listed.updated_ms == clock.now_ms
    await session.ledger.aclose()


async def test_the_title_is_the_first_prompt_with_words_on_one_line(database):
    await session_of(database, [prompt(""), prompt(" \n"), prompt("  fix\n\tthe   " + "é" * 300), prompt("x")])

    (listed,) = await database.archive.list_sessions()

    assert listed.title == "fix the " + "é" * 192
    assert listed.turns == 4


async def test_the_list_adds_up_known_costs_and_names_the_last_model(database):
    costs = [Decimal("0.1"), None, Decimal("0.2")]
    counted = [UsageCounted(model="openai/m", usage=Usage(input=1), cost_usd=cost) for cost in costs]

    by_plan = UsageCounted(model="codex/m", usage=Usage(input=1), cost_usd=Decimal(0), by_plan=True)
    await session_of(database, [*counted, by_plan, ModelChanged(model="anthropic/n")])

    (listed,) = await database.archive.list_sessions()
    assert listed.cost_usd == Decimal("0.3")
    assert listed.model == "anthropic/n"

    await session_of(database, [by_plan])
    assert None in [listed.cost_usd for listed in await database.archive.list_sessions()]


async def test_times_never_go_backwards_even_if_the_clock_does(database, clock):
    session = begun(database)
    for step in (0, 10, -5000, 3, 20):
        clock.now_ms = 1_700_000_000_000 + step
        await session.ledger.append(prompt(step))
    await session.ledger.aclose()
    clock.now_ms = 5
    again = gone_on(database, session.session_id)
    await again.ledger.append(prompt("again"))

    times = [record.at_ms - 1_700_000_000_000 for record in await database.archive.read(session.session_id)]

    assert times == [0, 10, 10, 10, 20, 20]
    assert (await database.archive.verify(session.session_id)).holds
    await again.ledger.aclose()


async def test_a_resumed_session_goes_on_where_it_stood(database):
    session_id = await session_of(database, [prompt("one")])
    again = gone_on(database, session_id)
    assert [record.event for record in again.records] == [started(session_id), prompt("one")]

    await again.ledger.append(prompt("two"))
    await again.ledger.aclose()

    records = await database.archive.read(session_id)
    assert [record.seq for record in records] == [0, 1, 2]
    (listed,) = await database.archive.list_sessions()
    assert (listed.turns, listed.records, listed.title) == (2, 3, "one")
    assert (await database.archive.verify(session_id)).holds


async def test_events_that_come_while_one_is_being_written_go_together_into_the_next_transaction(
    database, reported
):
    session, released = begun(database), threading.Event()
    busy = database._writer.submit(lambda _connection: released.wait(30))
    appending = [asyncio.ensure_future(session.ledger.append(prompt(number))) for number in range(20)]
    await asyncio.sleep(0)
    released.set()
    await asyncio.gather(*appending)
    assert busy.result()

    assert reported.count("COMMIT") == 1
    assert [record.event.prompt for record in await database.archive.read(session.session_id)] == [
        str(number) for number in range(20)
    ]
    await session.ledger.aclose()


async def test_events_that_tasks_ready_at_the_same_time_wait_for_share_a_transaction(database, reported):
    session = begun(database)
    await session.ledger.append(prompt("first"))
    reported.clear()

    async def announce(number: int) -> None:
        await session.ledger.append(prompt(number))

    await asyncio.gather(*(asyncio.create_task(announce(number)) for number in range(10)))

    assert reported.count("COMMIT") == 1
    await session.ledger.aclose()


async def test_contents_are_kept_ahead_of_events_that_nobody_waits_for_and_once_only(database, monkeypatch):
    monkeypatch.setattr(writer, "_GATHERING_SECS", 600.0)
    session = begun(database)
    noted = session.ledger.append(prompt("noted"), may_wait=True)

    await asyncio.to_thread(database.contents.put_blocking, [b"one"])
    assert not noted.done()
    await asyncio.to_thread(database.contents.put_blocking, [b"other"])
    await asyncio.wait_for(noted, 30)

    later = session.ledger.append(prompt("later"), may_wait=True)
    await asyncio.to_thread(database.contents.put_blocking, [b"third"])
    await session.ledger.append(prompt("announced"))
    assert later.done()
    assert [record.event.prompt for record in await database.archive.read(session.session_id)] == [
        "noted",
        "later",
        "announced",
    ]
    await session.ledger.aclose()


async def test_the_thread_is_woken_by_the_first_event_that_nobody_waits_for_and_no_other(database, monkeypatch):
    monkeypatch.setattr(writer, "_GATHERING_SECS", 600.0)
    session = begun(database)
    await session.ledger.append(prompt("first"))
    woken = []
    monkeypatch.setattr(database._writer, "_wake", lambda: woken.append(True))

    for number in range(20):
        session.ledger.append(prompt(number), may_wait=True)
    await asyncio.sleep(0)

    assert len(woken) == 1
    monkeypatch.undo()
    await session.ledger.aclose()


async def test_events_that_nobody_waits_for_are_written_with_the_next_that_somebody_does(
    database, reported, monkeypatch
):
    monkeypatch.setattr(writer, "_GATHERING_SECS", 600.0)
    session = begun(database)
    noted = [session.ledger.append(prompt(number), may_wait=True) for number in range(3)]
    await session.ledger.append(prompt(3))

    assert all(each.done() for each in noted)
    assert reported.count("COMMIT") == 1
    assert [record.event.prompt for record in await database.archive.read(session.session_id)] == list("0123")
    await session.ledger.aclose()


async def test_events_that_nobody_waits_for_are_written_before_the_session_is_closed_or_soon(
    database, monkeypatch
):
    session = begun(database)
    await session.ledger.append(prompt("alone"), may_wait=True)

    monkeypatch.setattr(writer, "_GATHERING_SECS", 600.0)
    noted = session.ledger.append(prompt("last"), may_wait=True)
    await session.ledger.aclose()

    assert noted.done()
    records = await database.archive.read(session.session_id)
    assert [record.event.prompt for record in records] == ["alone", "last"]


async def test_what_nobody_waits_for_in_one_session_is_written_with_what_somebody_does_in_another(
    database, reported, monkeypatch
):
    monkeypatch.setattr(writer, "_GATHERING_SECS", 600.0)
    one, other = begun(database), begun(database)
    noted = one.ledger.append(prompt("one"), may_wait=True)
    await other.ledger.append(prompt("other"))

    assert noted.done()
    assert reported.count("COMMIT") == 1
    for session, said in ((one, "one"), (other, "other")):
        (record,) = await database.archive.read(session.session_id)
        assert record.event == prompt(said)
        await session.ledger.aclose()


async def test_a_copy_of_a_session_has_what_was_noted_in_it_before(database, monkeypatch):
    monkeypatch.setattr(writer, "_GATHERING_SECS", 600.0)
    session = begun(database)
    await session.ledger.append(started(session.session_id))
    noted = session.ledger.append(prompt("noted"), may_wait=True)
    copy = await database.archive.fork(session.session_id)

    assert noted.done()
    assert [record.event for record in await database.archive.read(copy)][-1] == prompt("noted")
    await session.ledger.aclose()


async def test_only_an_urgent_event_waits_for_the_disk(database, reported):
    session = begun(database)
    await session.ledger.append(prompt("plain"))
    plain = len(reported)
    await session.ledger.append(prompt("urgent"), urgent=True)
    await session.ledger.aclose()

    assert "PRAGMA synchronous = NORMAL" in reported[:plain]
    assert "PRAGMA synchronous = FULL" not in reported[:plain]
    urgent = reported[plain:]
    assert urgent[:2] == ["PRAGMA synchronous = FULL", "BEGIN IMMEDIATE"]
    assert urgent.index("COMMIT") < urgent.index("PRAGMA synchronous = NORMAL")


async def test_an_event_without_a_json_form_is_refused_and_stands_in_nobodys_way(database):
    session = begun(database)
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    for value in (deep, object()):
        with pytest.raises(LedgerError):
            await session.ledger.append(StateMerged(batch_id="b", changed=MappingProxyType({"a": value})))

    await session.ledger.append(prompt("next"))

    assert len(await database.archive.read(session.session_id)) == 1
    await session.ledger.aclose()


async def test_text_that_is_no_unicode_is_kept_and_a_folder_of_that_name_found_again(database):
    odd = "/work/\udcff"
    session_id = await session_of(database, [prompt("half \ud83d")], cwd=odd)

    records = await database.archive.read(session_id)

    assert [record.event for record in records] == [started(session_id, odd), prompt("half \ud83d")]
    assert database.archive.find_latest(odd) == session_id


async def test_after_aclose_nothing_can_be_appended_and_closing_again_does_nothing(database):
    session = begun(database)
    await session.ledger.append(prompt("one"))
    await session.ledger.aclose()
    await session.ledger.aclose()

    with pytest.raises(LedgerError, match="is closed"):
        await session.ledger.append(prompt("two"))


async def test_the_files_are_private_whatever_the_umask(database):
    session = begun(database)
    await session.ledger.append(prompt("secret"))

    folder = database.path.parent
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}
    await session.ledger.aclose()

    assert {"ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"} <= set(modes)
    assert not any(mode & 0o077 for mode in modes.values())


def test_what_was_given_in_an_event_loop_that_ended_meanwhile_is_written_all_the_same(database):
    session = begun(database)

    async def given_up() -> None:
        appending = asyncio.ensure_future(session.ledger.append(started(session.session_id)))
        await asyncio.sleep(0)  # it has been handed over by then
        appending.cancel()

    async def another() -> None:
        await session.ledger.append(prompt("one"))
        await session.ledger.aclose()

    with sqlite(database.path) as connection:
        connection.execute("BEGIN IMMEDIATE")  # until the loop has ended
        asyncio.run(given_up())
        connection.execute("ROLLBACK")
    asyncio.run(another())

    (listed,) = asyncio.run(database.archive.list_sessions())
    assert listed.records == 2


async def test_a_thread_that_cannot_be_started_is_an_error_and_tried_again_with_the_next_event(
    database, monkeypatch
):
    session = begun(database)

    def refuse(_thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="new thread"):
            await session.ledger.append(prompt("one"))
    await session.ledger.append(prompt("two"))
    await session.ledger.aclose()

    assert [each.event.prompt for each in await database.archive.read(session.session_id)] == ["two"]


async def test_a_session_in_which_nothing_was_written_is_closed_without_a_thread(database, monkeypatch):
    session = begun(database)
    monkeypatch.setattr(threading.Thread, "start", _run_short)

    await session.ledger.aclose()


async def test_a_thread_that_ends_where_it_begins_is_an_error_and_tried_again_with_the_next_event(
    database, monkeypatch
):
    session = begun(database)
    monkeypatch.setattr(writer, "_BEGIN_SECS", 0.01)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "run", lambda _thread: None)  # as where there is no memory for it
        with pytest.raises(MemoryError):
            await session.ledger.append(prompt("one"))
    await session.ledger.append(prompt("two"))
    await session.ledger.aclose()

    assert [each.event.prompt for each in await database.archive.read(session.session_id)] == ["two"]


@pytest.mark.parametrize("where", ["_end", "_try_to_write"])
async def test_an_error_that_cannot_be_told_at_once_is_told_later(database, monkeypatch, where):
    session = begun(database)
    owner = writer if where == "_end" else writer.Writer
    do = getattr(owner, where)
    failures = iter([MemoryError(), MemoryError()] if where == "_end" else [MemoryError()])

    def run_short(*given):
        if (failure := next(failures, None)) is not None:
            raise failure
        do(*given)

    monkeypatch.setattr(owner, where, run_short)
    with pytest.raises(MemoryError):
        await session.ledger.append(prompt("one"))
    await session.ledger.append(prompt("two"))
    await session.ledger.aclose()

    said = [each.event.prompt for each in await database.archive.read(session.session_id)]
    assert said == (["one", "two"] if where == "_end" else ["two"])


async def test_an_event_that_cannot_be_linked_leaves_those_beside_it_in_their_places(database, monkeypatch):
    session = begun(database)
    add_up = StoredSessionFacts.after

    def run_short(facts, event):
        if event.get("prompt") == "two":
            raise MemoryError
        return add_up(facts, event)

    monkeypatch.setattr(StoredSessionFacts, "after", run_short)
    ended = await asyncio.gather(
        *(session.ledger.append(prompt(each)) for each in ("one", "two", "three")), return_exceptions=True
    )
    await session.ledger.aclose()

    assert [type(each) for each in ended] == [type(None), MemoryError, type(None)]
    assert (await database.archive.verify(session.session_id)).holds
    records = await database.archive.read(session.session_id)
    assert [each.event.prompt for each in records] == ["one", "three"]


async def test_a_writer_that_ends_early_says_what_is_lost_and_keeps_nobody_waiting(opened, monkeypatch):
    database = opened()
    session = begun(database)
    await session.ledger.append(prompt("one"))
    monkeypatch.setattr(database._writer, "_write", _run_short)

    with pytest.raises(MemoryError):
        database._writer.close()


def _run_short(*_given: object) -> None:
    raise MemoryError
