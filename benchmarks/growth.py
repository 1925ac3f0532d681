"""What a turn costs late in a session: `.venv/bin/python benchmarks/growth.py [TURNS] [FRONT-END:API…]`.

Drives one session of 1,000 turns, each with a prompt, three tool calls and an answer, through a server on the
loopback interface that answers at once: without a screen (`session`) and in the app in a pseudo-terminal of
120×40 (`app`), with `anthropic`, `openai` or `openai-chat` as the API. Prints what one turn costs early, in the
middle and at the end: CPU, bytes that a request gained, bytes on disk; and open files, threads and memory then.
Some minutes for each.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.keys import App
from tests.support.headless_run import QUORUM, configure, environment
from tests.support.long_lived_rig import LongLived
from tests.support.sse_server import Dialect, Say, ScriptedCall, scripted_events

WINDOW = 50
TICKS = os.sysconf("SC_CLK_TCK")
LINE = "    return [each for each in found if each.name != name]  # as tools read it\n"
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class Model:
    """Answers prompts with calls, and results with a text that names the turn; keeps how long requests were."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.sizes: list[int] = []
        self.port = 0
        self._ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        self._ready.wait()

    @property
    def base_url(self) -> str:
        """The address to configure."""
        return f"http://127.0.0.1:{self.port}{'' if self.dialect == 'anthropic' else '/v1'}"

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=2**24)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split()[0])
                await reader.readexactly(length)
                self.sizes.append(length)
                body = b"".join(scripted_events(self.dialect, _reply(len(self.sizes))))
                writer.write(_HEAD + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def _reply(request: int) -> Say:
    turn = (request + 1) // 2
    if request % 2 == 0:
        return Say(pieces=("The file is **as it was**. " * 6, answer(turn)))
    content = "".join(f"{turn:06} {number}\n" for number in range(20))
    calls = (
        ("read_file", {"path": f"src/module_{turn % 10}.py"}),
        ("grep_search", {"pattern": "each\\.name", "path": "src", "max_results": 5}),
        ("write_file", {"path": "notes.txt", "content": content}),
    )
    named = tuple(
        ScriptedCall(f"call_{turn}_{n}", name, json.dumps(given)) for n, (name, given) in enumerate(calls)
    )
    return Say(pieces=("Let me look at it first.",), calls=named, stop="tool_use")


def answer(turn: int) -> str:
    """What the last answer of a turn ends with."""
    return f"Turn-{turn:06}-is-over."


@dataclass(frozen=True)
class Sample:
    """What a process and the state folder hold between two turns. CPU in seconds, sizes in bytes."""

    cpu: float
    memory: int
    files: int
    threads: int
    state: int
    request: int


def take_sample(pid: int, state: Path, request: int) -> Sample:
    """Look at the process and its folder."""
    proc = Path("/proc") / str(pid)
    fields = (proc / "stat").read_text().rpartition(")")[2].split()
    status = (proc / "status").read_text()
    return Sample(
        cpu=(int(fields[11]) + int(fields[12])) / TICKS,
        memory=1024 * int(status.partition("VmRSS:")[2].split()[0]),
        files=len(list((proc / "fd").iterdir())),
        threads=int(status.partition("Threads:")[2].split()[0]),
        state=sum(each.stat().st_size for each in state.rglob("*") if each.is_file()),
        request=request,
    )


def show(name: str, turns: list[int], samples: dict[int, Sample]) -> None:
    """A line for each window of turns."""
    for last in turns:
        one, other = samples[last - WINDOW], samples[last]
        print(
            f"{name:24} {last - WINDOW:5}-{last:<5}"
            f"{1000 * (other.cpu - one.cpu) / WINDOW:9.1f} ms CPU"
            f"{(other.request - one.request) / WINDOW:9.0f} B more to send of {other.request / 1e6:5.2f} MB"
            f"{(other.state - one.state) / WINDOW / 1000:8.1f} kB on disk"
            f"{other.files:5} files{other.threads:4} threads{other.memory / 1e6:7.0f} MB",
            flush=True,
        )


@contextmanager
def prepared(model: Model) -> Iterator[tuple[Path, Path]]:
    """A home and a project, configured for the model, whose window holds the longest history."""
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder).resolve() / "home", Path(folder).resolve() / "project"
        (project / "src").mkdir(parents=True)
        for number in range(10):
            (project / "src" / f"module_{number}.py").write_text(LINE * 8)
        configure(
            home,
            '[models]\ndecision = "bench/m"\n[review]\nmode = "auto"\n'
            f'[providers.bench]\ntype = "{model.dialect}"\nbase_url = "{model.base_url}"\n'
            'api_key_env = "BENCH_KEY"\nmax_retries = 0\n[context_budget]\nwindow_tokens = 100_000_000\n',
        )
        yield home, project


def choose_windows(turns: int) -> list[int]:
    """The last turn of each window: early, in the middle, at the end."""
    whole = max(turns // WINDOW * WINDOW, 2 * WINDOW)
    return sorted({2 * WINDOW, max(whole // 2 // WINDOW * WINDOW, 2 * WINDOW), whole})


async def drive_session(dialect: Dialect, turns: int) -> dict[int, Sample]:
    """The samples of a session without a screen."""
    model, samples = Model(dialect), {}
    with prepared(model) as (home, project):
        async with LongLived(cwd=project, env=environment(home, BENCH_KEY="none")) as session:
            for turn in range(1, turns + 1):
                if (ended := await session.do(prompt=f"please look at number {turn}")) != "completed":
                    raise SystemExit(f"turn {turn} ended with {ended}: {session.errors}")
                if turn % WINDOW == 0:
                    samples[turn] = take_sample(session.pid, home / "state", model.sizes[-1])
            await session.close()
    return samples


def drive_app(dialect: Dialect, turns: int) -> dict[int, Sample]:
    """The samples of the app in a pseudo-terminal."""
    model, samples = Model(dialect), {}
    with prepared(model) as (home, project):
        terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "BENCH_KEY": "none"}
        app = App([str(QUORUM)], project, environment(home, **terminal))
        app.wait_for(b"bench/m")
        app.settle()
        for turn in range(1, turns + 1):
            app.forget()
            os.write(app.terminal, f"please look at number {turn}\r".encode())
            app.wait_for(answer(turn).encode())
            if turn % WINDOW == 0:
                app.settle(0.5)
                samples[turn] = take_sample(app.pid, home / "state", model.sizes[-1])
        app.end()
    return samples


def main() -> None:
    """Print the table."""
    words = sys.argv[1:]
    turns = max(int(words.pop(0)) if words and words[0].isdigit() else 1_000, 2 * WINDOW)
    for word in words or ["session:anthropic", "session:openai-chat", "app:openai-chat"]:
        front_end, _, given = word.partition(":")
        dialect = cast("Dialect", given or "openai-chat")
        if front_end not in ("session", "app") or dialect not in get_args(Dialect):
            raise SystemExit(f"neither session nor app, or no such API: {word}")
        if front_end == "app":
            samples = drive_app(dialect, turns)
        else:
            samples = asyncio.run(drive_session(dialect, turns))
        show(word, choose_windows(turns), samples)


if __name__ == "__main__":
    main()
