from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from quorum.domain.calls.effects import ChangeKind, Effects, FileChange, FileKind, FileState, KeptFiles
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import (
    EffectsObserved,
    FilesKept,
    MessageAdded,
    TurnStarted,
    UserCommandFinished,
)
from quorum.domain.replacing import replace
from quorum.domain.sessions.ledger_chain import encode_payload, redact_record
from quorum.domain.sessions.session_summary import LatestSession, NamedSession, PickedSession
from quorum.domain.text.output import StyleChange
from quorum.infrastructure.store.snapshots.manifest import encode
from tests.infrastructure.ledger.ledger_bench import CWD, begun, gone_on, prompt, session_of, sqlite, started
from tests.support.past_sessions import an_eventful_session
from tests.support.pictures import an_image, png

DAY_MS = 24 * 3600 * 1000
CONTEXT = ToolExecutionContext(call_id="c", batch_id="b", call_index=0, turn_index=0)


def changed(sha256: str) -> EffectsObserved:
    """That a file with this stored content was changed."""
    state = FileState(kind=FileKind.FILE, mode=0o644, size=1, sha256=sha256)
    change = FileChange(path="/a", kind=ChangeKind.DELETED, declared=True, before=state)
    return EffectsObserved(context=CONTEXT, effects=Effects(changes=(change,), complete=True))


def count_of(path: Path, table: str) -> int:
    with sqlite(path) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


# Listing, finding, opening


async def test_sessions_are_listed_with_the_one_used_last_first(database, clock):
    made = []
    for _ in range(3):
        clock.now_ms += 1000
        made.append(await session_of(database, [prompt("one")]))
    clock.now_ms += 1000
    again = gone_on(database, made[0])
    await again.ledger.append(prompt("two"))
    await again.ledger.aclose()

    listed = await database.archive.list_sessions()

    assert [session.id for session in listed] == [made[0], made[2], made[1]]


async def test_a_session_is_found_by_its_id_and_by_the_beginning_that_only_it_has(database):
    made = [await session_of(database, [prompt(f"title {number}")]) for number in range(3)]

    for session_id in made:
        assert (await database.archive.find(session_id)).id == session_id
        assert (await database.archive.find(session_id[:-1])).id == session_id


async def test_a_beginning_that_several_have_is_an_error_that_names_them(database):
    made = [await session_of(database, [prompt(f"title {number}")]) for number in range(2)]

    with pytest.raises(LedgerError, match="2 sessions begin with 0") as raised:
        await database.archive.find(made[0][:1])

    assert all(f"{each} (title {number})" in str(raised.value) for number, each in enumerate(made))


@pytest.mark.parametrize(
    "wrong", ["", "%", "_", "nothing", "0" * 5000, "\x1b[2J"], ids=lambda name: ascii(name[:9])
)
async def test_an_unknown_session_is_an_error_that_names_what_is_there(database, wrong):
    session_id = await session_of(database, [prompt("title")])

    with pytest.raises(LedgerError, match="there is no session") as raised:
        await database.archive.find(wrong)

    assert session_id in str(raised.value)
    assert str(raised.value).isprintable()


async def test_the_nearest_of_a_mistyped_id_is_named_first(database):
    made = [await session_of(database, [prompt(f"title {number}")]) for number in range(8)]
    mistyped = made[3].replace(made[3][-1], "z")

    with pytest.raises(LedgerError, match=f"the nearest: .*{made[3]}"):
        await database.archive.find(mistyped)


@pytest.mark.parametrize("what", ["read", "verify"])
async def test_reading_a_session_that_is_not_there_is_an_error(database, what):
    with pytest.raises(LedgerError, match="there is no session"):
        await getattr(database.archive, what)("nobody")


