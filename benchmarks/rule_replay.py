"""What replaying permission rules costs: `.venv/bin/python benchmarks/rule_replay.py [CALLS] [DISTINCT]`.

Makes sessions of 200 calls in a ledger of its own until there are CALLS (100,000): four of ten read a file, two
edit one, four run a command, of which one in DISTINCT (2) was never there before. One in four was asked about.
Then `quorum permissions replay` is run over them, without a rule and with one.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from quorum.domain.calls.execution import Outcome, Seal, ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import RiskLevel, ToolCall
from quorum.domain.events.calls import PlannedLane
from quorum.domain.events.event import (
    BatchPlanned,
    CallFinished,
    CallStarted,
    Event,
    ReviewDecided,
    ReviewRequested,
)
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.session_summary import NewSession
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.store.ledger.opening import Database

_PER_SESSION = 200
_COMMANDS = (
    "pytest tests/test_{}.py -q",
    "git log -{} --oneline | head",
    "cd src && make target-{} 2>&1 | tail -20",
    "rg -n 'name_{}' src tests",
    "for f in a b; do echo $f {}; done",
)


def _make_call(number: int, distinct: int, chance: random.Random) -> tuple[str, JsonObject, RiskLevel]:
    kind = number % 10
    if kind < 4:
        return "read_file", {"path": f"src/module_{chance.randrange(2000)}.py"}, RiskLevel.LOW
    if kind < 6:
        path = f"src/module_{chance.randrange(500)}.py"
        return (
            "edit_file",
            {"path": path, "old_text": "a\n" * 20, "new_text": f"{number}\n" * 20},
            RiskLevel.HIGH,
        )
    which = number if number % distinct == 0 else chance.randrange(50)
    return "run_command", {"command": chance.choice(_COMMANDS).format(which)}, RiskLevel.HIGH


def _make_events(number: int, distinct: int, chance: random.Random, root: str) -> Iterator[Event]:
    tool, arguments, risk = _make_call(number, distinct, chance)
    context = ToolExecutionContext(
        call_id=f"c{number}", batch_id=f"b{number}", call_index=0, turn_index=number % _PER_SESSION
    )
    lane = PlannedLane(context=context, tool=tool, arguments=arguments, risk=risk, follows=())
    yield BatchPlanned(batch_id=context.batch_id, lanes=(lane,))
    decision = DecisionLabel.ALLOWED
    if risk is RiskLevel.HIGH and number % 4 == 0:
        decision = DecisionLabel.REJECTED if number % 20 == 8 else DecisionLabel.APPROVED
        call = ToolCall(tool_name=tool, arguments=arguments, native_id=context.call_id)
        packet = ReviewPacket(call=call, context=context, seal=Seal(cwd=root))
        yield ReviewRequested(
            context=context, packet=packet, digest=packet.digest, reasons=("the mode is ask",)
        )
        yield ReviewDecided(context=context, digest=packet.digest, decision=decision, reason=None)
    yield CallStarted(context=context, tool=tool, arguments=arguments)
    yield CallFinished(
        context=context,
        tool=tool,
        outcome=Outcome.OK,
        decision=decision,
        output=f"a line of output, {number}\n" * 40,
        duration_secs=0.1,
    )


async def _fill(database: Database, calls: int, distinct: int, root: str) -> None:
    chance = random.Random(1)
    for start in range(0, calls, _PER_SESSION):
        opened = await asyncio.to_thread(database.open_session, NewSession(), cwd=root)
        assert opened.ledger is not None
        events = [
            event
            for number in range(start, min(start + _PER_SESSION, calls))
            for event in _make_events(number, distinct, chance, root)
        ]
        await asyncio.gather(*(opened.ledger.append(event) for event in events))
        await opened.ledger.aclose()
        if sys.stderr.isatty():
            print(f"\r{start:,} calls made", end="", file=sys.stderr)


def _read_child_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(calls: int = 100_000, distinct: int = 2) -> None:
    """Make the sessions and replay the rules over them."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder)) / "work"
        state = Path(folder) / "state"
        root.mkdir()
        os.environ |= {"HOME": folder, "XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": f"{folder}/config"}
        quorum = Path(sys.executable).with_name("quorum")
        place = state / "quorum" / "ledger.sqlite"
        place.parent.mkdir(parents=True)
        database = Database(place)
        began = time.perf_counter()
        asyncio.run(_fill(database, calls, distinct, str(root)))
        database.close()
        print(
            f"{calls:,} calls made in {time.perf_counter() - began:.0f} s, {place.stat().st_size / 1e6:.0f} MB"
        )
        for more in ([], ["--rule", "run_command(pytest *)"]):
            began, used = time.perf_counter(), _read_child_cpu()
            run = subprocess.run(
                [quorum, "permissions", "replay", *more], cwd=root, capture_output=True, text=True, check=False
            )
            secs, cpu = time.perf_counter() - began, _read_child_cpu() - used
            print(f"{secs:.1f} s, {cpu:.1f} s of CPU: {' '.join(more) or 'the rules as they are'}")
            print(run.stdout, run.stderr)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
