from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from quorum.domain.errors import LedgerError
from quorum.domain.sessions.ledger_chain import encode_payload
from quorum.domain.sessions.session_summary import LatestSession
from quorum.infrastructure.store.ledger.opening import Database, open_database
from quorum.infrastructure.store.ledger.sqlite_file import locate_marker
from quorum.infrastructure.store.sql.writer import EncodedEvent, LedgerEntry
from tests.infrastructure.ledger.ledger_bench import CWD, begun, end, gone_on, prompt, session_of, sqlite, start

COLUMNS = ("session_id", "seq", "at_ms", "type", "payload", "salt", "digest", "link", "redaction")
PAGE = 4096

OPEN = """
import os, sys
from quorum.infrastructure.store.ledger.opening import open_database
database = open_database("", os.environ)
print("open", flush=True)
sys.stdin.readline()
database.close()
"""


def flip(path: Path, place: int, column: str, byte: int) -> bytes | int | None:
    """Change one bit of one column of a record, as only someone with the file in hand can; the value it had."""
    with sqlite(path) as connection:
        where = f"rowid = (SELECT rowid FROM records ORDER BY rowid LIMIT 1 OFFSET {place})"
        value = connection.execute(f"SELECT {column} FROM records WHERE {where}").fetchone()[0]
        changed: bytes | int
        if isinstance(value, int):
            changed = value ^ 1 << byte % 62
        else:
            data = bytearray(value if value is not None else b"\0")
            data[byte % len(data)] ^= 1 << byte % 8
            changed = bytes(data)
        text = column in ("session_id", "type")
        connection.execute(
            f"UPDATE records SET {column} = {'CAST(? AS TEXT)' if text else '?'} WHERE {where}", (changed,)
        )
        return value


def put_back(path: Path, place: int, column: str, value: bytes | int | None) -> None:
    text = column in ("session_id", "type")
    with sqlite(path) as connection:
        where = f"rowid = (SELECT rowid FROM records ORDER BY rowid LIMIT 1 OFFSET {place})"
        connection.execute(
            f"UPDATE records SET {column} = {'CAST(? AS TEXT)' if text else '?'} WHERE {where}", (value,)
        )


@pytest.mark.long
@pytest.mark.parametrize("column", COLUMNS)
async def test_any_flipped_byte_of_any_record_is_named(database, column):
    session_id = await session_of(database, [prompt(number) for number in range(4)])
    length = 40 if column in ("session_id", "payload", "digest", "link") else 16
    for place in range(5):
        for byte in range(length):
            value = flip(database.path, place, column, byte)

            checked = await database.archive.verify(session_id)

            assert checked.broken_at == place, (place, byte, checked)
            put_back(database.path, place, column, value)
    assert (await database.archive.verify(session_id)).holds


@pytest.mark.parametrize("column", [name for name in COLUMNS if name != "session_id"])
async def test_a_value_of_another_kind_is_named_and_can_still_be_read(database, column):
    session_id = await session_of(database, [prompt(number) for number in range(4)])
    with sqlite(database.path) as connection:
        connection.execute(f"UPDATE records SET {column} = CAST(x'ff00' AS TEXT) WHERE rowid = 3")

    checked = await database.archive.verify(session_id)

    assert checked.broken_at == 2
    assert len(await database.archive.read(session_id)) == 5


async def test_records_that_are_missing_at_the_end_are_named_as_long_as_the_list_tells_of_them(database):
    session_id = await session_of(database, [prompt(number) for number in range(4)])
    with sqlite(database.path) as connection:
        connection.execute("DELETE FROM records WHERE rowid > 3")

    checked = await database.archive.verify(session_id)

    assert checked.broken_at == 3
    assert "tells of 5 records, and there are 3" in checked.reason


async def test_a_session_that_does_not_hold_says_so_when_it_is_gone_on_with_and_stays_so(database):
    session_id = await session_of(database, [prompt(number) for number in range(4)])
    with sqlite(database.path) as connection:
        connection.execute("DELETE FROM records WHERE rowid = 5")

    session = gone_on(database, session_id)
    await session.ledger.append(prompt("after"))
    await session.ledger.aclose()

    assert "is broken at record 4: the list of sessions tells of 5 records" in session.notices[0]
    assert (await database.archive.verify(session_id)).broken_at == 4


async def test_a_record_that_cannot_be_understood_is_read_as_nothing(database):
    session_id = await session_of(database, [prompt("one"), prompt("two")])
    with sqlite(database.path) as connection:
        connection.execute("UPDATE records SET payload = x'00' WHERE rowid = 2")

    records = await database.archive.read(session_id)

    assert [record.event is None for record in records] == [False, True, False]


async def test_a_damaged_record_is_not_taken_for_one_of_a_newer_version(database):
    session_id = await session_of(database, [prompt("one"), prompt("two")])
    with sqlite(database.path) as connection:
        connection.execute("UPDATE records SET payload = x'00' WHERE rowid = 2")

    session = gone_on(database, session_id)
    await session.ledger.aclose()

    broken, unread = session.notices
    assert "is broken at record 1" in broken
    assert unread == (
        "1 of 3 records cannot be understood, they are damaged; the session continues without what they say: 1."
    )