async def test_the_latest_session_of_a_folder_is_gone_on_with_and_none_without_a_prompt(database, clock):
    made = []
    for cwd, events in ((CWD, [prompt("a")]), (CWD, [prompt("b")]), ("/else", [prompt("c")]), (CWD, [])):
        clock.now_ms += 1000
        made.append(await session_of(database, events, cwd))

    session = database.open_session(LatestSession(), cwd=CWD)

    assert session.session_id == made[1]
    assert session.notices == ()
    assert [record.event for record in session.records] == [started(made[1]), prompt("b")]
    await session.ledger.aclose()


async def test_where_there_is_nothing_to_go_on_with_a_new_session_begins_and_says_so(database):
    session = database.open_session(LatestSession(), cwd=CWD)

    assert session.notices == (f"There is no session of {CWD} to continue; this is a new one.",)
    assert session.records == ()
    await session.ledger.append(prompt("new"))
    await session.ledger.aclose()


async def test_the_latest_session_in_use_elsewhere_can_only_be_read(database):
    session_id = await session_of(database, [prompt("a")])
    other = gone_on(database, session_id)

    session = database.open_session(LatestSession(), cwd=CWD)

    assert (session.session_id, session.ledger) == (session_id, None)
    assert session.in_use is not None
    assert len(session.records) == 2
    await other.ledger.aclose()


async def test_naming_a_session_that_is_not_there_is_an_error_and_leaves_no_lock(database):
    with pytest.raises(LedgerError, match="there is no session"):
        database.open_session(NamedSession("nobody"), cwd=CWD)
    with pytest.raises(ValueError, match="must be picked"):
        database.open_session(PickedSession(), cwd=CWD)

    assert not database.path.with_name("ledger.sqlite-locks").exists()


# Forking


async def test_a_fork_has_the_same_events_and_goes_its_own_way(database, clock):
    session_id = await session_of(database, [prompt("one"), prompt("two")])
    clock.now_ms += 5000

    fork_id = await database.archive.fork(session_id)
    fork = gone_on(database, fork_id)
    await fork.ledger.append(prompt("three"))
    await fork.ledger.aclose()

    original = await database.archive.read(session_id)
    copied = await database.archive.read(fork_id)
    assert copied[:3] == original
    assert copied[3].event == prompt("three")
    listed = {session.id: session for session in await database.archive.list_sessions()}
    assert listed[fork_id].parent == session_id
    assert (listed[fork_id].title, listed[fork_id].turns, listed[fork_id].cwd) == ("one", 3, CWD)
    assert listed[fork_id].updated_ms == clock.now_ms
    for each in (session_id, fork_id):
        assert (await database.archive.verify(each)).holds


async def test_a_fork_ends_before_the_record_that_is_named(database):
    session_id = await session_of(database, [prompt("one"), prompt("two"), prompt("three")])

    fork_id = await database.archive.fork(session_id, before=2)

    events = [record.event for record in await database.archive.read(fork_id)]
    assert events == [started(session_id), prompt("one")]
    assert (await database.archive.find(fork_id)).turns == 1


@pytest.mark.parametrize("before", [0, -3])
async def test_a_fork_of_nothing_is_an_error_and_leaves_nothing(database, before):
    session_id = await session_of(database, [prompt("one")])

    with pytest.raises(LedgerError, match="there is nothing to fork"):
        await database.archive.fork(session_id, before=before)
    with pytest.raises(LedgerError, match="there is nothing to fork"):
        await database.archive.fork("nobody")

    assert len(await database.archive.list_sessions()) == 1


async def test_a_record_that_does_not_fit_is_not_made_to_fit_by_a_fork(database):
    session_id = await session_of(database, [prompt("one"), prompt("two"), prompt("three")])
    with sqlite(database.path) as connection:
        connection.execute("UPDATE records SET at_ms = 0 WHERE seq = 2")

    with pytest.raises(LedgerError, match="records before 2 can be forked alone"):
        await database.archive.fork(session_id)

    fork_id = await database.archive.fork(session_id, before=2)
    assert (await database.archive.verify(fork_id)).holds


