"""One question without a screen: `.venv/bin/python benchmarks/one_shot.py [RUNS] [QUORUM…]`.

Starts `quorum run hello` against a server on the loopback interface that answers at once, and prints medians in
milliseconds, with the smallest in brackets: from launch to the request, CPU until then of the threads that
still live, the whole run and its CPU, and from the end of the answer to the end of the process. Above them the
import of `openai` in the same interpreter, the floor. Several programs are run in turn, for a comparison. On a
busy machine compare the smallest CPU.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.chat_server import ChatServer, make_workspace
from benchmarks.keys import environment_in

HEAD = f"{'ms':28}{'to request':>16}{'CPU then':>16}{'whole run':>16}{'CPU':>16}{'to the end':>16}"


@dataclass
class Taken:
    """Seconds of one run."""

    request: float
    cpu_at_request: float
    whole: float
    cpu: float
    end: float


class TimedServer(ChatServer):
    """Looks at the clocks of the program when its request comes."""

    pid = 0
    cpu_at_request = 0.0

    def came(self) -> None:
        """A request has come."""
        self.cpu_at_request = self.cpu_at_request or thread_secs(self.pid)


def thread_secs(pid: int) -> float:
    """Seconds of CPU of the threads that live."""
    secs = 0.0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            secs += int((thread / "schedstat").read_text().split()[0]) / 1e9
    return secs


def cpu_of_children() -> float:
    """Seconds of CPU of the programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_hello(server: TimedServer, program: str, home: Path, cwd: Path) -> Taken:
    """One question and its answer."""
    server.times, server.cpu_at_request = [], 0.0
    before, began = cpu_of_children(), time.perf_counter()
    process = subprocess.Popen(
        [program, "run", "hello"], cwd=cwd, env=environment_in(home), stdout=subprocess.PIPE
    )
    server.pid = process.pid
    said, _ = process.communicate()
    ended = time.perf_counter()
    if b"bench" not in said:
        raise SystemExit(f"{program} answered {said!r}")
    came, sent = server.times[0]
    return Taken(came - began, server.cpu_at_request, ended - began, cpu_of_children() - before, ended - sent)


def import_sdk(program: str) -> Taken:
    """The import of the SDK alone, as the same interpreter does it."""
    python = str(Path(program).parent / "python")
    before, began = cpu_of_children(), time.perf_counter()
    subprocess.run([python, "-c", "import openai; openai.AsyncOpenAI(api_key='x')"], check=True)
    whole = time.perf_counter() - began
    return Taken(0, 0, whole, cpu_of_children() - before, 0)


def tell(name: str, taken: list[Taken]) -> None:
    """One line of the table."""
    line = f"{name:28}"
    for field in ("request", "cpu_at_request", "whole", "cpu", "end"):
        figures = [1000 * getattr(each, field) for each in taken]
        cell = f"{statistics.median(figures):.0f} ({min(figures):.0f})" if any(figures) else ""
        line += f"{cell:>16}"
    print(line, flush=True)


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    programs = sys.argv[2:] or [str(Path(sys.executable).parent / "quorum")]
    server = TimedServer()
    with tempfile.TemporaryDirectory() as folder:
        home, cwd = Path(folder).resolve() / "home", Path(folder).resolve() / "work"
        home.mkdir()
        make_workspace(cwd)
        server.configure(home)
        taken: dict[str, list[Taken]] = {}
        for _ in range(runs + 1):
            for number, program in enumerate(programs, 1):
                mark = f" ({number})" if len(programs) > 1 else ""
                taken.setdefault(f"import openai{mark}", []).append(import_sdk(program))
                taken.setdefault(f"quorum run hello{mark}", []).append(run_hello(server, program, home, cwd))
    print(HEAD)
    for name, figures in taken.items():
        tell(name, figures[1:])


if __name__ == "__main__":
    main()
