"""How long a decision of `quorum gate` takes without models: in a process, by a resident, and by an app.

Run with:  .venv/bin/python benchmarks/gate.py [ROUNDS]
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from quorum.gate.tui_client import Unreachable, ask_running

QUORUM = Path(sys.executable).with_name("quorum")
WAIT_SECS = 60.0


def measure(name: str, rounds: int, command: list[str], call: bytes, environment: dict[str, str]) -> None:
    """Print the median and the 95th percentile of the wall time of a process, and its median CPU time."""
    times, cpu_times = [], []
    for _ in range(rounds):
        started, cpu_started = time.perf_counter(), read_cpu_secs()
        subprocess.run(command, input=call, env=environment, check=True, capture_output=True)
        times.append(1000 * (time.perf_counter() - started))
        cpu_times.append(1000 * (read_cpu_secs() - cpu_started))
    report(name, times, f"   CPU p50 {statistics.median(cpu_times):6.1f} ms")


def read_cpu_secs() -> float:
    """The CPU time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def report(name: str, times: list[float], more: str = "") -> None:
    """Print one line; times are in milliseconds."""
    p95 = statistics.quantiles(times, n=20)[-1]
    print(f"{name:<42} p50 {statistics.median(times):7.1f} ms   p95 {p95:7.1f} ms   n {len(times)}{more}")


def main(rounds: int) -> None:
    """Measure all ways."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "work").mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "LANG": "C.UTF-8"}
        given = {
            "session_id": "benchmark",
            "cwd": str(home / "work"),
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "ls -la"},
        }
        call, socket = json.dumps(given).encode(), str(home / "s")
        alone = [str(QUORUM), "gate", "--dialect", "claude"]
        measure("an interpreter that does nothing", rounds, [sys.executable, "-c", ""], b"", environment)
        by_itself = {**environment, "QUORUM_GATE__IDLE_MINUTES": "0"}
        measure("a process that decides", max(5, rounds // 4), alone, call, by_itself)
        measure_resident(rounds, alone, call, environment, home)
        app = subprocess.Popen(
            [QUORUM, "-q", "-m", "offline/offline", "--headless", "--listen", socket], env=environment
        )
        try:
            wait_for_app(socket, call)
            measure(
                "a process that asks a running quorum", rounds, [*alone, "--tui", socket], call, environment
            )
            times = []
            for _ in range(rounds):
                started = time.perf_counter()
                ask_running(socket, "claude", call, 30)
                times.append(1000 * (time.perf_counter() - started))
            report("the running quorum alone", times)
        finally:
            app.terminate()
            app.wait()


def measure_resident(
    rounds: int, command: list[str], call: bytes, environment: dict[str, str], home: Path
) -> None:
    """Have a first call start a resident, wait until it listens, and measure those after it."""
    sockets = home / ".local" / "state" / "quorum" / "gate"
    subprocess.run(command, input=call, env=environment, check=True, capture_output=True)
    until = time.monotonic() + WAIT_SECS
    while not any(sockets.iterdir()):
        if time.monotonic() > until:
            raise TimeoutError("the resident gate does not listen")
        time.sleep(0.05)
    measure("a process that asks a resident", rounds, command, call, environment)
    for socket in sockets.iterdir():
        socket.unlink()  # it ends when it has lost its place


def wait_for_app(socket: str, call: bytes) -> None:
    """Return once it has answered a first call."""
    until = time.monotonic() + WAIT_SECS
    while True:
        try:
            ask_running(socket, "claude", call, 30)
            return
        except Unreachable:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
