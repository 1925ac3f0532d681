"""One and several models that stream side by side: `.venv/bin/python benchmarks/participants.py [COUNTS…]`.

Starts the whole app in a terminal of 120×40, opens a discussion with so many participants, all of them served
by one process on loopback, and prints the app's CPU while they write, its peak memory, and the time until the
last one has ended. Every participant writes the same Markdown for eight seconds, 50 pieces a second.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.headless_run import configure
from tests.support.terminal import Terminal

_SECS = 8.0
_PER_SECOND = 50
_REPETITIONS = 3
_TICKS = os.sysconf("SC_CLK_TCK")
_TEXT = "## Heading\n\nSome **bold** text with `code` and words, words, words.\n\n- one\n- two\n\n"
_LAST = "THE-LAST-PIECE"


@dataclass(frozen=True)
class Figures:
    """Of one discussion: seconds of CPU and of waiting, and megabytes at the peak."""

    cpu_secs: float
    wall_secs: float
    peak_mb: float


def serve(ready: Connection) -> None:
    """A process that answers every request for a text in small pieces, and refuses those with tools."""
    asyncio.run(_serve(ready))


async def _serve(ready: Connection) -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    ready.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.partition("content-length:")[2].split("\r\n")[0])
    body = json.loads(await reader.readexactly(length))
    if body.get("tools"):
        writer.write(b"HTTP/1.1 400 no\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
    else:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        await _write_pieces(writer)
    await writer.drain()
    writer.close()


async def _write_pieces(writer: asyncio.StreamWriter) -> None:
    clock = asyncio.get_running_loop().time
    began, count = clock(), int(_SECS * _PER_SECOND)
    for number in range(count):
        start = number * 12 % len(_TEXT)
        writer.write(_chunk({"content": (_TEXT + _TEXT)[start : start + 12]}))
        await asyncio.sleep(max(0.0, began + (number + 1) / _PER_SECOND - clock()))
    writer.write(_chunk({"content": _LAST}) + _chunk({}, stop="stop") + b"data: [DONE]\n\n")


def _chunk(delta: dict[str, str], stop: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": stop}
    return b"data: " + json.dumps({"id": "c", "model": "m", "choices": [choice]}).encode() + b"\n\n"


def discuss(port: int, participants: int) -> Figures:
    """One discussion in an app of its own."""
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder) / "home", Path(folder) / "project"
        home.mkdir()
        project.mkdir()
        models = [f"p/{chr(ord('a') + number)}" for number in range(participants)]
        configure(
            home,
            '[models]\ndecision = "p/decision"\nmoderator = "p/moderator"\n'
            f"participants = {json.dumps(models)}\n"
            f'[providers.p]\ntype = "openai-chat"\nbase_url = "http://127.0.0.1:{port}/v1"\nmax_retries = 0\n',
        )
        with Terminal(project, home, rows=40, columns=120, arguments=[]) as terminal:
            terminal.wait_for("p/decision")
            pid = terminal.process.pid
            assert pid is not None
            cpu, began = _read_cpu(pid), time.perf_counter()
            terminal.submit("/discuss which one?")
            terminal.wait_for("gave no synthesis", timeout=60)
            return Figures(_read_cpu(pid) - cpu, time.perf_counter() - began, _read_peak(pid))


def _read_cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _read_peak(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def main(counts: Sequence[int]) -> None:
    mine, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    port = mine.recv()
    figures: dict[int, list[Figures]] = {count: [] for count in counts}
    for _ in range(_REPETITIONS):
        for count in counts:
            figures[count].append(discuss(port, count))
    server.terminate()
    first = figures[counts[0]]
    base = statistics.median(each.cpu_secs for each in first)
    for count, of_count in figures.items():
        cpu = statistics.median(each.cpu_secs for each in of_count)
        wall = statistics.median(each.wall_secs for each in of_count)
        peak = statistics.median(each.peak_mb for each in of_count)
        print(f"{count:3} participants: CPU {cpu:5.2f} s ({cpu / base:4.2f}), {wall:5.2f} s, {peak:5.0f} MB")


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [1, 2, 8])
