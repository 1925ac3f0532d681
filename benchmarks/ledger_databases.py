"""What an append costs in each database: `.venv/bin/python benchmarks/ledger_databases.py [URL]`.

CPU of this process and time by the clock per event, median and 99th of a hundred: one by one, 20 at once, and
one with 20 kB. Without a URL, PostgreSQL is one that this starts on a socket, with `fsync` as servers have it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from quorum.application.ports.storage import Ledger
from quorum.domain.events.event import TurnStarted
from quorum.domain.sessions.session_summary import NewSession
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage, upgrade_schema
from tests.support.postgres_server import remove_postgres, start_postgres

EVENTS = 2_000
WAYS = (("one by one", 1, "a prompt"), ("20 at once", 20, "a prompt"), ("20 kB each", 1, "a prompt " * 2_200))


async def measure(name: str, table: StorageTable, state: str) -> None:
    storage = await asyncio.to_thread(open_storage, table, {**os.environ, "XDG_STATE_HOME": state})
    opened = await asyncio.to_thread(storage.open_session, NewSession(), cwd="/ws")
    assert opened.ledger is not None
    for way, at_once, text in WAYS:
        await _append(opened.ledger, TurnStarted(prompt=text), at_once, 100)
        cpu = time.process_time()
        walls = await _append(opened.ledger, TurnStarted(prompt=text), at_once, EVENTS)
        cpu = (time.process_time() - cpu) / EVENTS
        middle, late = walls[len(walls) // 2], walls[len(walls) * 99 // 100]
        print(
            f"{name:12}{way:14}{cpu * 1e6:8.0f} µs CPU {middle * 1e6:8.0f} µs median {late * 1e6:8.0f} µs 99th"
        )
    await opened.ledger.aclose()
    await asyncio.to_thread(storage.close)


async def _append(ledger: Ledger, event: TurnStarted, at_once: int, events: int) -> list[float]:
    """Seconds that each event was waited for, sorted; of several at once, their share."""
    walls: list[float] = []
    for _ in range(events // at_once):
        begun = time.perf_counter()
        await asyncio.gather(*(ledger.append(event) for _ in range(at_once)))
        walls.append((time.perf_counter() - begun) / at_once)
    return sorted(walls)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure("SQLite", StorageTable(url=f"sqlite:///{folder}/ledger.sqlite"), folder))
        if len(sys.argv) > 1:
            table = StorageTable(url=sys.argv[1])
            upgrade_schema(table, os.environ)
            asyncio.run(measure("PostgreSQL", table, folder))
            return
        server = start_postgres(fsync=True)
        try:
            asyncio.run(measure("PostgreSQL", StorageTable(url=server.new_database()), folder))
        finally:
            remove_postgres(server)


if __name__ == "__main__":
    main()
