"""How much of each request a provider has read already, byte by byte, over a day in one session."""

from __future__ import annotations

import json
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import pytest

from quorum.infrastructure.config.model_choice import AskedModels
from quorum.infrastructure.container import Container
from tests.infrastructure.mcp.test_kept_tool_list import stage_with, tool
from tests.support.quorum_rig import DONE, call, calling
from tests.support.real_session import SessionStage
from tests.support.session_parts import change_inputs
from tests.support.sse_server import Dialect, Reply, Say, SseServer

READS = calling(call("r1", "read_file", path="seed.txt"))
READS_IN_TEXT = Say(pieces=['```json\n{"name": "read_file", "arguments": {"path": "seed.txt"}}\n```'])
ONE, TWO = tool("one"), tool("two")


def render_prompt(body: dict[str, Any]) -> tuple[str, str]:
    """What a model reads of a request, in its order: the tools and the system text, and all of it. Where a
    provider may keep what it has read is no part of it."""
    tools, system = body["tools"], body.get("system", body.get("instructions"))
    beginning = json.dumps([tools, system])
    text = "".join(map(json.dumps, (beginning, *body.get("messages", body.get("input", [])))))
    return beginning, text


def strip_marks(value: Any) -> Any:
    match value:
        case dict():
            return {key: strip_marks(each) for key, each in value.items() if key != "cache_control"}
        case list():
            return [strip_marks(each) for each in value]
    return value


class Day:
    """A session that is opened again and again, and what a server got of it."""

    def __init__(self, folder: Path, server: SseServer, parser: str) -> None:
        self._folder, self._server, self._parser = folder, server, parser
        (folder / "work").mkdir()
        (folder / "work" / "seed.txt").write_text("seed\n")

    async def work(self, *tools: dict[str, Any], turns: int, words: int = 1, compacts: bool = False) -> None:
        parser = f'tool_parser = "{self._parser}"\n' if self._parser else ""
        stage: SessionStage = stage_with(
            self._folder,
            *tools,
            more=f'[providers.local]\ntype = "{self._server.dialect}"\nbase_url = "{self._server.base_url}"\n'
            f'max_retries = 0\napi_key_env = "SCRIPTED"\n{parser}',
        )

        def adjust(container: Container) -> None:
            change_inputs(container, gateway=None)
            change_inputs(container, asked=AskedModels(models=("local/scripted",)))
            change_inputs(container, environ={**stage.environ, "SCRIPTED": "no-secret-at-all"})

        async with stage.opened(adjust=adjust) as session:
            for number in range(turns):
                script: list[Reply] = [READS_IN_TEXT if self._parser else READS, DONE]
                self._server.script = script
                await session.agent.run.execute(f"and part {number}, " + "please " * words)
            if compacts:
                self._server.script = [DONE]
                await session.agent.context.compact(None)
                self._server.bodies.pop()

    def measure_shares(self) -> list[float]:
        """For each request but the first, the share of it that the one before began with."""
        texts = [render_prompt(strip_marks(body))[1] for body in self._server.bodies]
        return [_count_common(one, other) / len(other) for one, other in pairwise(texts)]


def _count_common(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("dialect", "parser"),
    [
        ("anthropic", ""),
        ("openai", ""),
        ("openai-chat", ""),
        ("openai-chat", "json"),
    ],
)
async def test_what_was_read_is_read_again_over_resumes_compaction_and_changes_of_servers(
    tmp_path: Path, dialect: Dialect, parser: str
) -> None:
    async with SseServer(dialect) as server:
        day = Day(tmp_path, server, parser)
        await day.work(ONE, turns=10)
        assert min(day.measure_shares()[1:]) >= 0.97

        await day.work(ONE, TWO, turns=2)  # another process, and the server has one tool more
        assert min(day.measure_shares()[19:]) >= 0.95

        await day.work(TWO, turns=4, words=2_000, compacts=True)
        await day.work(ONE, TWO, turns=1)
        beginnings = {render_prompt(strip_marks(body))[0] for body in server.bodies}
    assert len(beginnings) == 1
