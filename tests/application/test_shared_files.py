"""Files of a layer that several subagents changed are read while others change them further."""

from __future__ import annotations

import asyncio

from quorum.application.staging.shared_files import SharedFiles
from quorum.domain.staging.layer_work import LayerWork, SubagentChanges, SubagentStep
from quorum.infrastructure.files.diff import list_hunks, render_unified_diff
from tests.support.fake_contents import FakeContents


class SlowContents(FakeContents):
    """Contents of which some are there once `gates` open."""

    def __init__(self) -> None:
        super().__init__()
        self.gates: dict[str, asyncio.Event] = {}
        self.asked = asyncio.Event()

    async def get(self, sha256: str) -> bytes:
        if (gate := self.gates.get(sha256)) is not None:
            self.asked.set()
            await gate.wait()
        return await super().get(sha256)


async def test_each_who_asks_at_once_is_told_of_all_overlaps_of_the_work_that_they_ask_about() -> None:
    contents = SlowContents()
    first, second, third, other, late = await contents.put([b"1\n", b"2\n", b"3\n", b"other\n", b"late\n"])
    files = SharedFiles(contents, list_hunks, render_unified_diff, lambda _path: False)
    one, two = (
        SubagentChanges(subagent_id=id_, name=f"writer {id_}", paths={}, beside=(beside,))
        for id_, beside in (("1", "2"), ("2", "1"))
    )
    replaced = (
        SubagentStep(by="1", before=first, after=second),
        SubagentStep(by="2", before=second, after=third),
    )
    slow = (replaced[0], SubagentStep(by="2", before=second, after=other))
    further = (*replaced, SubagentStep(by="1", before=third, after=late))
    contents.gates = {other: asyncio.Event(), late: asyncio.Event()}
    changes = (one, two)

    asks = asyncio.create_task(
        files.find_overlaps(LayerWork(layer="l", changes=changes, shared={"/w/a": replaced, "/w/b": slow}))
    )
    await contents.asked.wait()
    contents.asked.clear()
    asks_too = asyncio.create_task(
        files.find_overlaps(LayerWork(layer="l", changes=changes, shared={"/w/a": further, "/w/b": slow}))
    )
    await contents.asked.wait()
    contents.gates[other].set()
    told = await asks
    contents.gates[late].set()

    assert [(each.path, each.winner) for each in told] == [("/w/a", "writer 2"), ("/w/b", "writer 2")]
    assert [(each.path, each.winner) for each in await asks_too] == [
        ("/w/a", "writer 2"),
        ("/w/a", "writer 1"),
        ("/w/b", "writer 2"),
    ]
