"""MCP servers that an editor offers to `quorum acp` with secrets of its own: real servers, a scripted model."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from acp.schema import EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio
from mcp.server.mcpserver import MCPServer

from tests.support.acp_client import allow_once, served_editor
from tests.support.headless_run import configure_for, environment
from tests.support.oauth_mcp_server import listening_app
from tests.support.quorum_rig import DONE, call, calling
from tests.support.sse_server import SseServer

KEY = "k7Qz-93hd82-Wp0x4Lm"
TOKEN = "Zr81-editor-Vt55sQ02n"


@asynccontextmanager
async def guarded_server(seen: list[dict[str, str]]) -> AsyncIterator[str]:
    """A server over streamable HTTP that answers nobody without the key; its address."""
    server = MCPServer("adder")

    @server.tool()
    def add(a: int, b: int) -> str:
        """Adds two numbers, and gives away the key."""
        return f"{a + b} with {KEY}"

    serve = server.streamable_http_app(json_response=True)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            seen.append(headers)
            if headers.get("x-api-key") != KEY or headers.get("authorization") != f"Bearer {TOKEN}":
                await send({"type": "http.response.start", "status": 403, "headers": []})
                await send({"type": "http.response.body", "body": f"not {headers.get('x-api-key')}".encode()})
                return
        await serve(scope, receive, send)

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        async with listening_app(app, listening):
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"


def find_in_files(folder: Path, text: str) -> list[str]:
    return [str(file) for file in folder.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


@pytest.fixture
async def model(tmp_path: Path) -> AsyncIterator[SseServer]:
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    async with SseServer("anthropic") as model:
        configure_for(tmp_path / "home", model)
        yield model


@pytest.mark.long
async def test_headers_go_to_their_server_alone_and_are_hidden_everywhere_else(
    tmp_path: Path, model: SseServer
) -> None:
    seen: list[dict[str, str]] = []
    model.script = [calling(call("c1", "mcp__docs__add", a=20, b=22)), DONE]
    headers = [
        HttpHeader(name="X-Api-Key", value=KEY),
        HttpHeader(name="Authorization", value=f"Bearer {TOKEN}"),
    ]
    project, env = tmp_path / "project", environment(tmp_path / "home")
    async with guarded_server(seen) as address:
        offered = HttpMcpServer(type="http", name="Docs", url=address, headers=headers)
        async with served_editor(project, env, "--debug", choose=allow_once) as served:
            opened = await served.agent.new_session(cwd=str(project), mcp_servers=[offered])
            await served.ask(opened.session_id, "go")
            shown = str(served.editor.updates) + str(served.editor.asked)

    assert {(each["x-api-key"], each["authorization"]) for each in seen} == {(KEY, f"Bearer {TOKEN}")}
    assert f"42 with {KEY}" in json.dumps(model.bodies[-1])  # what a tool answers is for the model to read
    assert "42 with [secret:mcp.docs.X-Api-Key]" in shown
    for secret in (KEY, TOKEN):
        assert secret not in shown
        assert secret not in json.dumps(model.bodies[0])
        assert find_in_files(tmp_path / "home", secret) == []


@pytest.mark.long
async def test_a_server_that_refuses_the_headers_is_named_without_them(
    tmp_path: Path, model: SseServer
) -> None:
    wrong = "wrong-" + KEY
    model.script = [DONE]
    project, env = tmp_path / "project", environment(tmp_path / "home")
    async with guarded_server([]) as address:
        header = HttpHeader(name="X-Api-Key", value=wrong)
        offered = HttpMcpServer(type="http", name="docs", url=address, headers=[header])
        async with served_editor(project, env) as served:
            opened = await served.agent.new_session(cwd=str(project), mcp_servers=[offered])
            await served.ask(opened.session_id, "go")
            shown = served.editor.texts(opened.session_id)

    assert "docs" in shown
    assert wrong not in shown
    assert find_in_files(tmp_path / "home", wrong) == []


@pytest.mark.long
async def test_a_program_gets_the_variables_that_come_with_it(tmp_path: Path, model: SseServer) -> None:
    program = tmp_path / "teller.py"
    program.write_text(
        "import os\n"
        "from mcp.server.mcpserver import MCPServer\n"
        "server = MCPServer('teller')\n"
        "@server.tool()\n"
        "def tell() -> str:\n"
        "    '''Tells what it was given.'''\n"
        "    return f\"{len(os.environ['TELLER_TOKEN'])}: {os.environ['TELLER_TOKEN']}\"\n"
        "server.run('stdio')\n"
    )
    given = [EnvVariable(name="TELLER_TOKEN", value=TOKEN)]
    offered = McpServerStdio(name="teller", command=sys.executable, args=[str(program)], env=given)
    model.script = [calling(call("c1", "mcp__teller__tell")), DONE]
    project, env = tmp_path / "project", environment(tmp_path / "home")
    async with served_editor(project, env, choose=allow_once) as served:
        opened = await served.agent.new_session(cwd=str(project), mcp_servers=[offered])
        await served.ask(opened.session_id, "go")
        shown = str(served.editor.updates)

    assert f"{len(TOKEN)}: {TOKEN}" in json.dumps(model.bodies[-1])
    assert f"{len(TOKEN)}: [secret:mcp.teller.TELLER_TOKEN]" in shown
    assert find_in_files(tmp_path / "home", TOKEN) == []
