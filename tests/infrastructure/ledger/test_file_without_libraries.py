"""All that is done with sessions in a file of SQLite works where no library of databases is installed."""

from __future__ import annotations

from contextlib import closing

import pytest

from quorum.infrastructure.store.ledger.sqlite_file import LATER_TABLES, locate_marker
from tests.infrastructure.ledger.ledger_bench import end, prompt, session_of, sqlite, start

WITHOUT = """
import sys
for library in ("sqlalchemy", "alembic", "psycopg"):
    sys.modules[library] = None  # an import of it fails, as where it is not installed
"""
LIFE = (
    WITHOUT
    + """
import asyncio, os
from pathlib import Path
from quorum.domain.events.event import ReviewRequested, SessionStarted, TurnStarted
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import RemoteAnswer
from quorum.domain.sessions.session_summary import NamedSession, NewSession
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import copy_sessions, open_storage, read_schema_state, upgrade_schema

CWD = "/srv/project"

async def live():
    storage = open_storage(StorageTable(), os.environ)
    opened = storage.open_session(NewSession(), cwd=CWD)
    await opened.ledger.append(SessionStarted(session_id=opened.session_id, model="m", mode=Mode.ASK, cwd=CWD))
    await opened.ledger.append(TurnStarted(prompt="the word is swordfish"), urgent=True)
    await opened.ledger.aclose()
    copy = await storage.archive.fork(opened.session_id)
    again = storage.open_session(NamedSession(copy), cwd=CWD)
    await again.ledger.append(TurnStarted(prompt="more"))
    await again.ledger.aclose()
    print(await storage.archive.redact(copy, "swordfish"), (await storage.archive.verify(copy)).holds)
    (digest,) = await storage.contents.put([b"former"])
    absent = await storage.contents.list_absent([digest, "00" * 32])
    print(await storage.contents.get(digest), absent == {"00" * 32})
    answer = RemoteAnswer(session_id=copy, digest="5f", approves=True, reason=None, answered_by="ada", at_ms=1)
    print(await storage.answers.add(answer) == answer == await storage.answers.find(copy, "5f"))
    print(len(await storage.archive.list_in_review()), storage.archive.find_latest(CWD) == copy)
    storage.close()
    other = StorageTable(url=f"sqlite:///{os.environ['HOME']}/other.sqlite")
    print(copy_sessions(StorageTable(), other, os.environ, tell=print).sessions)
    print(upgrade_schema(other, os.environ).is_current, read_schema_state(other, os.environ).found)
    storage = open_storage(StorageTable(), os.environ)
    pruned = await storage.archive.prune(keep=1)
    print([each.id for each in pruned.sessions] == [opened.session_id], pruned.contents)
    storage.close()

asyncio.run(live())
"""
)
MENDING = (
    WITHOUT
    + """
import os
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage

storage = open_storage(StorageTable(), os.environ)
print(*storage.notices)
storage.close()
"""
)


def run(script: str, environ: dict[str, str]) -> list[str]:
    process = start(script, environ)
    assert process.stdout is not None
    lines = process.stdout.read().splitlines()
    assert end(process) == 0
    return lines


@pytest.mark.long
def test_a_session_is_recorded_copied_redacted_and_pruned(environ):
    assert run(LIFE, environ) == [
        "1 True",
        "b'former' True",
        "True",
        "0 True",
        "2",
        "True 0001",
        "True 1",
    ]


@pytest.mark.long
async def test_a_damaged_file_is_mended(opened, environ):
    database = opened()
    await session_of(database, [prompt("kept")])
    database.close()
    locate_marker(database.path).touch()

    (notice,) = run(MENDING, environ)

    assert notice.startswith(f"The session ledger {database.path} was damaged. 1 session was saved whole.")


def test_a_file_of_an_earlier_program_gets_the_tables_that_it_lacks_as_a_new_one_has_them(database):
    with sqlite(database.path) as file:
        as_new = file.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        for table in LATER_TABLES:
            file.execute(f"DROP TABLE {table}")

        with closing(database.engine.connect()) as connection:
            for table in LATER_TABLES:
                assert not connection.has_table(table)
                connection.add_table(table)
                connection.add_table(table)
                assert connection.has_table(table)

        assert file.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall() == as_new
