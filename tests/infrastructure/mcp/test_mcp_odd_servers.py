"""MCP servers that do not keep to the protocol: what is there is read, and nothing waits for more."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from quorum.domain.calls.summary import extract_text
from quorum.domain.errors import ToolError
from quorum.domain.mcp.offers import make_offered_tool
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.config.program_tables import McpServerTable
from quorum.infrastructure.mcp.answers import ServerAnswers
from quorum.infrastructure.mcp.argument_schema import adapt_schema
from quorum.infrastructure.mcp.http_transport import _FittedEvents
from quorum.infrastructure.mcp.json_lines import JsonLines
from quorum.infrastructure.tools.json_schema import find_schema_problem
from tests.infrastructure.mcp.server_bench import ServerBench
from tests.infrastructure.mcp.test_mcp_hostile_servers import http_server, result_of

SERVER = str(Path(__file__).parents[2] / "support" / "mcp_odd_server.py")
OK = "mcp__odd__ok"
PLAIN = {"type": "object", "properties": {"q": {"type": "string"}}}
NUMBERED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def an_odd_server(*, start_secs: float = 120, **plan: object) -> McpServerTable:
    command = (sys.executable, "-I", "-S", SERVER, json.dumps(plan))
    return McpServerTable(command=command, start_timeout_secs=start_secs, timeout_secs=60)


async def ask(root: Path, **plan: object) -> str:
    """What a call of its first tool answers, as a text or as the error."""
    async with ServerBench(root, odd=an_odd_server(**plan)) as bench:
        await bench.servers.settle()
        try:
            return extract_text(await bench.call_for_output(OK))
        except ToolError as error:
            return f"error: {error}"


def test_an_answer_in_utf_16_is_read() -> None:
    lines = JsonLines()
    printed = '{"jsonrpc":"2.0","id":1,"result":{"n":1}}'.encode("utf-16")

    assert lines.read_line(printed) == [{"jsonrpc": "2.0", "id": 1, "result": {"n": 1}}]


NOTICE: JsonObject = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
LISTED: JsonObject = {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}


@pytest.mark.parametrize(
    "answer",
    [
        {"result": {}},
        {"result": None},
        {"result": ""},
        {"error": {"code": -32601, "message": "Method not found"}},
    ],
)
def test_an_answer_to_a_notification_ends_no_request(answer: JsonObject) -> None:
    answers = ServerAnswers("odd")
    answers.note_request(NOTICE)
    answers.note_request(LIST)

    assert answers.read({"jsonrpc": "2.0", "id": None, **answer}) == []
    (listed,) = answers.read(LISTED)
    assert (listed["id"], "error" in listed) == (1, False)


@pytest.mark.parametrize(
    ("answer", "notices"),
    [
        ({"error": {"code": -32700, "message": "Parse error"}}, 1),
        ({"result": {"tools": []}}, 1),
        ({"error": {"code": -32601, "message": "Method not found"}}, 0),
    ],
)
def test_one_that_names_no_request_and_is_to_none_ends_the_only_one(answer: JsonObject, notices: int) -> None:
    answers = ServerAnswers("odd")
    for _ in range(notices):
        answers.note_request(NOTICE)
    answers.note_request(LIST)

    (ended,) = answers.read({"jsonrpc": "2.0", "id": None, **answer})
    assert ended["id"] == 1


def test_a_server_that_passed_over_a_notification_does_not_answer_it_later() -> None:
    answers = ServerAnswers("odd")
    answers.note_request(NOTICE)
    answers.note_request(LIST)
    answers.read(LISTED)
    answers.note_request({**LIST, "id": 2})

    (ended,) = answers.read({"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "no"}})
    assert ended["id"] == 2


TEXT = '"result":{"content":[{"type":"text","text":"caf'


@pytest.mark.long(after=3)
@pytest.mark.parametrize(
    ("call", "said"),
    [
        ('{"jsonrpc":"2.0","id":@ID,' + TEXT + '\xe9"}]}}\n', "caf\ufffd"),
        ('{"jsonrpc":"2.0","id":@ID,' + TEXT + ' \\ud83d"}]}}\n', "caf ?"),
        ('[{"jsonrpc":"2.0","id":@ID,' + TEXT + '"}]}}]\n', "caf"),
        ('{\n "jsonrpc": "2.0",\n "id": @ID,\n ' + TEXT + '"}\n]}}\n', "caf"),
        ('INFO answer: {"jsonrpc":"2.0","id":@ID,' + TEXT + '"}]}} sent\n', "caf"),
        ('{"jsonrpc":"2.0","id":"@ID",' + TEXT + '"}]}}\n', "caf"),
        ('{"level":30,"msg":"read"}\n{"error":"slow"}\n{"jsonrpc":"2.0","id":@ID,' + TEXT + '"}]}}\n', "caf"),
        ('{"id":@ID,"msg":"read"}\n{"jsonrpc":"2.0","id":@ID,' + TEXT + '"}]}}\n', "caf"),
        ('{"jsonrpc":"2.0","id":@ID,' + TEXT + '\nnext"}]}}\n', "caf\nnext"),
        ('{"id":@ID,"error":null,' + TEXT + '"}]}}', "caf"),
        ('{"jsonrpc":"2.0","id":@ID,"error":{"code":"E_FAIL","message":"nope"}}\n', "E_FAIL: nope"),
        ('{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":null}}\n', "it gave no reason"),
        ('{"jsonrpc":"2.0","id":@ID,"error":{"code":-3,"message":"","data":"no such row"}}\n', "no such row"),
        (
            '{"jsonrpc":"2.0","id":@ID,"error":{"code":-3,"message":"Internal error","data":{"row":7}}}\n',
            '{"row": 7}',
        ),
        ('{"jsonrpc":"2.0","id":@ID,"error":"broken"}\n', "refused the call: broken"),
        ('{"jsonrpc":"2.0","id":@ID,' + TEXT + "\n", "it is no whole JSON"),
        ('{"jsonrpc":"2.0","id":@ID,"result":{"content":[}}\n', "it is no whole JSON"),
        ("{'jsonrpc': '2.0', 'id': @ID, 'result': {'content': []}}\n", "it is no whole JSON"),
        ('{"jsonrpc":"2.0","id":@ID}\n', "neither a result nor an error"),
    ],
)
async def test_an_answer_in_another_form_is_read_and_an_unreadable_one_ends_its_call(
    call: str, said: str, tmp_path: Path
) -> None:
    assert said in await ask(tmp_path, call=call)


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"content": "plain"}, "plain"),
        ({"content": [{"type": "widget", "x": 1}]}, "a block of a type that is not known"),
        ({"content": [{"type": "image", "data": "not/base64\xe9", "mimeType": "image/png"}]}, "left out"),
        ({"content": [{"type": "image"}]}, "it has not the fields of its type"),
        ({"structuredContent": {"n": 1}}, '"n": 1'),
        ({"structuredContent": [1, 2]}, "1,\n  2"),
        ([1, 2], "1"),
        ({"isError": True, "content": ["denied"]}, "error: denied"),
        ({"content": [], "taskId": 7, "status": "open"}, '"taskId": 7'),
    ],
)
async def test_each_part_of_a_result_is_shown_or_named(result: object, said: str, tmp_path: Path) -> None:
    assert said in await ask(tmp_path, result=result)


@pytest.mark.parametrize(
    "result",
    [
        {"task": {"taskId": "t1", "status": "working", "ttl": None}},
        {"resultType": "task", "taskId": "t1", "status": "working"},
    ],
)
async def test_a_task_in_place_of_a_result_is_no_success(result: object, tmp_path: Path) -> None:
    answer = await ask(tmp_path, result=result)

    assert answer.startswith("error: the MCP server odd made a task of this (working)")
    assert "t1" in answer


@pytest.mark.parametrize(
    ("result", "note"),
    [
        ({"content": [{"type": "text", "text": "T"}]}, "and sent none"),
        (
            {"content": [{"type": "text", "text": "T"}], "structuredContent": {"n": "x"}},
            "does not fit the schema",
        ),
        ({"content": [{"type": "text", "text": "T"}], "structuredContent": {"n": 1}}, ""),
    ],
)
async def test_an_answer_that_does_not_fit_its_schema_is_given_with_a_note(
    result: object, note: str, tmp_path: Path
) -> None:
    tool = {"name": "ok", "inputSchema": PLAIN, "outputSchema": NUMBERED}

    answer = await ask(tmp_path, tools=[tool], result=result)

    assert answer.startswith("T")
    assert (note in answer) if note else "note" not in answer


async def test_an_answer_is_held_against_the_schema_whichever_page_of_the_list_gave_it(tmp_path: Path) -> None:
    tools = [{"name": name, "inputSchema": PLAIN, "outputSchema": NUMBERED} for name in ("ok", "last")]
    odd = an_odd_server(tools=tools, page=1, result={"content": [], "structuredContent": {"n": "x"}})
    async with ServerBench(tmp_path, odd=odd) as bench:
        await bench.servers.settle()

        for name in (OK, "mcp__odd__last"):
            assert "does not fit the schema" in await bench.call(name)


async def test_one_bad_tool_is_dropped_and_named_and_the_others_stay(tmp_path: Path) -> None:
    tools = [
        {"name": "bad", "inputSchema": "a text"},
        {"inputSchema": PLAIN},
        {"name": "ok", "inputSchema": {"properties": {}}, "icons": "x", "annotations": [], "description": None},
        {"name": "bare"},
    ]
    greeting = {"capabilities": {"tools": True}, "serverInfo": {"name": "odd"}, "protocolVersion": None}
    async with ServerBench(tmp_path, odd=an_odd_server(tools=tools, greeting=greeting)) as bench:
        notices = await bench.servers.settle()

        assert await bench.call(OK) == "fine"
        assert set(bench.tools.names) == {OK, "mcp__odd__bare"}
        assert any("'bad' is not offered: the schema of its arguments is no object" in each for each in notices)
        assert any("2 is not offered: it has no name" in each for each in notices)
        (status,) = bench.servers.list_statuses()
        assert "it has no name" in status.problem


async def test_of_a_server_that_crashes_the_error_is_told_and_not_where_in_its_code(tmp_path: Path) -> None:
    command = (sys.executable, "-I", "-S", "-c", "def f(n):\n f(n - 1) if n else absent()\nf(30)")
    async with ServerBench(tmp_path, odd=McpServerTable(command=command)) as bench:
        (notice,) = await bench.servers.settle()

    assert notice.endswith("NameError: name 'absent' is not defined")
    assert len(notice.splitlines()) <= 4


OPTIONS = "".join(f"  --option-{number}  what it does\n" for number in range(200))


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("printed", "words"),
    [
        (
            f"Error: no context is set.\nSet one.\nUsage:\n  it\nFlags:\n{OPTIONS}",
            "no context is set.\nSet one.",
        ),
        ("starting\nusage: it [-h] FILE\nit: error: FILE is missing\n", "it: error: FILE is missing"),
        (f"usage: it [-h]\n{OPTIONS}it: FILE is missing\n", "it: FILE is missing"),
    ],
)
async def test_of_a_server_that_prints_its_usage_the_error_is_told(
    printed: str, words: str, tmp_path: Path
) -> None:
    table = McpServerTable(command=("/bin/sh", "-c", 'printf %s "$0" >&2; exit 2', printed))
    async with ServerBench(tmp_path, odd=table) as bench:
        (notice,) = await bench.servers.settle()

    assert notice.endswith(words)


@pytest.mark.long(after=2)
@pytest.mark.parametrize("probe", ["end", "spoil", "hang"])
async def test_a_server_that_fails_at_the_first_question_is_greeted_in_the_older_way_from_then_on(
    probe: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    table = an_odd_server(probe=probe, log=str(log), start_secs=20 if probe == "hang" else 120)
    async with ServerBench(tmp_path, odd=table) as bench:
        if await bench.servers.settle():
            assert probe == "hang"  # nothing says so before the time is up
            await bench.servers.restart("odd")
            await bench.servers.settle()
        assert await bench.call(OK) == "fine"

        await bench.servers.restart("odd")
        assert await bench.servers.settle() == ()
        assert await bench.call(OK) == "fine"
    assert log.read_text().splitlines() == ["server/discover", "initialize", "initialize"]


async def test_a_server_that_comes_up_in_neither_way_is_asked_in_both_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    refused = {"initialize": "the token has expired"}
    async with ServerBench(tmp_path, odd=an_odd_server(probe="end", refuses=refused, log=str(log))) as bench:
        for _ in range(2):
            await bench.servers.settle()
            assert "the token has expired" in bench.servers.list_statuses()[0].problem
            await bench.servers.restart("odd")
        await bench.servers.settle()
    assert log.read_text().splitlines() == ["server/discover", "initialize"] * 3


async def test_a_server_that_ends_before_it_reads_anything_is_started_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    table = McpServerTable(command=("/bin/sh", "-c", f"echo >>{log}; echo no key >&2; exit 2"))
    async with ServerBench(tmp_path, odd=table) as bench:
        (notice,) = await bench.servers.settle()
    assert notice.endswith("it ended with exit code 2; its last words: no key")
    assert log.read_text() == "\n"


@pytest.mark.long
async def test_a_server_that_ignores_the_first_question_is_greeted_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # it is asked for no longer than other servers are
    async with ServerBench(tmp_path, odd=an_odd_server(probe="ignore", start_secs=40)) as bench:
        assert await bench.servers.settle() == ()
        assert await bench.call(OK) == "fine"


@pytest.mark.parametrize("method", ["initialize", "tools/list"])
async def test_a_server_that_refuses_to_begin_is_named_with_what_it_says(method: str, tmp_path: Path) -> None:
    """Left alone, its process ends with exit code 0, which is not what is wrong."""
    async with ServerBench(tmp_path, odd=an_odd_server(refuses={method: "the token has expired"})) as bench:
        await bench.servers.settle()
        (status,) = bench.servers.list_statuses()

    assert "the token has expired" in status.problem
    assert "exit code" not in status.problem
    assert ("did not list its tools" in status.problem) == (method == "tools/list")


async def test_a_list_is_read_to_its_end_and_one_in_a_circle_says_where_it_stops(tmp_path: Path) -> None:
    tools = [{"name": f"t{number}", "inputSchema": PLAIN} for number in range(90)]
    async with ServerBench(
        tmp_path, long=an_odd_server(tools=tools, page=3), round=an_odd_server(circle=True)
    ) as bench:
        (notice,) = await bench.servers.settle()

        assert len(bench.tools.names) == 91
        assert "its list ends after" in notice


async def test_quorum_introduces_itself_by_its_own_name(tmp_path: Path) -> None:
    assert json.loads(await ask(tmp_path, tells="client"))["name"] == "quorum"


async def test_arguments_reach_the_server_under_its_own_names(tmp_path: Path) -> None:
    schema = {"properties": {"filter[search]": {"type": "string"}}, "anyOf": [{"required": ["filter[search]"]}]}
    async with ServerBench(
        tmp_path, odd=an_odd_server(tools=[{"name": "ok", "inputSchema": schema}], tells="arguments")
    ) as bench:
        assert await bench.servers.settle() == ()
        offered = bench.definition(OK).input_schema
        assert offered is not None
        assert offered["type"] == "object"
        assert "anyOf" not in offered
        (name,) = offered["properties"]  # type: ignore[misc]

        assert json.loads(await bench.call(OK, **{name: "x"})) == {"filter[search]": "x"}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, ""),
        (400, "Bad Request: No valid session ID provided"),
        (410, "gone"),
        (400, '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}}'),
        (422, "Unexpected message, expected initialize request"),
        (403, "Session has expired"),
        (200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}'),
    ],
)
async def test_a_session_that_the_server_has_forgotten_is_begun_anew_and_the_call_sent_once_more(
    status: int, body: str, tmp_path: Path
) -> None:
    sessions: list[str | None] = []

    async def forget(request: Request, message: dict[str, Any]) -> Response:
        sessions.append(request.headers.get("mcp-session-id"))
        if len(sessions) == 1:
            return Response(body, status_code=status, media_type="application/json")
        return JSONResponse(result_of(message, "in a new one"))

    async with (
        http_server(forget, session="s") as url,
        ServerBench(tmp_path, odd=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        await bench.servers.settle()

        assert await bench.call("mcp__odd__echo") == "in a new one"
        assert sessions == ["s1", "s2"]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Session not found: shell 3"}}'),
        (200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"the shell has no such session"}}'),
        (500, "Session expired while the order was placed"),
    ],
)
async def test_a_call_that_may_have_been_run_is_not_sent_again_for_words_about_a_session(
    status: int, body: str, tmp_path: Path
) -> None:
    sessions: list[str | None] = []

    async def refuse(request: Request, _message: dict[str, Any]) -> Response:
        sessions.append(request.headers.get("mcp-session-id"))
        return Response(body, status_code=status, media_type="application/json")

    async with (
        http_server(refuse, session="s") as url,
        ServerBench(tmp_path, odd=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        await bench.servers.settle()
        with pytest.raises(ToolError):
            await bench.call("mcp__odd__echo")

        assert sessions == ["s1"]


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (
            Response("<html><h1>Bad</h1> gateway</html>", status_code=502),
            "HTTP 502 Bad Gateway: Bad gateway; whether",
        ),
        (
            Response(status_code=202),
            "HTTP 202 Accepted, and nothing else; whether the call took effect is not known",
        ),
        (Response("slow down", status_code=429, headers={"retry-after": "7"}), "Retry-After 7"),
        (
            Response(": hi\n\n", media_type="text/event-stream"),
            "before it was whole; whether the call took effect",
        ),
        (Response('data: {"jsonrpc":"2.0","id":1,"res', media_type="text/event-stream"), "it is no whole JSON"),
        (Response("data: gone home\n\n", media_type="text/event-stream"), "What came:\ngone home"),
        (
            Response('data: {"state": "lost"}\n\n', media_type="text/event-stream"),
            "neither a result nor an error",
        ),
    ],
)
async def test_what_a_server_over_http_answers_is_told(response: Response, said: str, tmp_path: Path) -> None:
    async def answer(_request: Request, _message: dict[str, Any]) -> Response:
        return response

    async with (
        http_server(answer) as url,
        ServerBench(tmp_path, odd=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        await bench.servers.settle()
        with pytest.raises(ToolError) as failure:
            await bench.call("mcp__odd__echo")
        assert said in str(failure.value)


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("before", "media_type"),
    [("event: response\nid: 1\n", "text/event-stream"), ("", "text/plain"), ("event: message\n", "text/html")],
)
async def test_events_under_another_name_or_type_are_read(before: str, media_type: str, tmp_path: Path) -> None:
    async def answer(_request: Request, message: dict[str, Any]) -> Response:
        told = json.dumps({"jsonrpc": "2.0", "method": "notifications/unknown"})
        events = f"data: {told}\n\n{before}data: {json.dumps(result_of(message, 'fine'))}\n\n"
        return Response(events, media_type=media_type)

    async with (
        http_server(answer) as url,
        ServerBench(tmp_path, odd=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        await bench.servers.settle()
        assert await bench.call("mcp__odd__echo") == "fine"


@pytest.mark.parametrize("size", [1, 2, 1000])
@pytest.mark.parametrize(
    "sent",
    [
        "\ufeff: hello\n\ndata: @\n\n",
        "id: 1\r\ndata: @\r\n\r\n",
        "id: 1\rretry: 5\r\rdata: @\r\r: and on\r",
        "@",
        "\ufeff\n@\n",
    ],
)
async def test_events_are_read_with_each_end_of_lines_and_a_message_in_their_place(
    sent: str, size: int
) -> None:
    message = {"jsonrpc": "2.0", "id": 3, "result": {"content": []}}
    body = sent.replace("@", json.dumps(message)).encode()

    class Pieces(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for at in range(0, len(body), size):
                yield body[at : at + size]

    response = httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Pieces())
    fitted = b"".join([each async for each in _FittedEvents(response, ServerAnswers("odd"), 3)])
    data = [
        json.loads(line[5:]) for line in fitted.splitlines() if line.startswith(b"data:") and line[5:].strip()
    ]

    assert data == [message]


@pytest.mark.parametrize("asked", [None, 3])
@pytest.mark.parametrize(
    ("wait", "bounded"),
    [
        ("0", "500"),
        ("000", "500"),
        ("1", "500"),
        ("499", "500"),
        ("00000499", "500"),
        ("500", "500"),
        ("3000", "3000"),
        ("-1", "-1"),
        ("soon", "soon"),
        ("", ""),
    ],
)
async def test_a_server_that_wants_its_stream_opened_again_at_once_waits_for_half_a_second(
    wait: str, bounded: str, asked: int | None
) -> None:
    response = httpx2.Response(
        200,
        headers={"content-type": "text/event-stream"},
        content=f"id: 1\nretry: {wait}\ndata:\n\n".encode(),
    )
    fitted = b"".join([each async for each in _FittedEvents(response, ServerAnswers("odd"), asked)])

    waits = [line[6:].strip() for line in fitted.splitlines() if line.startswith(b"retry:")]
    assert waits == [bounded.encode()]


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("sign", "media_type"),
    [
        ('event: ping\ndata: {"type": "ping", "id": 1}', "text/event-stream"),
        ("data: still at work", "text/event-stream"),
        ("data: 17", "text/event-stream"),
        ("data: []", "text/event-stream"),
        ("id: 4\nevent: heartbeat\ndata: {}", "text/event-stream"),
        ('data: {"type": "ping"}', "text/plain"),
    ],
)
async def test_a_sign_of_life_before_an_answer_ends_no_call(sign: str, media_type: str, tmp_path: Path) -> None:
    async def answer(_request: Request, message: dict[str, Any]) -> Response:
        events = f"{sign}\n\n{sign}\n\ndata: {json.dumps(result_of(message, 'fine'))}\n\n{sign}\n\n"
        return Response(events, media_type=media_type)

    async with (
        http_server(answer) as url,
        ServerBench(tmp_path, odd=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        await bench.servers.settle()
        assert await bench.call("mcp__odd__echo") == "fine"


@pytest.mark.long
async def test_an_answer_that_is_too_long_is_told_as_such(tmp_path: Path) -> None:
    async def answer(_request: Request, message: dict[str, Any]) -> Response:
        return JSONResponse(result_of(message, "x" * 20_000_000))

    async with (
        http_server(answer) as url,
        ServerBench(tmp_path, odd=McpServerTable(url=url, timeout_secs=120)) as bench,
    ):
        await bench.servers.settle()
        with pytest.raises(ToolError, match="it is longer than 17 MB"):
            await bench.call("mcp__odd__echo")


@pytest.mark.parametrize("pattern", [r"^(?<year>\d+)$", r"^\p{L}+$", "["])
def test_a_pattern_of_another_language_is_left_to_the_server(pattern: str) -> None:
    text: JsonObject = {"type": "string", "pattern": pattern}
    adapted = adapt_schema({"type": "object", "properties": {"a": text, "b": {**text, "pattern": "^x"}}}).schema

    assert adapted["properties"] == {"a": {"type": "string"}, "b": {"type": "string", "pattern": "^x"}}
    assert find_schema_problem(adapted) is None


@pytest.mark.parametrize(
    "place", ["²", "9" * 5_000, "7", "-1", ""], ids=["other digits", "many", "behind", "before", "none"]
)
def test_a_reference_to_no_place_of_a_list_leads_nowhere(place: str) -> None:
    referring = {"$ref": f"#/anyOf/{place}", "description": "d"}
    schema: JsonObject = {"type": "object", "properties": {"a": referring}, "anyOf": [{"required": ["a"]}, {}]}

    assert adapt_schema(schema).schema["properties"] == {"a": {"description": "d"}}


@pytest.mark.parametrize("union", ["allOf", "anyOf", "oneOf"])
def test_a_schema_whose_branches_lead_back_to_it_is_read_once(union: str) -> None:
    itself = [{"$ref": "#/$defs/Filter"}] * 6
    filter = {"type": "object", "properties": {"field": {"type": "string"}}, union: itself}
    adapted = adapt_schema({"type": "object", "$defs": {"Filter": filter}, union: itself}).schema

    assert adapted["properties"] == {"field": {"type": "string"}}


def test_a_schema_of_many_branches_in_branches_is_read_to_a_limit() -> None:
    levels = {
        f"L{at}": {"allOf": [{"$ref": f"#/$defs/L{at + 1}"}] * 6, "properties": {f"p{at}": {"type": "string"}}}
        for at in range(20)
    }
    adapted = adapt_schema({"$defs": levels, "allOf": [{"$ref": "#/$defs/L0"}]}).schema

    assert isinstance(properties := adapted["properties"], dict)
    assert "p0" in properties


def test_a_schema_within_itself_is_written_out_twice_and_no_more() -> None:
    nested = {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Block"}},
        },
    }
    schema = {"type": "object", "properties": {"block": {"$ref": "#/$defs/Block"}}, "$defs": {"Block": nested}}

    assert json.dumps(adapt_schema(schema).schema).count("children") == 2


def test_a_list_that_is_the_whole_result_is_read() -> None:
    answers = ServerAnswers("odd")
    answers.note_request({"id": 1, "method": "tools/list"})
    (message,) = answers.read({"id": 1, "result": [{"name": "ok", "inputSchema": PLAIN}]})

    assert message["result"]["tools"] == [{"name": "ok", "inputSchema": PLAIN}]  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    "line", [{"msg": "read"}, {"error": "slow"}, {"id": 1, "msg": "read"}, {"jsonrpc": "2.0"}]
)
def test_a_line_of_a_log_answers_no_request(line: JsonObject) -> None:
    answers = ServerAnswers("odd")
    answers.note_request({"id": 1, "method": "initialize"})

    assert answers.read(line) == []
    assert answers.read({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}})


@pytest.mark.parametrize(
    ("meta", "is_offered"),
    [
        ({"ui": {"visibility": ["app"]}}, False),
        ({"ui": {"visibility": []}}, False),
        ({"ui": {"visibility": ["model", "app"]}}, True),
        ({"ui": {"resourceUri": "ui://viewer"}}, True),
        ({"ui": {"visibility": "app"}}, True),
        ([], True),
        (None, True),
    ],
)
def test_a_tool_that_a_server_keeps_for_its_own_interface_is_not_offered(
    meta: JsonValue, is_offered: bool
) -> None:
    answers = ServerAnswers("odd")
    answers.note_request({"id": 1, "method": "tools/list"})
    tools: list[JsonValue] = [{"name": "ok", "inputSchema": PLAIN, "_meta": meta}]
    (message,) = answers.read({"id": 1, "result": {"tools": tools}})

    assert bool(message["result"]["tools"]) is is_offered  # type: ignore[index,call-overload]


def test_a_description_has_no_indentation_of_the_source_of_its_server() -> None:
    described = "\n        Read a file.\n          - once\n        Nothing else.\n      "
    tool = make_offered_tool("odd", "ok", described, PLAIN)

    assert tool.outline == "Read a file.\n  - once\nNothing else."
    assert make_offered_tool("odd", "ok", "Read.\n\n    path: a", PLAIN).outline == "Read.\n\npath: a"