async def test_a_session_in_use_and_a_redacted_one_can_be_forked(database):
    session = begun(database)
    await session.ledger.append(prompt("a secret word"))
    await database.archive.redact(session.session_id, "secret")

    fork_id = await database.archive.fork(session.session_id)

    checked = await database.archive.verify(fork_id)
    assert (checked.holds, checked.redacted) == (True, (0,))
    await session.ledger.aclose()


# Redacting


@pytest.mark.parametrize("secret", ["sk-verysecret", 'quo"ted\\n', "é漢😀é漢😀", "half \ud83d"], ids=ascii)
async def test_a_redacted_text_is_nowhere_in_the_state_folder_and_the_chain_holds(database, secret):
    texts = [prompt(f"before {secret} after" + "x" * 9000), prompt("nothing"), prompt(secret * 3)]
    session_id = await session_of(database, texts)
    other_id = await session_of(database, [prompt("another")])

    found = await database.archive.redact(session_id, secret)

    assert found == 2
    records = await database.archive.read(session_id)
    assert [record.event for record in records[1:]] == [
        prompt("before [redacted] after" + "x" * 9000),
        prompt("nothing"),
        prompt("[redacted]" * 3),
    ]
    assert [record.redacted for record in records] == [False, True, False, True]
    checked = await database.archive.verify(session_id)
    assert (checked.holds, checked.redacted) == (True, (1, 3))
    assert (await database.archive.find(session_id)).title.startswith("before [redacted] after")
    assert (await database.archive.verify(other_id)).holds
    kept = everything_in(database.path.parent)
    assert secret.encode("utf-8", "backslashreplace") not in kept
    assert json.dumps(secret)[1:-1].encode() not in kept


async def test_a_redacted_text_is_not_left_in_pages_that_were_given_up_before(database):
    session_id = await session_of(database, [prompt("a secret word")])
    with sqlite(database.path) as connection:
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("CREATE TABLE given_up (text)")
        connection.execute("INSERT INTO given_up VALUES (?)", ("secret" * 5000,))
        connection.execute("DROP TABLE given_up")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"secretsecret" in database.path.read_bytes()

    await database.archive.redact(session_id, "secret")

    assert b"secret" not in everything_in(database.path.parent)


async def test_a_session_goes_on_while_it_is_redacted_and_does_not_bring_the_text_back(database):
    session = begun(database)
    await session.ledger.append(prompt("my secret title"))
    await database.archive.redact(session.session_id, "secret")

    await session.ledger.append(prompt("next"))
    await session.ledger.aclose()

    assert (await database.archive.find(session.session_id)).title == "my [redacted] title"
    assert (await database.archive.verify(session.session_id)).holds


async def test_every_redaction_is_on_record_in_a_copy_too_and_goes_with_its_session(database, clock):
    session_id = await session_of(database, [prompt("a secret word"), prompt("next")])
    await database.archive.redact(session_id, "secret")
    clock.now_ms += 1000
    await database.archive.redact(session_id, "word")

    fork_id = await database.archive.fork(session_id)
    part_id = await database.archive.fork(session_id, before=1)

    checked = await database.archive.verify(session_id)
    assert (checked.holds, checked.redacted, checked.unrecorded) == (True, (1,), ())
    assert checked.redaction_head
    copy = await database.archive.verify(fork_id)
    assert (copy.holds, copy.redacted, copy.unrecorded) == (True, (1,), ())
    assert (await database.archive.verify(part_id)).redaction_head == ""
    assert count_of(database.path, "redactions") == 4
    await database.archive.prune(ids=[session_id])
    assert count_of(database.path, "redactions") == 2


