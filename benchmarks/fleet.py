"""Loses nothing: `.venv/bin/python -m benchmarks.fleet [SESSIONS] [WORKERS] [--calm] [--kill-secs S]`.

Submits sessions that each write a line after an approval, and runs them with workers of one session at once.
Unless it is calm, a worker is killed every S seconds, by default each second, the database is killed once and
started again, and the object store fails one request in ten. Then every session must have ended, every line be
there at most once, every call that ended well have its line, and every chain hold. Prints how many sessions a
second were completed.
"""

from __future__ import annotations

import argparse
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
    parser.add_argument("--calm", action="store_true")
    parser.add_argument("--kill-secs", type=float, default=1.0)
    given = parser.parse_args()
    server = start_postgres(fsync=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            chaos = FleetChaos(
                Path(folder),
                server,
                sessions=given.sessions,
                workers=given.workers,
                kill_secs=given.kill_secs,
            )
            print(chaos.run(calm=given.calm))
    finally:
        remove_postgres(server)


if __name__ == "__main__":
    main()
