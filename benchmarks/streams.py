"""What a paced answer costs the whole app: `.venv/bin/python benchmarks/streams.py [SECS] [QUORUM…]`.

A server on the loopback interface streams Markdown for so many seconds (10) at 50, 150, 200 and 2,000 pieces a
second into the app in a terminal of 120×40. Printed are frames a second, bytes and cells painted a frame, CPU
a piece, in all and a frame, and the milliseconds from a key to its letter meanwhile. Several programs are
measured in turn, for a comparison. Two minutes each.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.chat_server import END, MODEL, ChatServer, make_workspace
from benchmarks.keys import App, environment_in

RATES = (50, 150, 200, 2_000)
FRAME = b"\x1b[?2026h"
CODES = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[\x80-\xbf\r\n]")


def cpu_secs(app: App) -> float:
    """Seconds of CPU of all its threads so far, to the nanosecond."""
    tasks = Path(f"/proc/{app.pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def read_until_end(app: App, pieces: int) -> bytes:
    """All that is painted until the answer of so many pieces is there."""
    app.painted = b""
    while f"{END}{pieces}".encode() not in app.painted:
        if not app.read(20):
            raise SystemExit("the answer was never painted")
    app.settle(0.6)
    return app.painted


def measure(server: ChatServer, program: str, per_sec: int, secs: float, home: Path, cwd: Path) -> None:
    """Print the line of one rate."""
    app = App([program], cwd, environment_in(home))
    app.wait_for(MODEL.encode())
    app.settle()
    app.submit("text 200")  # what is loaded with the first answer is not measured
    read_until_end(app, 200)
    pieces = int(per_sec * secs) + 1
    app.submit(f"text {pieces} {per_sec}")
    before, began = cpu_secs(app), time.perf_counter()
    painted = read_until_end(app, pieces)
    wall, spent = time.perf_counter() - began - 0.6, cpu_secs(app) - before
    frames = painted.count(FRAME)
    cells = len(CODES.sub(b"", painted))
    app.submit(f"text {int(per_sec * 5)} {per_sec}")
    app.painted = b""
    while b"Heading" not in app.painted:
        app.read(1)
    keys = []
    for number in range(50):
        keys.append(app.press("жщфю"[number % 4]))
        time.sleep(0.05)
    keys.sort()
    app.end()
    print(
        f"{per_sec:6,}/s {frames / wall:9.1f} {len(painted) / frames:12.0f} {cells / frames:12.0f}"
        f" {1e6 * spent / pieces:11.0f} {spent:9.2f} {1000 * spent / frames:12.2f}"
        f" {statistics.median(keys):8.1f} {keys[len(keys) * 95 // 100]:6.1f}   {program}",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    secs = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    programs = sys.argv[2:] or [str(Path(sys.executable).parent / "quorum")]
    server = ChatServer()
    print(
        f"{'pieces':>8} {'frames/s':>9} {'bytes/frame':>12} {'cells/frame':>12} {'µs/piece':>11} {'CPU s':>9}"
        f" {'CPU ms/frame':>12} {'key ms':>8} {'p95':>6}"
    )
    with tempfile.TemporaryDirectory() as folder:
        home, cwd = Path(folder).resolve() / "home", Path(folder).resolve() / "work"
        home.mkdir()
        make_workspace(cwd)
        server.configure(home)
        for per_sec in RATES:
            for program in programs:
                measure(server, program, per_sec, secs, home, cwd)


if __name__ == "__main__":
    main()