async def test_a_record_that_somebody_replaced_as_a_redaction_is_named_and_not_copied(database):
    session_id = await session_of(database, [prompt("one"), prompt("two")])
    (forged,) = [r for r in database.archive.read_blocking(session_id).chain if r.seq == 2]
    forged = redact_record(forged, encode_payload({"type": "turn_started", "v": 1, "prompt": "three"}))
    with sqlite(database.path) as connection:
        connection.execute(
            "UPDATE records SET payload = ?, salt = ?, redaction = ? WHERE seq = 2",
            (forged.payload, forged.salt, forged.redaction),
        )

    checked = await database.archive.verify(session_id)

    assert checked.broken_at == 2
    assert "redacted without a record of it" in checked.reason
    with pytest.raises(LedgerError, match="records before 2 can be forked alone"):
        await database.archive.fork(session_id)


async def test_a_database_of_an_earlier_version_has_no_table_of_redactions_and_gets_one(database):
    session_id = await session_of(database, [prompt("a secret word")])
    with sqlite(database.path) as connection:
        connection.execute("DROP TABLE redactions")

    assert (await database.archive.verify(session_id)).holds
    await database.archive.prune(ids=[await session_of(database, [prompt("other")])])
    await database.archive.redact(session_id, "secret")

    checked = await database.archive.verify(session_id)
    assert (checked.holds, checked.redacted, checked.unrecorded) == (True, (1,), ())


async def test_too_short_a_text_and_an_unknown_session_are_refused(database):
    session_id = await session_of(database, [prompt("abc")])

    with pytest.raises(LedgerError, match="4 characters"):
        await database.archive.redact(session_id, "abc")
    with pytest.raises(LedgerError, match="there is no session"):
        await database.archive.redact("nobody", "secret")


async def test_a_word_that_is_part_of_every_record_takes_no_record_apart(database):
    session_id = await session_of(database, [prompt("turn_started")])

    await database.archive.redact(session_id, "turn_started")

    records = await database.archive.read(session_id)
    assert records[1].event == TurnStarted(prompt="[redacted]")


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    "word", ["image/png", "image", "error", "agent", "approved", "text", "steers", "note", "form", "modified"]
)
async def test_a_word_of_ours_is_taken_out_of_texts_and_stays_where_a_record_needs_it(database, word):
    reported = f"the {word}, said"
    events = [record.event for record in an_eventful_session(reported)[1:] if record.event is not None]
    session_id = await session_of(database, events)

    await database.archive.redact(session_id, word)

    records = (await database.archive.read(session_id))[1:]
    assert [record.event and record.event.type for record in records] == [event.type for event in events]
    assert reported not in repr(records)
    (steered,) = [r.event for r in records if isinstance(r.event, MessageAdded) and r.event.steers]
    assert steered.message == UserMessage("the [redacted], said")
    (command,) = [r.event for r in records if isinstance(r.event, UserCommandFinished)]
    assert (command.outcome, command.note) == (Outcome.ERROR, "the [redacted], said")
    assert (await database.archive.verify(session_id)).holds


async def test_a_short_number_leaves_the_hash_of_an_image_alone(database):
    image = an_image(png())
    said = UserMessage(f"it is {image.sha256[10:14]}", (image,))
    session_id = await session_of(database, [MessageAdded(message=said)])

    await database.archive.redact(session_id, image.sha256[10:14])

    records = await database.archive.read(session_id)
    assert records[1].event == MessageAdded(message=UserMessage("it is [redacted]", (image,)))


async def test_an_output_without_a_text_of_its_own_has_no_styles_either(database):
    ended = UserCommandFinished(
        command_id="c",
        outcome=Outcome.OK,
        exit_code=0,
        output="this is green",
        duration_secs=0.1,
        styles=(StyleChange(8, "32"),),
    )
    session_id = await session_of(database, [ended])

    await database.archive.redact(session_id, "this is")

    records = await database.archive.read(session_id)
    assert records[1].event == replace(ended, output="[redacted] green", styles=())


# Pruning


