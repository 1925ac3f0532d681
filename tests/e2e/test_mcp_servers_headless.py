"""MCP servers made with the SDK, in a headless run: over standard input and output, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.infrastructure.commands.command_bench import alive_with
from tests.support.headless_run import configure_for, environment, run
from tests.support.quorum_rig import call
from tests.support.sse_server import Say, SseServer

pytestmark = pytest.mark.long

_SERVER = '''
import sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("adder")

@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b

if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run("stdio")
'''


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (home := tmp_path / "home").mkdir()
    return home


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (project := tmp_path / "project").mkdir()
    return project


@pytest.fixture
def program(tmp_path: Path) -> Path:
    program = tmp_path / "adder.py"
    program.write_text(_SERVER)
    return program


async def add_with(home: Path, project: Path, settings: str) -> tuple[str, list[str]]:
    """The answer of the tool as the model reads it, and what the person read."""
    async with SseServer("anthropic") as server:
        configure_for(home, server)
        file = home / "config" / "quorum" / "quorum.toml"
        file.write_text(f"{file.read_text()}\n[mcp.servers.adder]\n{settings}\nread_only = ['add']\n")
        server.script = [
            Say(calls=[call("c1", "mcp__adder__add", a=2, b=40)], stop="tool_use"),
            Say(pieces=["done"]),
        ]

        ended = await run("add", "--output", "json", cwd=project, env=environment(home))

        assert ended.code == 0, ended.out + ended.err
        assert [c["outcome"] for c in ended.report["calls"]] == ["ok"], ended.out
        offered = [tool["name"] for tool in server.bodies[0]["tools"]]
        assert offered[-1] == "mcp__adder__add"
        return json.dumps(server.bodies[1]["messages"][-1]), offered


@asynccontextmanager
async def listening(program: Path) -> AsyncIterator[str]:
    """The server over HTTP, once it listens; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(program), str(port), stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        while b"running on" not in (line := await process.stderr.readline()):
            assert line, "the server did not come up"
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        await process.communicate()


async def test_a_tool_of_a_server_that_is_started_answers_and_nothing_is_left(
    home: Path, project: Path, program: Path
) -> None:
    answer, _ = await add_with(home, project, f"command = {json.dumps([sys.executable, str(program)])}")

    assert "42" in answer
    assert alive_with(str(program)) == []


async def test_a_tool_of_a_server_over_http_answers(home: Path, project: Path, program: Path) -> None:
    async with listening(program) as url:
        answer, _ = await add_with(home, project, f"url = {json.dumps(url)}")

    assert "42" in answer