@pytest.mark.parametrize("event", [{"type": "hologram_shown", "v": 1}, {**prompt("x").to_json(), "v": 99}])
async def test_what_a_newer_version_wrote_is_passed_over_and_said_so(database, event):
    session_id = await session_of(database, [prompt("one")])
    before = gone_on(database, session_id)
    entry = LedgerEntry(
        chain=before.ledger._chain,
        at_ms=1,
        type=event["type"],
        encode=lambda: EncodedEvent(encode_payload(event), event),
        urgent=False,
    )
    database._writer.append(entry)
    await entry.done
    await before.ledger.aclose()

    session = gone_on(database, session_id)
    await session.ledger.append(prompt("two"))
    await session.ledger.aclose()

    (reported,) = session.notices
    assert reported.startswith("1 of 3 records cannot be understood, a newer quorum may have written them; ")
    assert reported.endswith(": 2.")
    assert (await database.archive.verify(session_id)).holds
    assert (await database.archive.read(session_id))[-1].event == prompt("two")


async def full_database(environ: dict[str, str], sessions: int = 6) -> tuple[Path, list[str], str]:
    """A closed database of some size: its file, its sessions, and a content that it holds."""
    database = open_database("", environ)
    made = []
    for number in range(sessions):
        texts = [prompt(f"{number} {place} " + "x" * 700) for place in range(20)]
        made.append(await session_of(database, texts))
    (content,) = await database.contents.put([b"former content" * 1000])
    database.close()
    return database.path, made, content


def damaged_files(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}-damaged-*"))


async def usable(database: Database) -> None:
    """That sessions can be begun, and every one that is there holds."""
    await session_of(database, [prompt("new")])
    for session in await database.archive.list_sessions():
        checked = await database.archive.verify(session.id)
        assert checked.holds, checked
        assert checked.records == session.records


@pytest.mark.parametrize(
    "content",
    [b"", b"x", b"this is no database\n" * 1000, bytes(8192), random.Random(1).randbytes(20_000)],
    ids=["empty", "a byte", "text", "zeros", "noise"],
)
async def test_a_file_that_is_no_database_is_put_aside_whole_and_a_new_one_made(environ, opened, content):
    path, _sessions, _content = await full_database(environ, 1)
    path.write_bytes(content)

    database = opened()

    (aside,) = damaged_files(path)
    assert aside.read_bytes() == content
    (reported,) = database.notices
    assert f"{path} was damaged" in reported
    assert str(aside) in reported
    await usable(database)


@pytest.mark.long
@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.9, 0.999])
async def test_of_a_file_that_was_cut_what_can_be_read_is_saved(environ, opened, share):
    path, sessions, _content = await full_database(environ)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(int(size * share))

    database = opened()

    (aside,) = damaged_files(path)
    assert aside.stat().st_size == int(size * share)
    assert str(aside) in database.notices[0]
    saved = {session.id: session.records for session in await database.archive.list_sessions()}
    assert saved.keys() <= set(sessions)
    assert all(f"{each}, {count} of 21" in database.notices[0] for each, count in saved.items() if count < 21)
    if share >= 0.6:
        assert len(saved) >= 2
    await usable(database)


@pytest.mark.long(after=2)
@pytest.mark.parametrize("seed", range(12))
async def test_of_a_file_with_noise_in_the_middle_everything_around_it_is_saved(environ, opened, seed):
    path, sessions, content = await full_database(environ)
    chance = random.Random(seed)
    pages = path.stat().st_size // PAGE
    with path.open("r+b") as file:
        file.seek(chance.randrange(5, pages) * PAGE + chance.choice([0, 0, 100, 2000]))
        file.write(chance.randbytes(chance.choice([PAGE, 200])))

    database = opened()
    reported = list(database.notices)
    for session_id in sessions:
        try:
            opened_session = gone_on(database, session_id)
        except LedgerError:
            continue
        assert opened_session.ledger is not None
        await opened_session.ledger.append(prompt("on"))
        await opened_session.ledger.aclose()
        reported += opened_session.notices
    reported += database.notices

    listed = await database.archive.list_sessions()
    held = [await database.archive.verify(session.id) for session in listed]
    broken = [each for each in held if not each.holds]
    lost = 21 * len(sessions) - sum(session.records - 1 for session in listed)
    # Whatever is lost was reported, and whatever was changed is named.
    assert len(listed) >= len(sessions) - 2
    assert reported or (not broken and lost == 0)
    assert await content_is_whole_or_said(database, content, reported)


