"""`sessions export --format canonical`: the same for the same, however long each call took; else different."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.events.event import CallFinished
from quorum.domain.sessions.canonical import render_canonical
from quorum.domain.sessions.session_summary import NewSession
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import ToolOutput
from quorum.infrastructure.container import Container
from tests.support.real_session import SessionStage, call, shell

RUNS = 20
Execute = Callable[[JsonObject, ToolExecutionContext], Awaitable[str | ToolOutput]]


def stage_in(folder: Path) -> SessionStage:
    folder.mkdir()
    stage = SessionStage(folder)
    for number in range(4):
        (stage.root / f"{number}.txt").write_text(f"line {number}\n")
    return stage


async def recorded(folder: Path, seed: int, *, text: str = "new") -> tuple[str, str]:
    """Two turns whose calls take as long as chance will have it: their canonical record, and how it arrived."""
    chance = random.Random(seed)

    def slow_down(container: Container) -> None:
        for tool in container.tools().values():
            tool.execute = after_a_while(tool.execute)

    def after_a_while(execute: Execute) -> Execute:
        async def delayed(arguments: JsonObject, context: ToolExecutionContext) -> str | ToolOutput:
            for _ in range(chance.randrange(8)):
                await asyncio.sleep(0)
            if chance.random() < 0.2:
                await asyncio.sleep(chance.random() / 100)
            return await execute(arguments, context)

        return delayed

    stage = stage_in(folder)
    async with stage.opened(NewSession(), adjust=slow_down) as session:
        reads = [call("read_file", path=f"{number}.txt") for number in range(4)]
        await session.turn(
            [*reads, call("read_file", path="missing.txt"), call("no_such_tool")],
            [call("write_file", path="0.txt", content=text), reads[0], call("update_plan", items=[]), reads[1]],
            [shell("cat 0.txt; echo more >> 1.txt"), call("list_directory", path="."), reads[2]],
        )
        await session.turn([shell("exit 3"), call("grep_search", pattern="line")], prompt="and then?")
        records = await session.agent.record.archive.read(session.agent.session_id)
    ends = (record.event for record in records if isinstance(record.event, CallFinished))
    return render_canonical(records), " ".join(str(end.context.call_index) for end in ends)


@pytest.mark.long
async def test_many_runs_of_one_script_have_one_canonical_record(tmp_path: Path) -> None:
    first, arrived = await recorded(tmp_path / "first", 0)
    arrivals = {arrived}
    for seed in range(1, RUNS):
        again, arrived = await recorded(tmp_path / str(seed), seed)
        assert again == first
        arrivals.add(arrived)

    assert len(arrivals) > RUNS / 4, "chance has changed too little for this to show anything"


async def test_one_other_word_in_one_argument_is_seen(tmp_path: Path) -> None:
    one, _ = await recorded(tmp_path / "one", 0)
    other, _ = await recorded(tmp_path / "other", 0, text="now")

    differing = [pair for pair in zip(one.splitlines(), other.splitlines(), strict=True) if pair[0] != pair[1]]
    assert differing
    assert any('"new"' in was and '"now"' in is_ for was, is_ in differing)
