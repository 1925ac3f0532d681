"""Loses nothing: `.venv/bin/python -m benchmarks.fleet [SESSIONS] [WORKERS] [OPTIONS]`; `--help` lists them.

Submits sessions that write N lines each, and runs them with workers of one session at once. Each line is
written by a call that three scripted models review; the last one of every so-manieth session they reject, and
a person approves it through the inbox. Unless it is calm, a worker is killed every S seconds, by default each
second, and every 50th time with it the parent that would start another in its place; the database is killed and
started again after each quarter of the calls, and the object store fails one request in ten. Then every
session must have ended, every call be decided and have one result, every line be there at most once, every call
that ended well have its line, and every chain hold. Exits with 1 where that is not so.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.fleet_chaos import FleetChaos
from tests.support.postgres_server import remove_postgres, start_postgres


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sessions", type=int, nargs="?", default=200)
    parser.add_argument("workers", type=int, nargs="?", default=8)
    parser.add_argument("--reviews", type=int, default=1, help="in each session")
    parser.add_argument("--ask-every", type=int, default=1, help="a person in so many sessions")
    parser.add_argument("--calm", action="store_true")
    parser.add_argument("--kill-secs", type=float, default=1.0)
    parser.add_argument("--kills", type=int, help="how many workers are killed at most")
    parser.add_argument("--beside", type=Path, help="a quorum of another version, for every second worker")
    parser.add_argument("--patience-secs", type=float, default=math.inf, help="end after so long")
    given = parser.parse_args()
    server = start_postgres(fsync=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            chaos = FleetChaos(
                Path(folder),
                server,
                sessions=given.sessions,
                workers=given.workers,
                reviews=given.reviews,
                ask_every=given.ask_every,
                most_kills=given.kills,
                patience_secs=given.patience_secs,
                beside=given.beside,
                kill_secs=given.kill_secs,
                report=lambda line: print(line, flush=True),
            )
            report = chaos.run(calm=given.calm)
            print(report)
            if report.has_failed:
                sys.exit(1)
    finally:
        remove_postgres(server)


if __name__ == "__main__":
    main()
