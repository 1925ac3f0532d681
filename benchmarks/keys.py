"""What a key costs in the whole app: `.venv/bin/python benchmarks/keys.py [ENTRIES…]`.

Starts the installed `quorum` in a pseudo-terminal of 120×40, on sessions of 10, 1,000 and 10,000 entries of the
transcript and once while a server on the loopback interface streams 5,000 deltas, and types. Prints how long
each letter takes to be painted (median, 99th of 100), CPU, memory, and what an idle app costs. Next to them the
smallest Textual app with an input, in the same run.
"""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import threading
import time
from fcntl import ioctl
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.ledger import session_events
from benchmarks.start import SMALLEST
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.events.event import ResponseCompleted, SessionStarted, TurnFinished, TurnStarted
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import NewSession
from quorum.infrastructure.store.ledger.opening import open_database

BIN = Path(sys.executable).parent
KEYS, EVERY_SECS, IDLE_SECS = 200, 0.04, 10.0
DELTAS, PER_SEC = 5_000, 500
TICKS = os.sysconf("SC_CLK_TCK")
SECTION = (
    "## Heading\n\nSome **bold** text with `code`:\n\n- one\n- two\n\n"
    "```python\ndef f(x):\n    return x\n```\n\n"
)


class App:
    """A program in a pseudo-terminal."""

    def __init__(self, command: list[str], cwd: Path, environment: dict[str, str]) -> None:
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(command[0], command, environment)
        ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.painted = self._all = b""

    def read(self, secs: float) -> bytes:
        """What is painted within this time, up to the first piece of it."""
        if not select.select([self.terminal], [], [], secs)[0]:
            return b""
        piece = os.read(self.terminal, 1 << 16)
        if b"\x1b[?2026$p" in piece:
            os.write(self.terminal, b"\x1b[?2026;2$y")  # frames are marked, as most terminals have them
        self.painted += piece
        self._all += piece
        return piece

    def settle(self, quiet_secs: float = 1.5) -> None:
        """Read until nothing was painted for so long, or for four times that: a cursor may blink."""
        end = time.monotonic() + 4 * quiet_secs
        while self.read(quiet_secs) and time.monotonic() < end:
            pass

    def wait_for(self, text: bytes, secs: float = 180) -> None:
        """Read until this was painted at any time."""
        end = time.monotonic() + secs
        while text not in self._all:
            self.read(0.2)
            if time.monotonic() > end:
                raise SystemExit(f"{text!r} was never painted")

    def forget(self) -> None:
        """Forget what was painted so far."""
        self.painted = self._all = b""

    def submit(self, prompt: str) -> None:
        """Type a prompt and send it. Letters and Enter that come at once would be taken for pasted text."""
        self.painted = b""
        os.write(self.terminal, prompt.encode())
        while prompt.encode()[-1:] not in self.painted:
            self.read(0.05)
        self.settle(0.2)
        os.write(self.terminal, b"\r")

    def press(self, key: str) -> float:
        """Milliseconds from a key to its letter on the screen."""
        self.painted = b""
        began = time.perf_counter()
        os.write(self.terminal, key.encode())
        while key.encode() not in self.painted:
            if not self.read(10):
                raise SystemExit(f"{key} was never painted")
        return 1000 * (time.perf_counter() - began)

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self) -> int:
        """Resident megabytes."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) // 1000

    def end(self) -> None:
        """Kill it."""
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def typed(app: App, keys: int = KEYS) -> list[float]:
    """The cost of each key. A letter is never the one before, so that each is painted."""
    costs = []
    for number in range(keys):
        costs.append(app.press("жщфю"[number % 4]))
        if number % 40 == 39:
            os.write(app.terminal, b"\x15")  # begins the line anew
            app.settle(0.1)
        time.sleep(EVERY_SECS)
    return costs


def tell(name: str, costs: list[float], *figures: str) -> None:
    """One line of the table."""
    ordered = sorted(costs)
    p99 = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    print(f"{name:34} {statistics.median(costs):6.1f} {p99:8.1f}   {' · '.join(figures)}", flush=True)


def environment_in(home: Path) -> dict[str, str]:
    """Nothing of the person's own."""
    base = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    return {**base, "TERM": "xterm-256color", "COLORTERM": "truecolor", "BENCH_KEY": "none"}


async def fill(home: Path, cwd: Path, entries: int) -> None:
    """A recorded session that fills the transcript with at least so many entries."""
    database = open_database("", environment_in(home))
    opened = database.open_session(NewSession(), cwd=str(cwd))
    assert opened.ledger is not None
    shown = 0
    pending = []
    for event in session_events():
        if isinstance(event, SessionStarted):
            event = SessionStarted(
                session_id=opened.session_id, model="offline/offline", mode=Mode.ASK, cwd=str(cwd)
            )
        shown += isinstance(event, TurnStarted) + 2 * isinstance(event, ResponseCompleted)
        if isinstance(event, TurnStarted) and shown > entries:
            break
        pending.append(opened.ledger.append(event))
        if len(pending) > 200:
            await asyncio.gather(*pending)
            pending.clear()
    report = RunReport(
        session_id=opened.session_id, status=RunStatus.COMPLETED, stop_reason=None, text="", turns=1
    )
    last = ResponseCompleted(turn_index=0, response=LlmResponse.from_text("the very end"))
    for event in (last, TurnFinished(report=report)):
        pending.append(opened.ledger.append(event))
    await asyncio.gather(*pending)
    await opened.ledger.aclose()
    await asyncio.to_thread(database.close)


