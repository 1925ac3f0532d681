"""What the tool runtime costs: `.venv/bin/python benchmarks/runtime.py [RUNS]`.

Batches of calls that do nothing, through the whole runtime (validation, hooks, plan, records, events, outputs)
beside the same coroutines awaited bare: those that only look beside one `asyncio.gather`, those that change one
file beside a loop. Medians of RUNS, of 3 at 1000 calls; the ratio counts. Before that, a real `run_command`
that prints 1 GB: how much memory that takes.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import BatchResult, ToolBatch, ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.application.identifiers import generate_id
from quorum.application.ports.people import Observer, PersonAnswer, Question
from quorum.application.ports.tools import Tool
from quorum.application.review.ballot_paper import QuorumPolicy
from quorum.application.review.review import Review
from quorum.application.review.rule_book import RuleBook
from quorum.application.review.voting import Voting
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.planners import plan_serializable
from quorum.domain.calls.tool import RiskLevel, ToolCall, ToolDefinition, ToolParameter
from quorum.domain.events.event import Event
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.tools.builtin.run_command import RunCommand
from quorum.infrastructure.tools.json_schema import JsonSchema

SIZES = (1, 10, 100, 1000)
GIGABYTE = 1_000_000_000
PRINT = "import os; block = (b'x' * 99 + b'\\n') * 10000\nfor _ in range(1000): os.write(1, block)"


class Recorder:
    """Keeps every event, as the app does."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(self, event: Event) -> None:
        self.events.append(event)


class Counter:
    """Counts events and keeps none, so that the memory measured is the runtime's own."""

    def __init__(self) -> None:
        self.events = 0

    def notify(self, event: Event) -> None:
        self.events += 1


class SilentApprover:
    """Answers no question, although it is there."""

    is_there = True

    async def ask(self, question: Question) -> PersonAnswer:
        return None


class NoOp:
    """Does nothing, after one turn of the event loop."""

    def __init__(self, name: str, access: Access) -> None:
        self.definition = ToolDefinition(
            name=name,
            description="",
            parameters=(ToolParameter(name="path", type="path", description="", required=True),),
            risk=RiskLevel.LOW,
            access=lambda _: access,
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        await asyncio.sleep(0)
        return "ok"


def runtime(tool: Tool, observer: Observer, cwd: str) -> ToolRuntime:
    events = EventBus([observer])
    paths = PathPolicy(roots=(cwd,))
    return ToolRuntime(
        tools=ToolSet({tool.definition.name: tool}, JsonSchema()),
        schema=JsonSchema(),
        review=Review(
            person=SilentApprover(),
            paths=paths,
            mode=Mode.AUTO,
            events=events,
            rules=RuleBook(),
            voting=Voting(gateway=ProviderRegistry({}), policy=QuorumPolicy(), events=events),
        ),
        events=events,
        planner=plan_serializable,
        hooks=HookChain((), events),
        outputs=Outputs(None, OutputLimits()),
        cwd=cwd,
    )


def batch(tool: str, calls: int, arguments: JsonObject) -> ToolBatch:
    batch_id = generate_id()
    return ToolBatch(
        id=batch_id,
        calls=tuple(
            (
                ToolExecutionContext(call_id=f"c{n}", batch_id=batch_id, call_index=n, turn_index=0),
                ToolCall(tool_name=tool, arguments=arguments, native_id=f"c{n}"),
            )
            for n in range(calls)
        ),
    )


async def median_secs(runs: int, work: Callable[[], Awaitable[object]]) -> float:
    taken = []
    for _ in range(runs + 1):
        gc.collect()
        started = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])


async def overhead(runs: int) -> None:
    print(f"{'batch':22}{'calls':>7}{'bare':>11}{'runtime':>12}{'per call':>12}{'ratio':>9}")
    for kind, access in (
        ("that look (together)", Access.of(reads=["/ws/a"])),
        ("that change one file", Access.of(writes=["/ws/a"])),
    ):
        tool = NoOp("noop", access)
        for calls in SIZES:
            bodies = batch("noop", calls, {"path": "a"}).calls

            async def together(
                tool: NoOp = tool, bodies: tuple[tuple[ToolExecutionContext, ToolCall], ...] = bodies
            ) -> None:
                await asyncio.gather(*(tool.execute(call.arguments, context) for context, call in bodies))

            async def in_turn(
                tool: NoOp = tool, bodies: tuple[tuple[ToolExecutionContext, ToolCall], ...] = bodies
            ) -> None:
                for context, call in bodies:
                    await tool.execute(call.arguments, context)

            measured = runtime(tool, Recorder(), "/ws")

            async def whole(measured: ToolRuntime = measured, calls: int = calls) -> BatchResult:
                return await measured.run(batch("noop", calls, {"path": "a"}))

            times = min(runs, 3) if calls >= 1000 else runs
            bare = await median_secs(times, together if access.is_concurrency_safe else in_turn)
            ours = await median_secs(times, whole)
            print(
                f"{kind:22}{calls:>7}{bare * 1e6:>8.0f} µs{ours * 1e6:>9.0f} µs"
                f"{(ours - bare) / calls * 1e6:>9.1f} µs{ours / bare:>9.1f}"
            )


def peak_megabytes() -> float:
    """The most memory this process has held so far."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1e6 if sys.platform == "darwin" else most / 1024


async def printed_gigabyte() -> None:
    with tempfile.TemporaryDirectory() as folder:
        counter = Counter()
        command = RunCommand(root=Path(folder), resolve_directory=Path)
        measured = runtime(command, counter, folder)
        await measured.run(batch("run_command", 1, {"command": "true"}))
        script = Path(folder) / "print.py"
        script.write_text(PRINT, encoding="utf-8")
        before, counter.events = peak_megabytes(), 0
        started = time.perf_counter()
        result = await measured.run(
            batch("run_command", 1, {"command": f"{sys.executable} print.py", "timeout_secs": 600})
        )
        secs, grown = time.perf_counter() - started, peak_megabytes() - before
        print(
            f"run_command printing {GIGABYTE / 1e9:.0f} GB: {secs:.1f} s, {counter.events} events, "
            f"memory {before:.0f} MB + {grown:.1f} MB; kept {len(result.results[0].output)} characters "
            f"({result.records[0].outcome.value})"
        )


async def measure(runs: int) -> None:
    await printed_gigabyte()  # first: the peak of what follows would hide it
    print()
    await overhead(runs)


if __name__ == "__main__":
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 9))
