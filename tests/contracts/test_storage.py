"""One body for every storage: a database file, with a folder or a bucket beside it, PostgreSQL, and memory."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import math
import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from quorum.application.ports.storage import (
    AnswerStore,
    BlobStore,
    ContentStore,
    Ledger,
    RequestPacer,
    SessionArchive,
    Storage,
)
from quorum.domain.calls.effects import ChangeKind, Effects, FileChange, FileKind, FileState
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.errors import ConfigError, LedgerError, SessionInUse
from quorum.domain.events.event import (
    EffectsObserved,
    Event,
    FilesKept,
    ReviewRequested,
    SessionRenamed,
    SessionStarted,
    TurnFinished,
    TurnStarted,
    UserCommandStarted,
)
from quorum.domain.events.masking import SecretMask
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import RemoteAnswer
from quorum.domain.review.signing import ApprovalSignature
from quorum.domain.sessions.ledger_chain import encode_payload
from quorum.domain.sessions.session_facts import chain_session
from quorum.domain.sessions.session_summary import (
    ContinuedSession,
    LatestSession,
    NamedSession,
    NewSession,
    PickedSession,
)
from quorum.domain.text.output import Structured, Text
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import locate_blobs, open_blob_store, open_whole_writer
from quorum.infrastructure.storage_backend import BlobPlace, load_backends
from quorum.infrastructure.store.ledger.opening import Database
from quorum.infrastructure.store.postgres.address import parse_address
from quorum.infrastructure.store.postgres.database import PostgresDatabase
from tests.support.bucket_server import BUCKET, BucketForTests
from tests.support.builders import a_call
from tests.support.fake_storage import FakeStorage
from tests.support.postgres_server import PostgresForTests

CWD = "/work"
CONTEXT = ToolExecutionContext(call_id="c", batch_id="b", call_index=0, turn_index=0)
ELSEWHERE = "01890000-0000-7000-8000-000000000000"
DAY_MS = 24 * 3600 * 1000


class Clock:
    """A millisecond later each time, and further where a test wants it."""

    def __init__(self) -> None:
        # After any file of this machine: when a session was opened is told by the time of its lock.
        self.now_ms = 9_000_000_000_000

    def __call__(self) -> int:
        self.now_ms += 1
        return self.now_ms


@dataclass
class Rig:
    """A storage with a session, what is in its record, and a way to make writing fail for a while."""

    storage: Storage
    clock: Clock
    fail: Callable[[], None]
    mend: Callable[[], None]
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        opened = self.storage.open_session(NewSession(), cwd=CWD)
        assert opened.ledger is not None
        self.ledger = opened.ledger

    async def recorded(self) -> list[Event | None]:
        """The events in the record of the session."""
        stored = await self.storage.archive.read_stored(self.ledger.session_id)
        return [record.event for record in stored.decode_records()]

    @property
    def contents(self) -> ContentStore:
        return self.storage.contents


def database_rig(folder: Path) -> Iterator[Rig]:
    clock = Clock()
    table = StorageTable(blobs=str(folder / "blobs"))
    database = Database(
        folder / "ledger.sqlite", open_blobs=partial(open_blob_store, table, {}), clock=clock, busy_secs=0.02
    )
    with closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        yield Rig(
            storage=database,
            clock=clock,
            fail=lambda: other.execute("BEGIN IMMEDIATE"),
            mend=lambda: other.execute("ROLLBACK"),
        )
    database.close()


def bucket_rig(bucket: BucketForTests, folder: Path) -> Iterator[Rig]:
    clock = Clock()
    table = StorageTable(blobs=f"s3://{BUCKET}/storage/{folder.name}")
    environ = {**bucket.environ, "XDG_STATE_HOME": str(folder / "state")}
    database = Database(
        folder / "ledger.sqlite",
        open_blobs=partial(open_blob_store, table, environ),
        objects=locate_blobs(table, environ).contents,
        clock=clock,
        busy_secs=0.02,
    )
    with closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        yield Rig(
            storage=database,
            clock=clock,
            fail=lambda: other.execute("BEGIN IMMEDIATE"),
            mend=lambda: other.execute("ROLLBACK"),
        )
    database.close()


def memory_rig() -> Iterator[Rig]:
    clock = Clock()
    storage = FakeStorage(clock)

    def fail() -> None:
        rig.ledger.trouble, storage.contents.full = "the disk is full", True

    def mend() -> None:
        rig.ledger.trouble, storage.contents.full = None, False

    rig = Rig(storage=storage, clock=clock, fail=fail, mend=mend)
    yield rig


def postgres_rig(server: PostgresForTests, folder: Path) -> Iterator[Rig]:
    clock = Clock()
    table = StorageTable(url=server.new_database())
    environ = {"XDG_STATE_HOME": str(folder)}
    address = parse_address(table.url)
    database = PostgresDatabase(
        address,
        environ,
        blobs=BlobPlace(partial(open_blob_store, table, environ), is_named=False),
        clock=clock,
        busy_secs=0.02,
    )
    with closing(server.connect(address.database)) as other:

        def fail() -> None:
            other.execute("BEGIN")
            other.execute("LOCK TABLE sessions, records, contents IN EXCLUSIVE MODE")

        yield Rig(storage=database, clock=clock, fail=fail, mend=lambda: other.execute("ROLLBACK"))
    database.close()


RIGS: dict[str, Callable[[pytest.FixtureRequest, Path], Iterator[Rig]]] = {
    "sqlite": lambda request, folder: database_rig(folder),
    "sqlite and a bucket": lambda request, folder: bucket_rig(request.getfixturevalue("bucket"), folder),
    "memory": lambda request, folder: memory_rig(),
    "postgresql+psycopg": lambda request, folder: postgres_rig(request.getfixturevalue("postgres"), folder),
}
"""By the scheme of the backend; of what is no backend, by its name."""


@pytest.fixture(params=sorted(RIGS))
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    yield from RIGS[request.param](request, tmp_path)


@pytest.fixture
def storage(rig: Rig) -> Storage:
    """The storage of the rig, whose own session has no events and is in no list."""
    return rig.storage


def prompt(number: int) -> TurnStarted:
    return TurnStarted(prompt=f"prompt {number}")


def prompts(count: int) -> list[Event]:
    return [prompt(number) for number in range(count)]


def test_every_backend_has_a_rig_here():
    assert set(load_backends()) <= set(RIGS)


def test_a_storage_has_all_that_the_port_names(rig):
    storage = rig.storage
    parts = {
        Storage: storage,
        SessionArchive: storage.archive,
        ContentStore: storage.contents,
        AnswerStore: storage.answers,
        RequestPacer: storage.pacer,
        BlobStore: storage.open_blobs(),
        Ledger: rig.ledger,
    }

    missing = {
        (port.__name__, name)
        for port, part in parts.items()
        for name in vars(port)
        if not name.startswith("_") and not hasattr(part, name)
    }
    assert missing == set()


async def test_a_prompt_with_characters_that_are_no_text_is_kept_and_listed(rig):
    await rig.ledger.append(TurnStarted(prompt="zero \0, half \ud800 and a bell \a"))

    (listed,) = await rig.storage.archive.list_sessions()
    assert await rig.recorded() == [TurnStarted(prompt="zero \0, half \ud800 and a bell \a")]
    assert listed.title.startswith("zero ")
    assert (await rig.storage.archive.verify(rig.ledger.session_id)).holds


async def test_an_event_is_on_the_record_when_append_returns(rig):
    await rig.ledger.append(prompt(0))
    assert await rig.recorded() == [prompt(0)]

    await rig.ledger.append(prompt(1), urgent=True)
    assert await rig.recorded() == [prompt(0), prompt(1)]


async def test_events_that_come_at_once_are_recorded_in_the_order_they_came(rig):
    await asyncio.gather(*(rig.ledger.append(event, urgent=event == prompt(7)) for event in prompts(40)))

    assert await rig.recorded() == prompts(40)


async def test_an_event_that_cannot_be_recorded_is_an_error_and_comes_with_the_next_that_can(rig):
    await rig.ledger.append(prompt(0))
    rig.fail()
    for number in (1, 2):
        with pytest.raises(LedgerError):
            await rig.ledger.append(prompt(number))
    rig.mend()
    assert await rig.recorded() == prompts(1)

    await rig.ledger.append(prompt(3))

    assert await rig.recorded() == prompts(4)


async def test_a_cancelled_append_is_recorded_all_the_same(rig):
    appending = asyncio.ensure_future(rig.ledger.append(prompt(0)))
    await asyncio.sleep(0)
    appending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await appending

    await rig.ledger.append(prompt(1))

    assert await rig.recorded() == prompts(2)


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

    assert await rig.recorded() == prompts(3)
    del appending
    gc.collect()
    assert caplog.records == []


async def test_contents_are_kept_under_their_hash_in_the_order_given(rig):
    large = random.Random(1).randbytes(100_000)
    given = [b"", b"one", b"\0\xff" * 1000, large, b"one", large[:50_000]]

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


async def test_it_reports_which_contents_are_absent_of_however_many(rig):
    names = await rig.contents.put([b"%d" % number for number in range(600)])
    never = {hashlib.sha256(b"never %d" % number).hexdigest() for number in range(600)}

    assert await rig.contents.list_absent([*names, *never]) == never
    assert await rig.contents.list_absent([]) == frozenset()


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


# Sessions: opened, listed, found, read


async def session_of(storage: Storage, events: Sequence[Event], cwd: str = CWD) -> str:
    """The id of a finished session with these events behind its beginning."""
    opened = storage.open_session(NewSession(), cwd=cwd)
    started = SessionStarted(session_id=opened.session_id, model="openai/m", mode=Mode.ASK, cwd=cwd)
    for event in (started, *events):
        await opened.ledger.append(event)
    await opened.ledger.aclose()
    return opened.session_id


def changed(sha256: str) -> EffectsObserved:
    """That a file with this stored content was changed."""
    state = FileState(kind=FileKind.FILE, mode=0o644, size=1, sha256=sha256)
    change = FileChange(path="/a", kind=ChangeKind.DELETED, declared=True, before=state)
    return EffectsObserved(context=CONTEXT, effects=Effects(changes=(change,), complete=True))


async def events_of(storage: Storage, session_id: str) -> list[Event]:
    return [record.event for record in await storage.archive.read(session_id)]


async def test_a_new_session_is_in_the_list_from_its_first_event_on(storage):
    opened = storage.open_session(NewSession(), cwd="/elsewhere")
    assert (opened.records, opened.notices, opened.in_use) == ((), (), None)
    assert await storage.archive.list_sessions() == ()

    await opened.ledger.append(TurnStarted(prompt=" fix  the\nflaky test "))

    (listed,) = await storage.archive.list_sessions()
    assert (listed.id, listed.cwd, listed.title) == (opened.session_id, "/elsewhere", "fix the flaky test")
    assert (listed.turns, listed.records, listed.parent) == (1, 1, None)
    assert listed.open_in is not None


async def test_a_process_is_not_asked_to_end_by_itself_nor_for_a_session_that_nobody_has(storage):
    opened = storage.open_session(NewSession(), cwd="/elsewhere")
    await opened.ledger.append(TurnStarted(prompt="hi"))

    with pytest.raises(SessionInUse, match=opened.session_id):
        await storage.archive.end_holder(opened.session_id)
    await opened.ledger.aclose()
    with pytest.raises(LedgerError, match="no process has session"):
        await storage.archive.end_holder(opened.session_id)


async def test_sessions_are_listed_with_the_one_used_last_first_and_found_by_the_beginning_of_their_id(storage):
    first, second = [await session_of(storage, [prompt(number)]) for number in range(2)]

    listed = await storage.archive.list_sessions()

    assert [session.id for session in listed] == [second, first]
    assert [session.open_in for session in listed] == [None, None]
    assert await storage.archive.find(first) == listed[1]
    assert (await storage.archive.find(second[:-1])).id == second
    with pytest.raises(LedgerError, match="2 sessions begin with"):
        await storage.archive.find(first[:1])
    with pytest.raises(LedgerError, match="there is no session 'nobody'"):
        await storage.archive.find("nobody")


async def test_what_was_recorded_is_read_in_its_order_and_its_chain_holds(storage):
    session_id = await session_of(storage, prompts(3))

    records = await storage.archive.read(session_id)
    checked = await storage.archive.verify(session_id)

    assert [record.seq for record in records] == [0, 1, 2, 3]
    assert [record.event for record in records[1:]] == prompts(3)
    assert [record.at_ms for record in records] == sorted(record.at_ms for record in records)
    assert await storage.archive.read(session_id, [TurnStarted.type]) == records[1:]
    assert (checked.holds, checked.records, checked.redacted) == (True, 4, ())
    assert len(checked.head) == 64


@pytest.mark.parametrize("what", ["find", "read", "verify"])
async def test_a_session_that_is_not_there_is_an_error_that_names_it(storage, what):
    with pytest.raises(LedgerError, match="there is no session 'nobody'"):
        await getattr(storage.archive, what)("nobody")


async def test_the_latest_session_of_a_folder_goes_on_where_it_ended(storage):
    session_id = await session_of(storage, [prompt(0)])
    await session_of(storage, [prompt(1)], cwd="/elsewhere")

    opened = storage.open_session(LatestSession(), cwd=CWD)
    await opened.ledger.append(prompt(2))

    assert (opened.session_id, opened.notices) == (session_id, ())
    assert [record.event for record in opened.records][1:] == [prompt(0)]
    assert (await events_of(storage, session_id))[1:] == [prompt(0), prompt(2)]
    assert (await storage.archive.verify(session_id)).holds


async def test_a_session_of_commands_alone_is_the_latest_and_called_after_the_first_until_there_is_a_prompt(
    storage,
):
    ran = UserCommandStarted(command_id="c", command="make  test", told=True)
    session_id = await session_of(storage, [ran])
    await session_of(storage, [])

    (summary,) = (each for each in await storage.archive.list_sessions() if each.id == session_id)
    opened = storage.open_session(LatestSession(), cwd=CWD)
    await opened.ledger.append(prompt(0))
    await opened.ledger.append(replace(ran, command="ls"))

    assert (summary.title, summary.turns, summary.is_begun) == ("! make test", 0, True)
    assert (opened.session_id, opened.notices) == (session_id, ())
    (summary,) = (each for each in await storage.archive.list_sessions() if each.id == session_id)
    assert (summary.title, summary.turns) == (prompt(0).prompt, 1)


async def test_without_a_session_to_go_on_with_the_latest_is_a_new_one_that_says_so(storage):
    opened = storage.open_session(LatestSession(), cwd="/nowhere")

    assert opened.records == ()
    assert "There is no session of /nowhere to continue" in opened.notices[0]


async def test_a_session_that_is_being_written_can_be_read_and_not_gone_on_with(storage):
    session_id = await session_of(storage, [prompt(0)])
    writer = storage.open_session(NamedSession(session_id), cwd=CWD)

    reader = storage.open_session(NamedSession(session_id), cwd=CWD)

    assert reader.ledger is None
    assert session_id in str(reader.in_use)
    assert [record.event for record in reader.records][1:] == [prompt(0)]
    await writer.ledger.aclose()
    assert storage.open_session(NamedSession(session_id), cwd=CWD).ledger is not None


async def test_a_session_is_begun_under_an_id_and_gone_on_with_under_it(storage):
    first = storage.open_session(ContinuedSession("of-somebody"), cwd=CWD)
    await first.ledger.append(prompt(0))
    meanwhile = storage.open_session(ContinuedSession("of-somebody"), cwd=CWD)
    await first.ledger.aclose()

    again = storage.open_session(ContinuedSession("of-somebody"), cwd=CWD)
    await again.ledger.append(prompt(1))

    assert (first.session_id, first.records, meanwhile.ledger) == ("of-somebody", (), None)
    assert "of-somebody" in str(meanwhile.in_use)
    assert await events_of(storage, "of-somebody") == [prompt(0), prompt(1)]
    assert (await storage.archive.verify("of-somebody")).holds


async def test_an_id_is_never_taken_for_the_beginning_of_another(storage):
    session_id = await session_of(storage, [prompt(0)])

    assert storage.open_session(ContinuedSession(session_id[:-1]), cwd=CWD).records == ()


async def test_a_session_that_was_closed_takes_no_more_events(storage):
    opened = storage.open_session(NewSession(), cwd=CWD)
    await opened.ledger.append(prompt(0))
    await opened.ledger.aclose()
    await opened.ledger.aclose()

    with pytest.raises(LedgerError, match="is closed"):
        await opened.ledger.append(prompt(1))


def test_what_cannot_be_opened_is_an_error(storage):
    with pytest.raises(LedgerError, match="there is no session 'nobody'"):
        storage.open_session(NamedSession("nobody"), cwd=CWD)
    with pytest.raises(ValueError, match="must be picked"):
        storage.open_session(PickedSession(), cwd=CWD)


# Forking


async def test_a_fork_has_the_records_of_its_original_and_goes_its_own_way(storage):
    original = await session_of(storage, prompts(2))

    copy = await storage.archive.fork(original)
    part = await storage.archive.fork(original, before=2)
    opened = storage.open_session(NamedSession(copy), cwd=CWD)
    await opened.ledger.append(prompt(7))
    await opened.ledger.aclose()

    assert (await storage.archive.find(copy)).parent == original
    assert (await events_of(storage, copy))[1:] == [*prompts(2), prompt(7)]
    assert (await events_of(storage, original))[1:] == prompts(2)
    assert (await events_of(storage, part))[1:] == prompts(1)
    assert all([(await storage.archive.verify(each)).holds for each in (original, copy, part)])


async def test_a_session_can_be_opened_as_a_copy(storage):
    original = await session_of(storage, prompts(2))

    named = storage.open_session(NamedSession(original), cwd=CWD, fork=True)
    latest = storage.open_session(LatestSession(), cwd=CWD, fork=True)

    assert len({named.session_id, latest.session_id, original}) == 3
    assert [record.event for record in named.records][1:] == prompts(2)
    assert [record.event for record in latest.records][1:] == prompts(2)


async def test_a_session_from_elsewhere_is_written_once_also_by_two_writers_and_while_it_goes_on(storage):
    whole = chain_session(ELSEWHERE, ((1, each.to_json()) for each in prompts(3)), encode_payload)
    if isinstance(storage, FakeStorage):
        with pytest.raises(ConfigError):
            open_whole_writer(storage)
        return
    with open_whole_writer(storage) as one, open_whole_writer(storage) as other:
        assert (one.write(whole), other.write(whole)) == (True, False)
        opened = storage.open_session(NamedSession(ELSEWHERE), cwd=CWD)
        await opened.ledger.append(prompt(3))
        assert not other.write(whole)

    assert await events_of(storage, ELSEWHERE) == prompts(4)
    assert (await storage.archive.verify(ELSEWHERE)).holds
    await opened.ledger.aclose()


async def test_a_fork_of_nothing_is_an_error_and_leaves_nothing(storage):
    session_id = await session_of(storage, [prompt(0)])

    for name, before in ((session_id, 0), ("nobody", None)):
        with pytest.raises(LedgerError, match="there is nothing to fork"):
            await storage.archive.fork(name, before=before)

    assert len(await storage.archive.list_sessions()) == 1


# Redacting


async def test_a_text_is_taken_out_of_a_session_and_its_chain_says_where(storage):
    session_id = await session_of(
        storage, [TurnStarted(prompt="my secret word"), prompt(1), TurnStarted(prompt="secret")]
    )
    other = await session_of(storage, [TurnStarted(prompt="secret elsewhere")])

    found = await storage.archive.redact(session_id, "secret")

    assert found == 2
    records = await storage.archive.read(session_id)
    assert [record.redacted for record in records] == [False, True, False, True]
    assert [record.event.prompt for record in records[1:]] == ["my [redacted] word", "prompt 1", "[redacted]"]
    assert (await storage.archive.find(session_id)).title == "my [redacted] word"
    checked = await storage.archive.verify(session_id)
    assert (checked.holds, checked.redacted, checked.unrecorded) == (True, (1, 3), ())
    assert checked.redaction_head
    assert (await events_of(storage, other))[1:] == [TurnStarted(prompt="secret elsewhere")]


async def test_a_redaction_goes_with_a_fork_and_a_session_goes_on_behind_it(storage):
    session_id = await session_of(storage, [TurnStarted(prompt="my secret word")])
    await storage.archive.redact(session_id, "secret")
    opened = storage.open_session(NamedSession(session_id), cwd=CWD)
    await opened.ledger.append(prompt(1))
    await opened.ledger.aclose()

    copy = await storage.archive.fork(session_id)

    for each in (session_id, copy):
        checked = await storage.archive.verify(each)
        assert (checked.holds, checked.redacted, checked.records) == (True, (1,), 3)


async def test_what_cannot_be_redacted_is_an_error_or_counts_nothing(storage):
    session_id = await session_of(storage, [prompt(0)])

    assert await storage.archive.redact(session_id, "not there") == 0
    with pytest.raises(LedgerError, match="4 characters"):
        await storage.archive.redact(session_id, "abc")
    with pytest.raises(LedgerError, match="there is no session 'nobody'"):
        await storage.archive.redact("nobody", "secret")


# Pruning


@pytest.mark.parametrize(
    ("wish", "gone"),
    [
        ({"older_than_days": 1.5}, [0, 1]),
        ({"keep": 1}, [0, 1]),
        ({"older_than_days": 2.5, "keep": 1}, [0]),
        ({}, []),
    ],
    ids=str,
)
async def test_what_is_pruned_is_what_was_asked_for_and_a_dry_run_says_the_same(rig, wish, gone):
    made = []
    for number in range(3):
        made.append(await session_of(rig.storage, [prompt(number)]))
        rig.clock.now_ms += DAY_MS

    tried = await rig.storage.archive.prune(**wish, dry_run=True)
    assert len(await rig.storage.archive.list_sessions()) == 3
    pruned = await rig.storage.archive.prune(**wish)

    assert tried == pruned
    assert {session.id for session in pruned.sessions} == {made[number] for number in gone}
    assert (pruned.bytes > 0) == bool(gone)
    left = {session.id for session in await rig.storage.archive.list_sessions()}
    assert left == set(made) - {made[number] for number in gone}


async def test_an_unknown_name_prunes_nothing_and_a_session_in_use_is_spared(storage):
    made = [await session_of(storage, [prompt(number)]) for number in range(2)]
    with pytest.raises(LedgerError, match="nothing was removed"):
        await storage.archive.prune(ids=[made[0], "nobody"])
    opened = storage.open_session(NamedSession(made[0]), cwd=CWD)

    pruned = await storage.archive.prune(ids=made)

    assert [session.id for session in pruned.spared] == [made[0]]
    assert [session.id for session in await storage.archive.list_sessions()] == [made[0]]
    await opened.ledger.append(prompt(2))
    assert (await storage.archive.verify(made[0])).holds


async def test_contents_go_when_no_record_refers_to_them_any_more(rig):
    await rig.ledger.aclose()  # what an open session kept a moment ago would stay
    contents, archive = rig.contents, rig.storage.archive
    direct, listed, shared, orphan = await contents.put([b"direct", b"listed", b"shared", b"orphan"])
    (manifest,) = await contents.put([json.dumps({"/a": {"sha256": listed}}).encode()])
    kept = FilesKept(context=CONTEXT, manifest=manifest, files=1, complete=True)
    first = await session_of(rig.storage, [changed(direct), kept, changed(shared)])
    await session_of(rig.storage, [changed(shared)])

    assert (await archive.prune()).contents == 1
    with pytest.raises(LedgerError, match="no stored content"):
        await contents.get(orphan)
    assert (await archive.prune(ids=[first])).contents == 3
    assert await contents.get(shared) == b"shared"
    for name in (direct, listed, manifest):
        with pytest.raises(LedgerError, match="no stored content"):
            await contents.get(name)


# Large outputs


async def test_large_outputs_outlive_sessions_and_are_read_whichever_way_they_were_opened(storage):
    blobs = storage.open_blobs()
    text_id = await blobs.store(Text("one\ntwo\n"))
    spill = blobs.open_spill()
    spill.write("grown")
    spill_id = await asyncio.to_thread(spill.keep)

    again = storage.open_blobs(SecretMask())

    assert await again.load(text_id) == Text("one\ntwo\n")
    assert await again.load(spill_id) == Text("grown")
    assert again.open_lines(text_id).read_lines(1, 5) == ["two"]


async def test_large_outputs_are_kept_without_what_the_mask_hides(storage):
    mask = SecretMask()
    mask.learn("THE_KEY", "q7Zrt9vX2m4kPwd3Ls8Y")
    blobs = storage.open_blobs(mask)

    text_id = await blobs.store(Text("key q7Zrt9vX2m4kPwd3Ls8Y"))
    json_id = await blobs.store(Structured({"key": "q7Zrt9vX2m4kPwd3Ls8Y"}))
    spill = blobs.open_spill()
    spill.write("q7Zrt9vX2m4kPwd3Ls8Y")
    spill_id = await asyncio.to_thread(spill.keep)

    assert await blobs.load(text_id) == Text("key [secret:THE_KEY]")
    assert await blobs.load(json_id) == Structured({"key": "[secret:THE_KEY]"})
    assert await blobs.load(spill_id) == Text("[secret:THE_KEY]")


# Mending and closing


async def test_after_mending_all_is_there_and_its_parts_are_the_same(storage):
    session_id = await session_of(storage, [prompt(0)])
    (name,) = await storage.contents.put([b"one"])
    archive, contents = storage.archive, storage.contents

    storage.mend()

    assert (storage.archive, storage.contents) == (archive, contents)
    assert (await archive.verify(session_id)).holds
    assert await contents.get(name) == b"one"
    assert await session_of(storage, [prompt(1)]) in {each.id for each in await archive.list_sessions()}
    assert storage.notices == ()


# ---------------------------------------------------------------- reviews that wait, and their answers


def asks_review(session_command: str = "make") -> ReviewRequested:
    packet = ReviewPacket(
        call=a_call("run_command", {"command": session_command}), context=CONTEXT, seal=Seal(cwd=CWD)
    )
    return ReviewRequested(context=CONTEXT, packet=packet, digest=packet.digest, reasons=())


def an_answer(session_id: str, digest: str = "5f", **more: object) -> RemoteAnswer:
    facts: dict[str, object] = {"approves": True, "reason": None, "answered_by": "ada@laptop", "at_ms": 1}
    return RemoteAnswer(session_id=session_id, digest=digest, **{**facts, **more})


async def test_sessions_are_found_in_which_a_review_was_asked_since_a_turn_last_ended(storage):
    report = RunReport(session_id="s", status=RunStatus.COMPLETED, stop_reason=None, text="", turns=1)
    ended = TurnFinished(report=report)
    await session_of(storage, [prompt(0)])
    await session_of(storage, [prompt(0), asks_review("one"), ended])
    waiting = await session_of(storage, [prompt(0), ended, prompt(1), asks_review("two")])
    open_one = storage.open_session(NewSession(), cwd=CWD)
    await open_one.ledger.append(asks_review("three"))

    found = await storage.archive.list_in_review()

    assert [each.id for each in found] == [open_one.session_id, waiting]
    assert [each.open_in is None for each in found] == [False, True]
    by_digest = await storage.archive.find_review(asks_review("two").digest[:20])
    assert by_digest is not None
    assert by_digest.id == waiting
    assert await storage.archive.find_review("0" * 64) is None


async def test_the_first_answer_about_a_packet_is_the_one_that_counts(storage):
    first = an_answer("s")

    assert await storage.answers.find("s", "5f") is None
    assert await storage.answers.add(first) == first
    assert await storage.answers.add(an_answer("s", approves=False, answered_by="bob")) == first
    assert await storage.answers.find("s", "5f") == first
    assert await storage.answers.find("s", "60") is None
    other = await storage.answers.add(an_answer("another", approves=False, reason="no: \U0001f600"))
    assert await storage.answers.find("another", "5f") == other


async def test_the_last_signature_of_each_person_is_kept_and_goes_with_its_session(storage):
    session_id = await session_of(storage, [prompt(0)])
    signed = ApprovalSignature(session_id=session_id, digest="5f", person="ada", at_ms=7, signature="AB==")
    of_bob = replace(signed, person="bob", at_ms=9)

    assert await storage.answers.list_signatures(session_id, "5f") == ()
    await storage.answers.add_signature(of_bob)
    await storage.answers.add_signature(signed)
    again = replace(signed, at_ms=8, signature="CD==")
    await storage.answers.add_signature(again)
    assert await storage.answers.list_signatures(session_id, "5f") == (again, of_bob)
    assert await storage.answers.list_signatures(session_id, "60") == ()

    await storage.archive.prune(ids=[session_id])
    assert await storage.answers.list_signatures(session_id, "5f") == ()


async def test_what_all_sessions_have_of_one_type_is_read_at_once(storage):
    renamed = SessionRenamed(title="other")
    first = await session_of(storage, [prompt(0), renamed, prompt(1)])
    second = await session_of(storage, [prompt(2)])
    await session_of(storage, [renamed])

    found = await storage.archive.read_of_type(TurnStarted.type, 0)

    assert found.keys() == {first, second}
    for session_id in (first, second):
        assert tuple(found[session_id]) == await storage.archive.read(session_id, (TurnStarted.type,))
    assert not await storage.archive.read_of_type(TurnStarted.type, 1 << 50)


async def test_a_decision_that_was_opened_has_an_age_until_its_session_is_gone(storage):
    session_id = await session_of(storage, [prompt(0)])

    assert await storage.answers.find_seen_age_secs(session_id, "5f") == math.inf
    await storage.answers.note_seen(session_id, "5f")
    await storage.answers.note_seen(session_id, "5f")
    assert 0 <= await storage.answers.find_seen_age_secs(session_id, "5f") < 60
    assert await storage.answers.find_seen_age_secs(session_id, "60") == math.inf

    await storage.archive.prune(ids=[session_id])
    assert await storage.answers.find_seen_age_secs(session_id, "5f") == math.inf


async def test_answers_go_with_their_session_and_a_redaction_reaches_their_reasons(storage):
    session_id = await session_of(storage, [prompt(0)])
    await storage.answers.add(an_answer(session_id, approves=False, reason="not the secret one"))

    await storage.archive.redact(session_id, "secret")
    kept = await storage.answers.find(session_id, "5f")
    assert kept is not None
    assert kept.reason == "not the [redacted] one"

    await storage.archive.prune(ids=[session_id])
    assert await storage.answers.find(session_id, "5f") is None
