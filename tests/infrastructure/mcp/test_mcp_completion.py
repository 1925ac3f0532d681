"""Completion of arguments by MCP servers: asked where it is offered, bounded, and never a failure."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from quorum.domain.mcp.offers import ArgumentQuery, find_prompt_argument, find_template_argument
from quorum.infrastructure.config.program_tables import McpServerTable
from tests.infrastructure.mcp.server_bench import ServerBench, a_server

SDK_SERVER = str(Path(__file__).parents[2] / "support" / "mcp_completing_server.py")
QUERY = ArgumentQuery(server="plain", prompt="review", argument="path", value="s", others=(("depth", "2"),))


async def test_a_server_is_asked_with_what_is_typed_and_what_it_says_is_bounded(tmp_path: Path) -> None:
    log = tmp_path / "log"
    values = ["src", "\x1b[2J", *map(str, range(500))]
    async with ServerBench(tmp_path, plain=a_server({"values": values, "completed": str(log)})) as bench:
        await bench.servers.settle()
        found = await bench.servers.complete_argument(QUERY)

    assert found[:2] == ("src", "0")
    assert len(found) == 100
    asked = json.loads(log.read_text())
    assert asked["ref"]["name"] == "review"
    assert asked["argument"] == {"name": "path", "value": "s"}
    assert asked["context"] == {"arguments": {"depth": "2"}}


async def test_a_server_that_offers_no_completion_is_not_asked(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with ServerBench(tmp_path, plain=a_server({"completed": str(log)})) as bench:
        await bench.servers.settle()
        assert await bench.servers.complete_argument(QUERY) == ()
    assert not log.exists()


async def test_a_server_that_is_late_or_answers_rubbish_offers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorum.infrastructure.mcp.servers._COMPLETION_SECS", 0.2)
    servers = {"plain": a_server({"values": "hang"}), "odd": a_server({"values": {"a": 1}})}
    async with ServerBench(tmp_path, **servers) as bench:
        await bench.servers.settle()
        assert await bench.servers.complete_argument(QUERY) == ()
        assert await bench.servers.complete_argument(ArgumentQuery(server="odd", argument="a", value="")) == ()
        assert await bench.servers.complete_argument(ArgumentQuery(server="gone", argument="a", value="")) == ()


async def test_when_typing_goes_on_the_server_is_told_that_its_answer_is_not_wanted(tmp_path: Path) -> None:
    asked, cancelled = tmp_path / "asked", tmp_path / "cancelled"
    plan = {"values": "hang", "completed": str(asked), "cancelled": str(cancelled)}
    async with ServerBench(tmp_path, plain=a_server(plan)) as bench:
        await bench.servers.settle()
        asking = asyncio.create_task(bench.servers.complete_argument(QUERY))
        async with asyncio.timeout(60):
            while not asked.exists():  # noqa: ASYNC110 - the server is another process
                await asyncio.sleep(0.01)
            asking.cancel()
            while not cancelled.exists():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert asking.cancelled()


@pytest.mark.long
async def test_a_server_of_the_sdk_completes_prompts_and_templates(tmp_path: Path) -> None:
    table = McpServerTable(command=(sys.executable, SDK_SERVER), start_timeout_secs=60.0)
    async with ServerBench(tmp_path, files=table) as bench:
        await bench.servers.settle()
        (prompt,) = bench.servers.list_prompts()
        typed = find_prompt_argument(prompt, "src")
        assert typed is not None
        assert await bench.servers.complete_argument(typed.query) == ("src/a.py", "src/b c.py")
        failing = find_prompt_argument(prompt, "boom")
        assert failing is not None
        assert await bench.servers.complete_argument(failing.query) == ()

        in_address = find_template_argument(bench.servers.list_resources(), "files:repo://acme/")
        assert in_address is not None
        assert await bench.servers.complete_argument(in_address.query) == ("acme-0", "acme-1")
