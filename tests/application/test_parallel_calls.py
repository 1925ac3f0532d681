"""Three slow reads and one write: what overlaps is decided by the plan, shown without a clock."""

from __future__ import annotations

import asyncio

from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.text.json_value import JsonObject
from tests.application.test_tool_runtime import Bench, outcomes
from tests.support.fake_ports import FakeTool


async def test_three_slow_reads_and_a_write_take_the_time_of_the_slowest_chain() -> None:
    """Every call takes one tick; the read that follows the write makes a chain of two ticks, and no more."""
    ticks = 0
    waiting: list[asyncio.Future[None]] = []

    async def one_tick(arguments: JsonObject, context: ToolExecutionContext) -> str:
        tick: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(tick)
        await tick
        return str(context.call_index)

    slow = FakeTool("read", one_tick, access=lambda a: Access.of(reads=[f"/ws/{a['cell']}"]))
    write = FakeTool("write", one_tick, access=lambda a: Access.of(writes=[f"/ws/{a['cell']}"]))
    bench = Bench(slow, write)
    task = asyncio.create_task(
        bench.run(
            ("read", {"cell": "a"}),
            ("read", {"cell": "b"}),
            ("write", {"cell": "c"}),
            ("read", {"cell": "c"}),
        )
    )
    async with asyncio.timeout(60):
        while not task.done():
            for _ in range(20):  # let everything that can run come to its next wait
                await asyncio.sleep(0)
            if waiting:
                ticks += 1
            for tick in waiting:
                tick.set_result(None)
            waiting.clear()

    result = task.result()
    assert outcomes(result) == [Outcome.OK] * 4
    assert [r.tool_use_id for r in result.results] == ["call-0", "call-1", "call-2", "call-3"]
    assert ticks == 2  # one by one it would be four
