"""Servers over HTTP: streams that break off and go on, the older transport, and the end of a session."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from quorum.domain.errors import ToolError
from quorum.infrastructure.config.program_tables import McpServerTable
from tests.infrastructure.mcp.server_bench import ServerBench, a_tool
from tests.infrastructure.mcp.test_mcp_hostile_servers import result_of
from tests.support.oauth_mcp_server import listening_app

EVENTS = "text/event-stream"
ECHO = "mcp__web__echo"


class StreamingServer:
    """A server whose answers to calls begin as an event with an id, and go on where a GET asks behind that."""

    def __init__(self, *, resumes: bool, ends_gets: int = 0) -> None:
        self._resumes = resumes
        self._ends_gets = ends_gets
        self._open: list[dict[str, Any]] = []
        self.calls = 0
        self.resumed: list[str] = []
        self.ended: list[str] = []

    async def handle(self, request: Request) -> Response:
        if request.method == "DELETE":
            self.ended.append(request.headers["mcp-session-id"])
            return Response(status_code=200)
        if request.method == "GET":
            return self._resume(request.headers.get("last-event-id", ""))
        message = json.loads(await request.body())
        if "id" not in message:
            return Response(status_code=202)
        match message["method"]:
            case "initialize":
                result: object = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "web", "version": "1"},
                }
            case "tools/list":
                result = {"tools": [a_tool("echo")]}
            case "tools/call":
                self.calls += 1
                self._open.append(message)
                return Response("id: e1\nretry: 1\ndata:\n\n", media_type=EVENTS)
            case _:
                error = {"code": -32601, "message": "no such method"}
                return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "error": error})
        answered = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return JSONResponse(answered, headers={"mcp-session-id": "s1"})

    def _resume(self, behind: str) -> Response:
        if not behind or not self._resumes:
            return Response(status_code=405)
        self.resumed.append(behind)
        if len(self.resumed) <= self._ends_gets:
            return Response(f"id: e{len(self.resumed) + 1}\nretry: 1\ndata:\n\n", media_type=EVENTS)
        return Response(f"data: {json.dumps(result_of(self._open[-1], 'at last'))}\n\n", media_type=EVENTS)


@asynccontextmanager
async def serve(handle: Callable[[Request], Awaitable[Response]]) -> AsyncIterator[str]:
    app = Starlette()
    app.add_route("/mcp", handle, methods=["GET", "POST", "DELETE"])
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        async with listening_app(app, listening):
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"


@pytest.mark.parametrize("ends_gets", [0, 1])
async def test_an_answer_whose_stream_breaks_off_is_read_to_its_end_without_a_second_call(
    tmp_path: Path, ends_gets: int
) -> None:
    server = StreamingServer(resumes=True, ends_gets=ends_gets)
    async with (
        serve(server.handle) as url,
        ServerBench(tmp_path, web=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        assert await bench.servers.settle() == ()
        assert await bench.call(ECHO) == "at last"

    assert (server.calls, server.resumed[0]) == (1, "e1")
    assert server.ended == ["s1"]


async def test_a_review_names_the_machine_of_a_server_and_what_it_says_of_the_tool(tmp_path: Path) -> None:
    server = StreamingServer(resumes=True, ends_gets=0)
    async with (
        serve(server.handle) as url,
        ServerBench(tmp_path, web=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        await bench.servers.settle()
        seal = await bench.seal(ECHO)

    assert seal.unsealed is not None
    assert seal.unsealed.startswith(f"the MCP server web, at {url.split('/')[2]}, does this: ")
    assert seal.executables[0] == f"MCP server web: {url}"


async def test_where_a_stream_cannot_go_on_the_call_ends_and_is_not_sent_again(tmp_path: Path) -> None:
    server = StreamingServer(resumes=False)
    async with (
        serve(server.handle) as url,
        ServerBench(tmp_path, web=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        await bench.servers.settle()
        with pytest.raises(ToolError, match="whether the call took effect"):
            await bench.call(ECHO)

    assert server.calls == 1


@pytest.mark.parametrize("status", [404, 405])
async def test_of_a_server_of_the_older_transport_the_person_reads_what_to_set(
    tmp_path: Path, status: int
) -> None:
    async def older(request: Request) -> Response:
        if request.method != "GET":
            return Response("Cannot POST", status_code=status)
        return Response("event: endpoint\ndata: /message?id=1\n\n", media_type=EVENTS)

    async with (
        serve(older) as url,
        ServerBench(tmp_path, web=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        (notice,) = await bench.servers.settle()

    assert "speaks the older transport of a stream and messages (SSE)" in notice
    assert f'"mcp-remote", "{url}"' in notice


async def test_of_an_address_that_is_none_of_a_server_the_status_is_told(tmp_path: Path) -> None:
    async def nothing(_request: Request) -> Response:
        return Response("no such page", status_code=404)

    async with (
        serve(nothing) as url,
        ServerBench(tmp_path, web=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        (notice,) = await bench.servers.settle()

    assert "HTTP 404 Not Found: no such page" in notice


async def test_of_a_session_id_that_no_header_can_hold_the_start_says_so(tmp_path: Path) -> None:
    server = StreamingServer(resumes=True)

    async def handle(request: Request) -> Response:
        answer = await server.handle(request)
        if "mcp-session-id" in answer.headers:
            answer.headers["mcp-session-id"] = "s-\xe9"
        return answer

    async with (
        serve(handle) as url,
        ServerBench(tmp_path, web=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        (notice,) = await bench.servers.settle()

    assert "gives the session an id that is not in visible ASCII, which cannot be sent back: s-\xe9" in notice


class OwnStreamServer(StreamingServer):
    """A server with a stream of its own, which begins with `events`, and has the answers to calls if it `owes`
    them; the first one ends after its events if it `breaks`."""

    def __init__(self, *events: str, owes: bool = False, breaks: bool = False) -> None:
        super().__init__(resumes=False)
        self._events = events
        self._owes = owes
        self._breaks = breaks
        self.asked_behind: list[str | None] = []
        self.opened_again = asyncio.Event()
        self._called: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._began = asyncio.Event()

    async def handle(self, request: Request) -> Response:
        if request.method == "GET":
            self.asked_behind.append(request.headers.get("last-event-id"))
            if len(self.asked_behind) > 1:
                self.opened_again.set()
            return StreamingResponse(self._stream(is_first=len(self.asked_behind) == 1), media_type=EVENTS)
        message = json.loads(await request.body()) if request.method == "POST" else {}
        if message.get("method") in ("tools/list", "tools/call"):
            await self._began.wait()
        if message.get("method") != "tools/call":
            return await super().handle(request)
        if self._owes:
            self._called.put_nowait(message)
            return Response(status_code=202)
        return JSONResponse(result_of(message, "fine"))

    async def _stream(self, *, is_first: bool) -> AsyncIterator[str]:
        yield ": hello\n\n"
        for event in self._events if is_first else ():
            yield event
        self._began.set()
        if self._breaks and is_first:
            if self._owes:
                await self._called.get()
            return
        while True:
            yield f"data: {json.dumps(result_of(await self._called.get(), 'on the stream'))}\n\n"


async def test_an_answer_that_is_owed_with_202_is_read_from_the_stream_of_the_server(tmp_path: Path) -> None:
    server = OwnStreamServer(owes=True)
    async with (
        serve(server.handle) as url,
        ServerBench(tmp_path, web=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        assert await bench.servers.settle() == ()
        assert await bench.call(ECHO) == "on the stream"
        assert await bench.call(ECHO) == "on the stream"


async def test_an_answer_that_is_owed_ends_with_the_stream_of_the_server(tmp_path: Path) -> None:
    server = OwnStreamServer(owes=True, breaks=True)
    async with (
        serve(server.handle) as url,
        ServerBench(tmp_path, web=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        assert await bench.servers.settle() == ()
        with pytest.raises(
            ToolError, match="the stream for the answer has ended; whether the call took effect"
        ):
            await bench.call(ECHO)


async def test_an_error_for_nobody_on_the_stream_of_the_server_ends_no_request(tmp_path: Path) -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "for nobody"}}
    server = OwnStreamServer(f"data: {json.dumps(error)}\n\n")
    async with (
        serve(server.handle) as url,
        ServerBench(tmp_path, web=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        assert await bench.servers.settle() == ()
        assert await bench.call(ECHO) == "fine"


@pytest.mark.parametrize(("given", "sent"), [("a1", "a1"), ("\xe9\u4e2d", None)])
async def test_the_stream_of_a_server_is_opened_again_behind_its_last_event_that_can_be_named(
    given: str, sent: str | None, tmp_path: Path
) -> None:
    notice = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
    server = OwnStreamServer(f"id: {given}\nretry: 1\ndata: {json.dumps(notice)}\n\n", breaks=True)
    async with (
        serve(server.handle) as url,
        ServerBench(tmp_path, web=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        assert await bench.servers.settle() == ()
        async with asyncio.timeout(60):
            await server.opened_again.wait()
        assert server.asked_behind[:2] == [None, sent]
