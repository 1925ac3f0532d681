"""What the record of a session costs: `.venv/bin/python benchmarks/ledger.py [EVENTS]`.

First what an event costs on its way through the event stream: bare, with the mask, with the ledger, and with
both; small ones one after the other, 20 at once as the calls of a batch bring them, and one with an output of
20 kB. Then a session of EVENTS events (10,000) beside an empty one, each looked at in a process of its own:
listing, reading, taking it up, and the memory that takes; and `quorum sessions list` as a whole.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from quorum.application.event_bus import EventBus
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.conversation.response import TOOL_USE, LlmResponse, TextBlock, ToolUseBlock
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    Event,
    MessageAdded,
    ResponseCompleted,
    SessionStarted,
    TurnStarted,
)
from quorum.domain.events.masking import SecretMask
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.secrets.known import NamedSecret
from quorum.domain.sessions.session_summary import NamedSession, NewSession
from quorum.infrastructure.store.ledger.opening import Database

RUNS = 5
ROUNDS = 300
AT_ONCE = 20
LINE = "    return [each for each in found if each.name != name]  # as tools read it\n"


def call_events(number: int, output: str) -> tuple[CallStarted, CallFinished]:
    context = ToolExecutionContext(
        call_id=f"call-{number}", batch_id=f"batch-{number}", call_index=0, turn_index=number
    )
    return (
        CallStarted(context=context, tool="read_file", arguments={"path": "src/module.py"}),
        CallFinished(
            context=context,
            tool="read_file",
            outcome=Outcome.OK,
            decision=DecisionLabel.ALLOWED,
            output=output,
            duration_secs=0.01,
        ),
    )


def session_events() -> Iterator[Event]:
    """An endless session of turns with ten calls each, of which every fourth output is long."""
    yield SessionStarted(session_id="s", model="fake/model", mode=Mode.ASK, cwd="/ws")
    number = 0
    while True:
        yield TurnStarted(prompt=f"please look at {number}")
        yield MessageAdded(message=UserMessage(f"please look at {number}"))
        for _ in range(10):
            number += 1
            call = ToolUseBlock(id=f"call-{number}", name="read_file", input={"path": "src/module.py"})
            content = (TextBlock("Let me look at this file first. " * 4), call)
            yield ResponseCompleted(
                turn_index=number,
                response=LlmResponse(content=content, stop_reason=TOOL_USE, model="fake/model"),
            )
            output = LINE * (50 if number % 4 == 0 else 8)
            yield from call_events(number, output)
            result = ToolResultMessage(tool_use_id=f"call-{number}", tool_name="read_file", output=output)
            yield MessageAdded(message=ToolResults((result,)))
        yield ResponseCompleted(
            turn_index=number, response=LlmResponse.from_text("That is all there is. " * 20)
        )


def a_mask() -> SecretMask:
    mask = SecretMask()
    mask.learn_all(NamedSecret(f"NAME_{n}", f"value-of-{n}-{n * 7919:012x}") for n in range(20))
    return mask


# ---------------------------------------------------------------- one event


async def event_costs(folder: Path) -> None:
    print(f"{'µs per event: CPU (wall)':26}{'one by one':>22}{f'{AT_ONCE} at once':>22}{'20 kB of output':>22}")
    database = await asyncio.to_thread(Database, folder / "events.sqlite")
    session = await asyncio.to_thread(database.open_session, NewSession(), cwd="/ws")
    assert session.ledger is not None
    first: float | None = None
    for name, ledger, mask in (
        ("bare", None, None),
        ("with the mask", None, a_mask()),
        ("with the ledger", session.ledger, None),
        ("with both", session.ledger, a_mask()),
    ):
        events = EventBus((), ledger=ledger, mask=mask)
        small, large = call_events(0, LINE * 8), call_events(0, LINE * 250)
        costs = [
            await _cost(events, small, 1),
            await _cost(events, small, AT_ONCE),
            await _cost(events, large[1:], 1),
        ]
        first = first or costs[0][0]
        figures = "".join(f"{cpu:>12.0f} ({wall:>5.0f})  " for cpu, wall in costs)
        print(f"{name:26}{figures}× {costs[0][0] / first:.1f}")
    await session.ledger.aclose()
    await asyncio.to_thread(database.close)


async def _cost(events: EventBus, some: tuple[Event, ...], at_once: int) -> tuple[float, float]:
    """Median microseconds per event, of CPU and by the clock."""
    taken: list[tuple[float, float]] = []
    for _ in range(RUNS):
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        done = 0
        while done < ROUNDS:
            for event in some:
                if at_once == 1:
                    await events.record(event)
                else:
                    await asyncio.gather(*(events.record(event) for _ in range(at_once)))
                done += at_once
        taken.append(((time.process_time() - cpu) / done * 1e6, (time.perf_counter() - wall) / done * 1e6))
    return statistics.median(cpu for cpu, _ in taken), statistics.median(wall for _, wall in taken)


# ---------------------------------------------------------------- a long session


async def written(file: Path, events: int) -> str:
    """Write a session of so many events; its id."""
    database = await asyncio.to_thread(Database, file)
    session = await asyncio.to_thread(database.open_session, NewSession(), cwd="/ws")
    assert session.ledger is not None
    for event in islice(session_events(), events):
        await session.ledger.append(event)
    await session.ledger.aclose()
    await asyncio.to_thread(database.close)
    return session.session_id


def look(file: Path, session_id: str) -> None:
    """Look at a session in every way, and print what each took."""
    figures: dict[str, float] = {}
    database = Database(file)
    before = _megabytes()
    began = time.process_time()

    def lap(name: str) -> None:
        nonlocal began
        figures[name] = (time.process_time() - began) * 1e3
        began = time.process_time()

    database.archive.list_blocking()
    lap("list")
    opened = database.open_session(NamedSession(session_id), cwd="/ws")
    lap("open")
    events = EventBus((), ledger=opened.ledger, past=opened.records)
    assert events.state.session_id
    lap("replay")
    figures["memory"] = _megabytes() - before
    assert opened.ledger is not None
    asyncio.run(opened.ledger.aclose())
    began = time.process_time()
    asyncio.run(database.archive.read(session_id))
    lap("read")
    asyncio.run(database.archive.verify(session_id))
    lap("verify")
    database.close()
    print(json.dumps(figures))


def _megabytes() -> float:
    """The most memory this process has held so far."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1e6 if sys.platform == "darwin" else most / 1024