async def aged(database, clock, count: int = 5) -> list[str]:
    """Sessions a day apart, the oldest first; the last was used a day ago."""
    made = []
    for number in range(count):
        made.append(await session_of(database, [prompt(f"{number} " + "x" * 1000)]))
        clock.now_ms += DAY_MS
    return made


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("wish", "gone"),
    [
        ({"older_than_days": 2.5}, [0, 1, 2]),
        ({"keep": 2}, [0, 1, 2]),
        ({"older_than_days": 3.5, "keep": 2}, [0, 1]),
        ({"older_than_days": 0, "keep": 4}, [0]),
        ({"keep": 0}, [0, 1, 2, 3, 4]),
        ({"older_than_days": 100}, []),
        ({}, []),
    ],
    ids=str,
)
async def test_what_is_pruned_is_what_was_asked_for_and_a_dry_run_says_the_same(database, clock, wish, gone):
    made = await aged(database, clock)

    tried = await database.archive.prune(**wish, dry_run=True)
    assert len(await database.archive.list_sessions()) == 5
    pruned = await database.archive.prune(**wish)

    assert tried == pruned
    assert {session.id for session in pruned.sessions} == {made[number] for number in gone}
    assert {session.id for session in await database.archive.list_sessions()} == set(made) - {
        session.id for session in pruned.sessions
    }
    assert count_of(database.path, "records") == 2 * (5 - len(gone))
    assert (pruned.bytes > 1000 * len(gone)) if gone else pruned.bytes == 0


async def test_named_sessions_are_pruned_and_an_unknown_name_prunes_nothing(database, clock):
    made = await aged(database, clock, 3)
    with pytest.raises(LedgerError, match="nothing was removed"):
        await database.archive.prune(ids=[made[0], "nobody"])
    assert len(await database.archive.list_sessions()) == 3

    await database.archive.prune(ids=[made[1]])

    assert {session.id for session in await database.archive.list_sessions()} == {made[0], made[2]}


@pytest.mark.parametrize("dry_run", [True, False])
async def test_a_session_in_use_is_spared_and_said_so(database, clock, dry_run):
    made = await aged(database, clock, 3)
    in_use = gone_on(database, made[1])

    pruned = await database.archive.prune(keep=0, dry_run=dry_run)

    assert {session.id for session in pruned.sessions} == {made[0], made[2]}
    assert [session.id for session in pruned.spared] == [made[1]]
    await in_use.ledger.append(prompt("still here"))
    assert (await database.archive.verify(made[1])).holds
    await in_use.ledger.aclose()


async def test_contents_go_when_no_record_refers_to_them_any_more(database):
    direct, listed, shared, orphan = await database.contents.put([b"direct", b"listed", b"shared", b"orphan"])
    manifest = json.dumps({"/a": {"sha256": listed}}).encode()
    (stored_list,) = await database.contents.put([manifest])
    kept = FilesKept(context=CONTEXT, manifest=stored_list, files=1, complete=True)
    first = await session_of(database, [prompt("one"), changed(direct), kept, changed(shared)])
    second = await session_of(database, [prompt("two"), changed(shared)])

    tried = await database.archive.prune(dry_run=True)
    nothing_else = await database.archive.prune()

    assert tried.contents == nothing_else.contents == 1
    with pytest.raises(LedgerError):
        await database.contents.get(orphan)
    for name in (direct, listed, shared, stored_list):
        await database.contents.get(name)

    tried = await database.archive.prune(ids=[first], dry_run=True)
    pruned = await database.archive.prune(ids=[first])

    assert tried == pruned
    assert pruned.contents == 3
    assert await database.contents.get(shared) == b"shared"
    pruned = await database.archive.prune(ids=[second])
    assert (pruned.contents, count_of(database.path, "contents")) == (1, 0)