async def content_is_whole_or_said(database: Database, content: str, message: list[str]) -> bool:
    try:
        return await database.contents.get(content) == b"former content" * 1000
    except LedgerError as error:
        return "damaged" in str(error) or bool(message)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE records SET session_id = CAST(x'ff41' AS TEXT) WHERE rowid = 2",
        "UPDATE records SET type = CAST(x'41ff' AS TEXT) WHERE rowid = 2",
        "UPDATE sessions SET id = CAST(x'ff41' AS TEXT) WHERE rowid = 1",
        "UPDATE sessions SET title = CAST(x'ff41' AS TEXT), cwd = CAST(x'ff' AS TEXT)",
        "UPDATE sessions SET model = CAST(x'eda080' AS TEXT)",
    ],
)
async def test_text_that_is_no_utf_8_does_not_keep_the_rest_from_being_saved(environ, opened, damage):
    path, sessions, content = await full_database(environ, 2)
    with sqlite(path) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(damage)
    (path.parent / "ledger.sqlite-damaged").touch()

    database = opened()

    (reported,) = database.notices
    assert "was saved whole" in reported or "were saved whole" in reported
    assert {each.id for each in await database.archive.list_sessions()} <= {*sessions}
    assert await content_is_whole_or_said(database, content, [])


async def test_what_is_saved_is_reported_session_by_session(environ, opened):
    path, sessions, _content = await full_database(environ, 3)
    with sqlite(path) as connection:
        connection.execute(
            "UPDATE records SET payload = x'00' WHERE session_id = ? AND seq = 7", (sessions[1],)
        )
        connection.execute("DELETE FROM records WHERE session_id = ?", (sessions[2],))
    (path.parent / "ledger.sqlite-damaged").touch()

    database = opened()

    (reported,) = database.notices
    assert "1 session was saved whole" in reported
    assert f"saved only in part: {sessions[1]}, 7 of 21 records" in reported
    assert f"lost: {sessions[2]}" in reported
    listed = {session.id: session for session in await database.archive.list_sessions()}
    assert [listed[each].records for each in sessions[:2]] == [21, 7]
    assert listed[sessions[1]].title == ("1 0 " + "x" * 700)[:200]
    await usable(database)
    assert opened().notices == ()


@pytest.mark.long
async def test_damage_that_is_found_while_a_session_is_read_is_mended_on_the_spot(environ, opened):
    path, sessions, _content = await full_database(environ)
    database = opened()
    for number in range(6, path.stat().st_size // PAGE - 1):
        with path.open("r+b") as file:
            file.seek(number * PAGE)
            file.write(random.Random(number).randbytes(PAGE))

    session = database.open_session(LatestSession(), cwd=CWD)

    assert damaged_files(path)
    assert "was damaged" in database.notices[0]
    await session.ledger.append(prompt("on"))
    await session.ledger.aclose()
    assert session.session_id not in sessions or session.records
    await usable(database)


@pytest.mark.long
async def test_a_database_that_others_have_open_is_not_mended_under_them(environ, opened):
    path, _sessions, _content = await full_database(environ, 1)
    process = start(OPEN, environ)
    assert process.stdout.readline() == "open\n"
    (path.parent / "ledger.sqlite-damaged").touch()
    before = path.read_bytes()

    with pytest.raises(LedgerError, match="another quorum has it open; end that one and start again"):
        opened()

    assert path.read_bytes() == before
    process.stdin.write("\n")
    assert end(process) == 0
    assert "1 session was saved whole" in opened().notices[0]


@pytest.mark.parametrize("log", [False, True], ids=["nothing else", "a log"])
async def test_a_mending_that_was_killed_at_its_last_step_is_completed(environ, opened, log):
    path, sessions, _content = await full_database(environ, 2)
    path.rename(path.with_name(f"{path.name}-mended"))
    if log:
        path.with_name(f"{path.name}-wal").write_bytes(b"of the damaged one")

    database = opened()

    assert "What could be read of it was saved before" in database.notices[0]
    assert {session.id for session in await database.archive.list_sessions()} == set(sessions)
    await usable(database)


async def test_a_log_without_its_database_is_put_aside(environ, opened):
    path, _sessions, _content = await full_database(environ, 1)
    path.unlink()
    path.with_name(f"{path.name}-wal").write_bytes(b"left over" * 100)

    database = opened()

    (aside,) = damaged_files(path)
    assert aside.name.endswith("-wal")
    await usable(database)


async def test_many_who_find_no_database_at_once_make_one(environ, opened):
    databases = await asyncio.gather(*(asyncio.to_thread(open_database, "", environ) for _ in range(6)))

    sessions = [begun(database) for database in databases]
    for session in sessions:
        await session.ledger.append(prompt("one"))
        await session.ledger.aclose()

    assert len(await databases[0].archive.list_sessions()) == 6
    for database in databases:
        database.close()


async def test_the_record_of_redactions_is_saved_from_a_damaged_database(environ, opened):
    database = opened()
    session_id = await session_of(database, [prompt("a secret word"), prompt("next")])
    await database.archive.redact(session_id, "secret")
    locate_marker(database.path).touch()
    database.close()

    again = opened()

    assert "1 session was saved whole" in " ".join(again.notices)
    checked = await again.archive.verify(session_id)
    assert (checked.holds, checked.redacted, checked.unrecorded) == (True, (1,), ())
