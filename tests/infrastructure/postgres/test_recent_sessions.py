"""Sessions in PostgreSQL as a shell completes them: soon or not at all, and without a word."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from pathlib import Path

import pytest

from quorum.application.identifiers import generate_id
from quorum.domain.events.event import TurnStarted
from quorum.domain.sessions.session_summary import ContinuedSession, NewSession
from quorum.infrastructure import known_names as known_sessions
from quorum.infrastructure.known_names import list_known_sessions
from quorum.infrastructure.store.postgres.address import parse_address
from tests.support.headless_run import QUORUM, environment


def settings(url: str) -> dict[str, object]:
    return {"storage": {"url": url}}


async def test_the_sessions_of_a_person_are_offered_the_latest_first(machine, url, tmp_path):
    storage = machine()
    subagent = f"{generate_id()}-t1"
    for choice, prompt in (
        (NewSession(), "one"),
        (NewSession(), "two"),
        (ContinuedSession(subagent), "a subagent"),
    ):
        session = await asyncio.to_thread(storage.open_session, choice, cwd="/work")
        await session.ledger.append(TurnStarted(prompt=prompt))
        await session.ledger.aclose()

    found = await asyncio.to_thread(list_known_sessions, settings(url), {"HOME": str(tmp_path)})
    named = await asyncio.to_thread(list_known_sessions, {}, {"QUORUM_STORAGE__URL": url})

    assert [(each.title, each.cwd) for each in found] == [("two", "/work"), ("one", "/work")]
    assert all(each.id.startswith(each.short_id) for each in found)
    assert named == found


def test_a_ledger_that_cannot_be_read_offers_nothing_and_says_nothing(postgres, tmp_path, capfd):
    url = postgres.new_database()
    database = parse_address(url).database
    with postgres.connect(database) as connection:
        connection.execute("DROP TABLE sessions CASCADE")
    for other in (
        url,
        url.replace(database, "absent"),
        f"postgresql+psycopg://quorum@/ledger?host={tmp_path}",
        "postgresql+psycopg://127.0.0.1:1/ledger",
        "postgresql+psycopg://me:hunter2@host/ledger",
        "postgresql+psycopg://host:port/ledger",
        "postgresql+psycopg://host/ledger?sslmode=bogus",
        "postgresql+psycopg://",
    ):
        assert list_known_sessions(settings(other), {"HOME": str(tmp_path)}) == ()
    assert capfd.readouterr() == ("", "")


def test_a_server_that_takes_the_connection_and_is_silent_is_not_waited_for(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(known_sessions, "_SERVER_WAIT_SECS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"postgresql+psycopg://quorum@127.0.0.1:{silent.getsockname()[1]}/ledger"

        assert list_known_sessions(settings(url), {"HOME": str(tmp_path)}) == ()

        asking, _ = silent.accept()
        with asking:
            assert asking.recv(4096)
            asking.setblocking(False)
            with pytest.raises(BlockingIOError):  # libpq itself waits on, for seconds
                asking.recv(1)


async def test_a_table_that_another_transaction_holds_is_not_waited_for(machine, postgres, url, monkeypatch):
    machine().close()
    monkeypatch.setattr(known_sessions, "_SERVER_WAIT_SECS", 0.2)
    with postgres.connect(parse_address(url).database) as other:
        other.execute("BEGIN")
        other.execute("LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE")

        assert await asyncio.to_thread(list_known_sessions, settings(url), {}) == ()


@pytest.mark.long
def test_a_shell_gets_its_answer_and_no_word_more_though_the_server_is_silent(tmp_path: Path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"postgresql+psycopg://quorum@127.0.0.1:{silent.getsockname()[1]}/ledger"
        asked = [QUORUM, "completion", "bash", "--line", "quorum sessions show "]

        done = subprocess.run(
            asked,
            env=environment(tmp_path, QUORUM_STORAGE__URL=url),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert (done.returncode, done.stdout, done.stderr) == (0, "words\n", "")
