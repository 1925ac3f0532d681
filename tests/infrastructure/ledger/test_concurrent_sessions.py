"""Several sessions of one process, each with the same database open for itself, as tabs have it."""

from __future__ import annotations

import asyncio

import pytest

from quorum.domain.events.event import TurnStarted
from tests.infrastructure.ledger.ledger_bench import begun, end, gone_on, prompt, start, started

LOOKING = """
import asyncio, os
from quorum.infrastructure.store.ledger.opening import open_database

database = open_database("", os.environ)
print(len(asyncio.run(database.archive.list_sessions())), flush=True)
database.close()
"""

SIDE_BY_SIDE = """
import asyncio, itertools, os
from quorum.domain.events.event import TurnStarted
from quorum.domain.sessions.session_summary import NewSession
from quorum.infrastructure.store.ledger.opening import open_database

async def write(name):
    for life in itertools.count():
        database = open_database("", os.environ)
        session = database.open_session(NewSession(), cwd="/srv/project")
        for number in itertools.count():
            await session.ledger.append(TurnStarted(prompt=f"{name} {life} {number}"), urgent=number % 50 == 0)
            os.write(1, f"{session.session_id} {name} {life} {number}\\n".encode())
            if name == "brief" and number == 9:
                break
        await session.ledger.aclose()
        database.close()

async def main():
    await asyncio.gather(write("one"), write("two"), write("brief"))

asyncio.run(main())
"""


def look(environ: dict[str, str]) -> int:
    """Let another process open the database, count its sessions, and end."""
    process = start(LOOKING, environ)
    assert process.stdout is not None
    count = int(process.stdout.readline())
    assert end(process) == 0
    return count


@pytest.mark.long
async def test_what_a_session_writes_after_another_was_opened_beside_it_outlives_other_processes(
    environ, opened
):
    database = opened()
    first = begun(database)
    await first.ledger.append(started(first.session_id))
    opened()

    assert look(environ) == 1  # it could take the log away as it ends, if nobody held it
    await first.ledger.append(prompt("later"))

    assert database.path.with_name("ledger.sqlite-wal").exists()
    assert len(await opened().archive.read(first.session_id)) == 2
    await first.ledger.aclose()


@pytest.mark.long
async def test_sessions_side_by_side_killed_under_load_lose_and_mix_nothing_and_both_go_on(environ, opened):
    process = start(SIDE_BY_SIDE, environ)
    lines = [process.stdout.readline().split() for _ in range(200)]
    for _ in range(2):
        look(environ)
        lines += [process.stdout.readline().split() for _ in range(300)]
    process.kill()
    lines += [line.split() for line in process.stdout if line.endswith("\n")]
    end(process)

    reported: dict[str, list[TurnStarted]] = {}
    for session_id, *words in lines:
        reported.setdefault(session_id, []).append(prompt(" ".join(words)))
    database = opened()
    for session_id, events in reported.items():
        assert (await database.archive.verify(session_id)).holds
        kept = [record.event for record in await database.archive.read(session_id)]
        name = events[0].prompt.rpartition(" ")[0]
        assert kept == [prompt(f"{name} {number}") for number in range(len(kept))]
        assert kept[: len(events)] == events
    longest = sorted(reported, key=lambda session_id: -len(reported[session_id]))[:2]
    again = [gone_on(opened(), session_id) for session_id in longest]
    assert [session.in_use for session in again] == [None, None]
    await asyncio.gather(*(session.ledger.append(prompt("on")) for session in again))
    for session in again:
        await session.ledger.aclose()
        assert (await database.archive.verify(session.session_id)).holds


async def test_one_that_is_closed_takes_nothing_from_those_that_write_on(opened):
    sessions = [begun(opened()) for _ in range(3)]
    databases = [opened() for _ in range(2)]

    async def write(number: int) -> None:
        ledger = sessions[number].ledger
        for place in range(60):
            await ledger.append(prompt(f"{number} {place}"))
            if number == 2 and place == 20:
                await ledger.aclose()
                databases[0].close()
                return

    await asyncio.gather(*map(write, range(3)))
    for number, session in enumerate(sessions):
        kept = [record.event for record in await databases[1].archive.read(session.session_id)]
        assert kept == [prompt(f"{number} {place}") for place in range(21 if number == 2 else 60)]
        await session.ledger.aclose()
