"""Start-up beside its floors: `.venv/bin/python benchmarks/start.py [RUNS]`.

Launches each program in a pseudo-terminal of 120×40 and types a letter every 40 ms until one is echoed. Prints
medians in milliseconds and the ratio to the floor of the same run; of quorum also when the app, which is loaded
behind its early prompt, has drawn its first frame.
"""

from __future__ import annotations

import os
import pty
import select
import statistics
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import NamedTuple

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
DRAWN = b"enter sends"
SIZE = (40, 120)


class Launch(NamedTuple):
    """Seconds from launch to the first painted byte, to the first echo of a typed letter, and until the last of
    it is drawn; that is 0 for a program that has no more to draw."""

    painted: float
    echoed: float
    drawn: float


def launch(command: list[str], cwd: str, last: bytes) -> Launch:
    """Start a program, and stop it once it has echoed a letter and drawn these bytes."""
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
    termios.tcsetwinsize(terminal, SIZE)
    painted = echoed = drawn = 0.0
    typed = started
    seen = b""
    while not (echoed and (drawn or not last)) and time.perf_counter() - started < 20:
        ready, _, _ = select.select([terminal], [], [], 0.005)
        if ready:
            seen = seen[-64:] + os.read(terminal, 65536)
            painted = painted or time.perf_counter() - started
            if not echoed and PROBE in seen:
                echoed = time.perf_counter() - started
            if last and not drawn and last in seen:
                drawn = time.perf_counter() - started
        elif painted and time.perf_counter() - typed > 0.04:
            os.write(terminal, PROBE)
            typed = time.perf_counter()
    os.kill(pid, 9)
    os.close(terminal)
    os.waitpid(pid, 0)
    return Launch(painted, echoed, drawn)


def run_time(command: list[str]) -> float:
    """Seconds a command takes to end."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with tempfile.TemporaryDirectory() as cwd:
        programs = {
            "smallest Textual app": ([sys.executable, "-c", SMALLEST], b""),
            "quorum": ([str(BIN / "quorum")], DRAWN),
        }
        figures: dict[str, list[Launch]] = {name: [] for name in programs}
        for _ in range(runs + 1):
            for name, (command, last) in programs.items():
                figures[name].append(launch(command, cwd, last))
        floor = statistics.median(each.echoed for each in figures["smallest Textual app"][1:])
        for name, taken in figures.items():
            painted, echoed, drawn = (statistics.median(each) for each in zip(*taken[1:], strict=True))
            print(
                f"{name:22} first paint {painted * 1000:5.0f} ms   accepts typing {echoed * 1000:5.0f} ms"
                f"   × {echoed / floor:.2f}"
                + (f"   the app is drawn {drawn * 1000:5.0f} ms   × {drawn / floor:.2f}" if drawn else "")
            )
    bare = statistics.median(run_time([sys.executable, "-c", "pass"]) for _ in range(runs))
    version = statistics.median(run_time([str(BIN / "quorum"), "--version"]) for _ in range(runs))
    print(f"{'python -c pass':22} {bare * 1000:5.0f} ms")
    print(f"{'quorum --version':22} {version * 1000:5.0f} ms   × {version / bare:.2f}")


if __name__ == "__main__":
    main()
