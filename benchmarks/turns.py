"""The gap between two turns: `.venv/bin/python benchmarks/turns.py [RUNS] [QUORUM…]`.

A server on the loopback interface asks for one file, or for ten at once, in each of 40 turns; measured is the
time from the end of its answer to the next request, with all that lies between: the calls, the ledger, the
history sent again, and in the app the drawing. Milliseconds of `quorum run` and of the app in a terminal of
120×40: the first gap, the median and 95th of 100 of the others, and the CPU of a turn. Above them the floor: a
loop around the bare SDK that reads the same files without review, record or time limits. Several programs are
measured in turn, for a comparison. Half a minute a run.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.chat_server import END, MODEL, ChatServer, make_workspace
from benchmarks.keys import App, environment_in
from benchmarks.one_shot import cpu_of_children

TURNS = 40
SDK_LOOP = """
import asyncio, json, sys
from pathlib import Path
from openai import AsyncOpenAI

async def main(base_url, prompt):
    client = AsyncOpenAI(base_url=base_url, api_key="x")
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    tool = {"type": "function", "function": {"name": "read_file", "parameters": parameters}}
    messages = [{"role": "user", "content": prompt}]
    while True:
        text, calls = "", {}
        stream = await client.chat.completions.create(model="m", messages=messages, tools=[tool], stream=True)
        async for chunk in stream:
            delta = chunk.choices[0].delta
            text += delta.content or ""
            for call in delta.tool_calls or ():
                calls[call.index] = {"id": call.id, "type": "function", "function": call.function.model_dump()}
        if not calls:
            print(text)
            return
        messages.append({"role": "assistant", "tool_calls": list(calls.values())})
        for call in calls.values():
            path = json.loads(call["function"]["arguments"])["path"]
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": Path(path).read_text()})

asyncio.run(main(sys.argv[1], sys.argv[2]))
"""
HEAD = f"{'ms':34}{'first':>8}{'median':>8}{'p95':>8}{'CPU':>8}"


def measure_task(
    server: ChatServer, command: Sequence[str], task: str, home: Path, cwd: Path, most: int = TURNS
) -> tuple[list[float], float]:
    """The gaps of one run of a task in so many turns, and the seconds of CPU of each turn after the
    first, which loads what calls need."""
    server.gaps()
    spent = []
    for turns in (1, most):
        before = cpu_of_children()
        done = subprocess.run(
            [*command, f"{task} {turns}"], cwd=cwd, env=environment_in(home), capture_output=True, text=True
        )
        if f"{END}{turns}" not in done.stdout:
            raise SystemExit(done.stdout + done.stderr)
        spent.append(cpu_of_children() - before)
        if turns == 1:
            server.gaps()
    return server.gaps(), (spent[1] - spent[0]) / (most - 1)


def measure_run(
    server: ChatServer, program: str, calls: int, home: Path, cwd: Path
) -> tuple[list[float], float]:
    """The same of `quorum run` that reads so many files in each turn."""
    return measure_task(server, [program, "run"], f"reads {calls}", home, cwd)


def measure_sdk(
    server: ChatServer, program: str, calls: int, home: Path, cwd: Path
) -> tuple[list[float], float]:
    """The same of a loop around the SDK, with the interpreter that a program runs with."""
    command = [str(Path(program).parent / "python"), "-c", SDK_LOOP, server.base_url]
    return measure_task(server, command, f"reads {calls}", home, cwd)


def measure_app(
    server: ChatServer, program: str, calls: int, home: Path, cwd: Path
) -> tuple[list[float], float]:
    """The gaps of two prompts in the app, and the seconds of CPU of each turn of the second."""
    app = App([program], cwd, environment_in(home))
    app.wait_for(MODEL.encode())
    app.settle()
    server.gaps()
    app.submit(f"reads {calls} 1")
    app.wait_for(f"{END}1".encode())
    app.settle()
    cpu = app.cpu()
    app.submit(f"reads {calls} {TURNS}")
    app.wait_for(f"{END}{TURNS}".encode())
    spent = (app.cpu() - cpu) / TURNS
    app.end()
    return server.gaps(), spent


def tell(name: str, gaps: list[list[float]], cpu_secs: list[float]) -> None:
    """One line of the table."""
    later = sorted(gap for run in gaps for gap in run[1:])
    first, p95 = statistics.median(run[0] for run in gaps), later[len(later) * 95 // 100]
    cpu = 1000 * statistics.median(cpu_secs)
    print(f"{name:34}{first:8.1f}{statistics.median(later):8.1f}{p95:8.1f}{cpu:8.1f}", flush=True)


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    programs = sys.argv[2:] or [str(Path(sys.executable).parent / "quorum")]
    server = ChatServer()
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder:
        home, cwd = Path(folder).resolve() / "home", Path(folder).resolve() / "work"
        home.mkdir()
        make_workspace(cwd)
        server.configure(home)
        for measure, front_end in ((measure_sdk, "SDK"), (measure_run, "quorum run"), (measure_app, "app")):
            for calls in (1, 10):
                taken: dict[str, list[tuple[list[float], float]]] = {program: [] for program in programs}
                for _ in range(runs):
                    for program in programs:
                        taken[program].append(measure(server, program, calls, home, cwd))
                for number, (_, results) in enumerate(taken.items(), 1):
                    name = f"{front_end}, {calls} file{'s' if calls > 1 else ''} a turn"
                    name += f" ({number})" if len(programs) > 1 else ""
                    tell(name, [gaps for gaps, _ in results], [secs for _, secs in results])


if __name__ == "__main__":
    main()
