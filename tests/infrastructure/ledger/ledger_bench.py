"""What the tests of the ledger share: events, sessions, a clock, and other processes."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from quorum.application.ports.storage import OpenedSession
from quorum.domain.events.event import Event, SessionStarted, TurnStarted
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import NamedSession, NewSession
from quorum.infrastructure.store.ledger.opening import Database

ROOT = Path(__file__).parents[3]
CWD = "/srv/project"


class Clock:
    """The time of day, which goes where a test wants it."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms


def started(session_id: str = "id", cwd: str = CWD, model: str = "openai/m") -> SessionStarted:
    return SessionStarted(session_id=session_id, model=model, mode=Mode.ASK, cwd=cwd)


def prompt(text: object) -> TurnStarted:
    return TurnStarted(prompt=str(text))


def begun(database: Database, cwd: str = CWD) -> OpenedSession:
    return database.open_session(NewSession(), cwd=cwd)


def gone_on(database: Database, name: str) -> OpenedSession:
    return database.open_session(NamedSession(name), cwd=CWD)


async def session_of(database: Database, events: Sequence[Event], cwd: str = CWD) -> str:
    """The id of a finished session with these events."""
    session = begun(database, cwd)
    for event in (started(session.session_id, cwd), *events):
        await session.ledger.append(event)
    await session.ledger.aclose()
    return session.session_id


@contextmanager
def sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to the file that knows nothing of us. All it does is committed at once."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.text_factory = bytes
    try:
        yield connection
    finally:
        connection.close()


def start(script: str, environ: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    """Another process that runs this script, with pipes to its input and output."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> int:
    """Wait for another process and close its pipes; its exit code."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    return process.wait(timeout=60)