def long_session(folder: Path, events: int) -> None:
    names = {"empty": 2, f"of {events:,} events": events}
    columns = ("list", "open", "replay", "read", "verify")
    print(f"\n{'a session, ms of CPU':22}{''.join(f'{name:>8}' for name in columns)}{'memory':>12}")
    for place, (name, count) in enumerate(names.items()):
        file = folder / f"session {place}.sqlite"
        session_id = asyncio.run(written(file, count))
        command = [sys.executable, __file__, "--look", str(file), session_id]
        runs = [
            json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout) for _ in range(RUNS)
        ]
        figures = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        taken = "".join(f"{figures[column]:>8.1f}" for column in columns)
        print(f"{name:22}{taken}{figures['memory']:>+9.1f} MB")
        _print_command(file, folder)


def _print_command(file: Path, folder: Path) -> None:
    command = [str(Path(sys.executable).parent / "quorum"), "sessions", "list", "--all"]
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "QUORUM_STORAGE__URL": json.dumps(f"sqlite:///{file}"),
    }
    bare = _run_ms([sys.executable, "-c", "pass"], environ, folder)
    whole = _run_ms(command, environ, folder)
    print(f"  quorum sessions list: {whole:.0f} ms of CPU, × {whole / bare:.1f} of an interpreter alone")


def _run_ms(command: list[str], environ: dict[str, str], folder: Path) -> float:
    taken = []
    for _ in range(RUNS + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, env=environ, cwd=folder, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3)
    return statistics.median(taken[1:])


def main() -> None:
    if sys.argv[1:2] == ["--look"]:
        look(Path(sys.argv[2]), sys.argv[3])
        return
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(event_costs(Path(folder)))
        long_session(Path(folder), int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)


if __name__ == "__main__":
    main()