async def test_contents_that_an_open_session_kept_a_moment_ago_stay(database, clock):
    clock.now_ms = 9_000_000_000_000  # after any lock file of this machine
    (old,) = await database.contents.put([b"kept, and not yet told of"])
    session = begun(database)

    pruned = await database.archive.prune()

    assert pruned.contents == 0
    await session.ledger.append(changed(old))
    await session.ledger.aclose()
    assert (await database.archive.prune()).contents == 0
    assert await database.contents.get(old) == b"kept, and not yet told of"


async def test_contents_stay_that_only_a_list_names_which_an_open_session_did_not_tell_of_yet(database, clock):
    listed, other = await database.contents.put([b"of an earlier session", b"of nobody"])
    clock.now_ms = 9_000_000_000_000  # after any lock file of this machine
    session = begun(database)
    states = {"/a": FileState(kind=FileKind.FILE, mode=0o644, sha256=listed)}
    files, _ = encode(KeptFiles(roots=("/",), states=states), None, lambda _content: False)
    (manifest,) = await database.contents.put([files])

    await database.archive.prune()

    assert await database.contents.list_absent([listed, other, manifest]) == {other}
    await session.ledger.aclose()


async def test_a_content_that_is_kept_again_counts_as_kept_now(database, clock):
    (name,) = await database.contents.put([b"content"])
    clock.now_ms = 9_000_000_000_000
    session = begun(database)
    await database.contents.put([b"content"])

    assert (await database.archive.prune()).contents == 0
    await session.ledger.aclose()
    assert (await database.archive.prune()).contents == 1
    with pytest.raises(LedgerError):
        await database.contents.get(name)


async def test_pruning_gives_the_room_back(database, clock):
    session_id = await session_of(database, [prompt("x" * 100_000) for _ in range(20)])
    await database.archive.prune(ids=[])
    before = database.path.stat().st_size + database.path.with_name("ledger.sqlite-wal").stat().st_size

    await database.archive.prune(ids=[session_id])

    assert before > 2_000_000
    assert database.path.stat().st_size < 100_000


# Contents


async def test_each_content_is_kept_once_and_compressed(database):
    for _ in range(3):
        await database.contents.put([b"a" * 1_000_000, b"a" * 1_000_000])

    with sqlite(database.path) as connection:
        ((size, length),) = connection.execute("SELECT size, length(data) FROM contents").fetchall()
    assert size == 1_000_000
    assert length < 20_000


@pytest.mark.parametrize("change", ["data = x'00'", "data = 'text'", "size = 1", "size = -1", "size = 'x'"])
async def test_a_damaged_content_is_not_given_out(database, change):
    (name,) = await database.contents.put([b"content"])
    with sqlite(database.path) as connection:
        connection.execute(f"UPDATE contents SET {change}")

    with pytest.raises(LedgerError, match=f"{name} in .* is damaged"):
        await database.contents.get(name)


async def test_any_flipped_byte_of_a_content_is_noticed(database):
    (name,) = await database.contents.put([b"content"])
    with sqlite(database.path) as connection:
        ((data,),) = connection.execute("SELECT data FROM contents").fetchall()
        for place in range(len(data)):
            flipped = bytearray(data)
            flipped[place] ^= 1
            connection.execute("UPDATE contents SET data = ?", (bytes(flipped),))
            try:
                assert await database.contents.get(name) == b"content"
            except LedgerError as error:
                assert "is damaged" in str(error)  # noqa: PT017 - either is right


@pytest.mark.long
async def test_a_session_of_ten_thousand_events_is_listed_read_and_checked(database):
    session = begun(database)
    events = [prompt(f"{number} " + "x" * 500) for number in range(9_999)]
    await session.ledger.append(started(session.session_id))
    await asyncio.gather(*(session.ledger.append(event) for event in events))
    await session.ledger.aclose()

    (listed,) = await database.archive.list_sessions()
    records = await database.archive.read(session.session_id)

    assert listed.records == 10_000
    assert [record.event for record in records[1:]] == events
    assert (await database.archive.verify(session.session_id)).holds
