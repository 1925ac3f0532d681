"""From launch to the first request in the app: `.venv/bin/python benchmarks/first_request.py [RUNS] [QUORUM…]`.

Types a prompt as soon as a letter is echoed, presses Enter 0.15 seconds later, and takes the time until a
server on the loopback interface has the request, less that wait. Next to it the floor: the smallest Textual
app, which imports `openai` in a thread once it was painted and posts what is typed, without settings,
tools, instructions or record. Prints medians in milliseconds, and the smallest. Several programs are run in
turn, for a comparison. Ten seconds a run.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.chat_server import ChatServer, make_workspace
from benchmarks.keys import App, environment_in

SMALLEST_CLIENT = """
import asyncio, sys
from textual.app import App
from textual.widgets import Input

def load():
    import openai
    return openai.AsyncOpenAI(base_url=sys.argv[1], api_key="x")

class SmallestClient(App):
    def compose(self):
        yield Input()
    def on_mount(self):
        self.call_after_refresh(self.begin)
    def begin(self):
        self.loading = asyncio.create_task(asyncio.to_thread(load))
    async def on_input_submitted(self, event):
        client = await self.loading
        messages = [{"role": "user", "content": event.value}]
        await client.chat.completions.create(model="m", messages=messages, stream=True)

SmallestClient().run()
"""
PROBE = "ж".encode()
ENTER_SECS = 0.15


def measure(server: ChatServer, command: list[str], home: Path, cwd: Path) -> tuple[float, float]:
    """Seconds from launch to the first echo, and to the request without the wait before Enter."""
    server.times = []
    began = time.perf_counter()
    app = App(command, cwd, environment_in(home))
    typed_at = 0.0
    while PROBE not in app.painted:
        app.read(0.005)
        if app.painted and time.perf_counter() - typed_at > 0.04:
            os.write(app.terminal, PROBE)
            typed_at = time.perf_counter()
    echoed = time.perf_counter() - began
    os.write(app.terminal, b"hello")
    enter_at = time.perf_counter() + ENTER_SECS
    while time.perf_counter() < enter_at:
        app.read(0.005)
    os.write(app.terminal, b"\r")
    while not server.times:
        app.read(0.05)
        if time.perf_counter() - began > 60:
            raise SystemExit(f"{command[0]} sent no request")
    app.end()
    return echoed, server.times[0][0] - began - ENTER_SECS


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    programs = sys.argv[2:] or [str(Path(sys.executable).parent / "quorum")]
    server = ChatServer()
    client = [sys.executable, "-c", SMALLEST_CLIENT, server.base_url]
    commands = {"smallest app with openai": client, **{program: [program] for program in programs}}
    with tempfile.TemporaryDirectory() as folder:
        home, cwd = Path(folder).resolve() / "home", Path(folder).resolve() / "work"
        home.mkdir()
        make_workspace(cwd)
        server.configure(home)
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(runs + 1):
            for name, command in commands.items():
                taken[name].append(measure(server, command, home, cwd))
    print(f"{'ms':52}{'accepts typing':>18}{'first request':>18}")
    for name, figures in taken.items():
        line = f"{name[-50:]:52}"
        for each in zip(*figures[1:], strict=True):
            cell = f"{1000 * statistics.median(each):.0f} ({1000 * min(each):.0f})"
            line += f"{cell:>18}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