def beside_entries(entries: int) -> None:
    """Keys in a session of so many entries."""
    with tempfile.TemporaryDirectory() as folder:
        home, cwd = Path(folder).resolve() / "home", Path(folder).resolve() / "work"
        config = home / ".config" / "quorum"
        config.mkdir(parents=True)
        (config / "quorum.toml").write_text('[review]\nmode = "ask"\n')  # else the first start asks for one
        cwd.mkdir()
        asyncio.run(fill(home, cwd, entries))
        began = time.perf_counter()
        app = App([str(BIN / "quorum"), "--continue"], cwd, environment_in(home))
        app.wait_for(b"the very end")
        opened = time.perf_counter() - began
        app.settle()
        cpu = app.cpu()
        costs = typed(app)
        spent = 1000 * (app.cpu() - cpu) / KEYS
        app.settle()
        cpu = app.cpu()
        time.sleep(IDLE_SECS)
        idle = 1000 * (app.cpu() - cpu) / IDLE_SECS
        figures = f"shown after {opened:.2f} s", f"{spent:.1f} ms CPU a key", f"{app.memory()} MB"
        tell(f"beside {entries:,} entries", costs, *figures, f"idle {idle:.1f} ms/s")
        app.end()


class Server:
    """A chat model on the loopback interface that streams Markdown at a steady pace, or as fast as it goes."""

    def __init__(self, per_sec: float | None) -> None:
        self._per_sec = per_sec
        self.port = 0
        self._ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        self._ready.wait()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await asyncio.Event().wait()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"POST"):  # what the server is asked about itself and its models
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            writer.close()
            return
        length = int(head.lower().partition(b"content-length:")[2].split()[0])
        await reader.readexactly(length)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        text = SECTION * (DELTAS * 6 // len(SECTION) + 1)
        began = time.monotonic()
        for number in range(DELTAS):
            self._write(writer, {"content": text[number * 6 : number * 6 + 6]}, None)
            if self._per_sec is not None:
                await asyncio.sleep(max(0.0, began + number / self._per_sec - time.monotonic()))
            elif number % 100 == 0:
                await writer.drain()
        self._write(writer, {"content": "\n\nTHE END"}, None)
        self._write(writer, {}, "stop")
        writer.write(b"data: [DONE]\n\n")
        await writer.drain()
        writer.close()

    @staticmethod
    def _write(writer: asyncio.StreamWriter, delta: dict[str, str], stop: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": stop}
        chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        writer.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")


def while_streaming(per_sec: float | None) -> None:
    """Keys while an answer arrives; the CPU of the answer."""
    server = Server(per_sec)
    with tempfile.TemporaryDirectory() as folder:
        home, cwd = Path(folder) / "home", Path(folder) / "work"
        config = home / ".config" / "quorum"
        config.mkdir(parents=True)
        cwd.mkdir()
        (config / "quorum.toml").write_text(
            f'[review]\nmode = "ask"\n[models]\ndecision = "bench/m"\n[providers.bench]\ntype = "openai-chat"\n'
            f'base_url = "http://127.0.0.1:{server.port}/v1"\napi_key_env = "BENCH_KEY"\n'
        )
        app = App([str(BIN / "quorum")], cwd, environment_in(home))
        app.wait_for(b"bench/m")
        app.settle()
        cpu, began = app.cpu(), time.perf_counter()
        os.write(app.terminal, b"go\r")
        costs = []
        if per_sec is not None:
            app.wait_for(b"Heading")
            costs = typed(app, int(DELTAS / per_sec / (EVERY_SECS + 0.02) * 0.8))
        app.wait_for(b"END")
        wall = time.perf_counter() - began
        app.settle()
        name = f"{DELTAS:,} deltas, {per_sec:.0f}/s" if per_sec else f"{DELTAS:,} deltas, at once"
        figures = f"{app.cpu() - cpu:.2f} s CPU", f"{wall:.2f} s", f"{app.memory()} MB"
        tell(name, costs or [float("nan")], *figures)
        app.end()


def smallest() -> None:
    """The floor: keys in the smallest Textual app with an input."""
    with tempfile.TemporaryDirectory() as folder:
        app = App([sys.executable, "-c", SMALLEST], Path(folder), environment_in(Path(folder)))
        app.settle()
        tell("smallest Textual app", typed(app), f"{app.memory()} MB")
        app.end()


def main() -> None:
    """Print the table."""
    print(f"{'ms from key to screen':34} {'median':>6} {'p99':>8}")
    smallest()
    for entries in [int(word) for word in sys.argv[1:]] or [10, 1_000, 10_000]:
        beside_entries(entries)
    while_streaming(PER_SEC)
    while_streaming(None)


if __name__ == "__main__":
    main()
