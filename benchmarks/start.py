"""Start-up beside its floors: `.venv/bin/python benchmarks/start.py [RUNS]`.

Launches each program in a pseudo-terminal and types a letter every 40 ms until one is echoed. Prints medians
in milliseconds and the ratio to the floor of the same run.
"""

from __future__ import annotations

import os
import pty
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN = Path(sys.executable).parent
SMALLEST = """
from textual.app import App
from textual.widgets import Input
class Smallest(App):
    def compose(self):
        yield Input()
Smallest().run()
"""
PROBE = "ж".encode()


def launched(command: list[str], cwd: str) -> tuple[float, float]:
    """Seconds from launch to the first painted byte and to the first echo of a typed letter."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": cwd,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
    }
    started = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execvpe(command[0], command, env)
    painted = echoed = 0.0
    typed = started
    seen = b""
    while not echoed and time.perf_counter() - started < 20:
        ready, _, _ = select.select([terminal], [], [], 0.005)
        if ready:
            seen = seen[-64:] + os.read(terminal, 65536)
            painted = painted or time.perf_counter() - started
            if PROBE in seen:
                echoed = time.perf_counter() - started
        elif painted and time.perf_counter() - typed > 0.04:
            os.write(terminal, PROBE)
            typed = time.perf_counter()
    os.kill(pid, 9)
    os.close(terminal)
    os.waitpid(pid, 0)
    return painted, echoed


def run_time(command: list[str]) -> float:
    """Seconds a command takes to end."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with tempfile.TemporaryDirectory() as cwd:
        programs = {
            "smallest Textual app": [sys.executable, "-c", SMALLEST],
            "quorum": [str(BIN / "quorum")],
        }
        figures: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
        for _ in range(runs + 1):
            for name, command in programs.items():
                figures[name].append(launched(command, cwd))
        floor = statistics.median(echoed for _, echoed in figures["smallest Textual app"][1:])
        for name, taken in figures.items():
            painted = statistics.median(p for p, _ in taken[1:])
            echoed = statistics.median(e for _, e in taken[1:])
            print(
                f"{name:22} first paint {painted * 1000:5.0f} ms   accepts typing {echoed * 1000:5.0f} ms"
                f"   × {echoed / floor:.2f}"
            )
    bare = statistics.median(run_time([sys.executable, "-c", "pass"]) for _ in range(runs))
    version = statistics.median(run_time([str(BIN / "quorum"), "--version"]) for _ in range(runs))
    print(f"{'python -c pass':22} {bare * 1000:5.0f} ms")
    print(f"{'quorum --version':22} {version * 1000:5.0f} ms   × {version / bare:.2f}")


if __name__ == "__main__":
    main()
