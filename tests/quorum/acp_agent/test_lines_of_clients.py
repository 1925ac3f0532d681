"""Lines that a client writes: odd ones are answered, or taken in a form that the SDK can handle."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from acp.agent.connection import AgentSideConnection
from acp.exceptions import RequestError
from acp.schema import NewSessionResponse, RequestPermissionResponse, ToolCallUpdate

from quorum.acp_agent.standard_io import SERVERS_OFFERED, StandardIoTransport, name_places, read_message

APPROVAL = {"outcome": {"outcome": "selected", "optionId": "allow"}}


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"rubbish", -32700),
        (b'{"id": NaN, "method": "session/list"}', -32700),
        (b'{"id": 1, "method": "session/list", "params": {"n": -Infinity}}', -32700),
        (b"[]", -32600),
        (b'[{"id": 1, "method": "session/list"}]', -32600),
        (b"{}", -32600),
        (b'{"result": {}}', -32600),
        (b'{"id": 1, "method": null}', -32600),
        (b'{"id": [1], "result": {}}', -32600),
        (b'{"id": {"a": 1}, "method": "session/list"}', -32600),
        (b'{"id": true, "result": {}}', -32600),
        (b'{"id": 1.5, "method": "session/list"}', -32600),
        (b'{"id": 1e400, "method": "session/list"}', -32600),
    ],
)
def test_what_is_no_message_is_refused(text: bytes, code: int) -> None:
    with pytest.raises(RequestError) as refused:
        read_message(text)

    assert refused.value.code == code


@pytest.mark.parametrize("id_", [0, "0", "", 10**40, None])
def test_ids_of_text_and_whole_numbers_are_kept_as_they_are(id_: object) -> None:
    assert read_message(line(id=id_, method="session/list", params={}))["id"] == id_


@pytest.mark.parametrize("params", [{}, {"params": None}])
def test_a_request_may_leave_out_its_parameters(params: dict[str, Any]) -> None:
    assert read_message(line(id=1, method="session/list", **params))["params"] == {}


@pytest.fixture
async def asked() -> AsyncIterator[tuple[Callable[[bytes], None], Awaitable[RequestPermissionResponse]]]:
    """A question to a client, and the way to write a line as the client."""
    (source, theirs), (unread, sink) = os.pipe(), os.pipe()
    transport = StandardIoTransport(source, sink)
    connection = AgentSideConnection(
        object(),  # type: ignore[arg-type]
        transport,
        use_unstable_protocol=True,
    )
    call = ToolCallUpdate(tool_call_id="c")
    with os.fdopen(theirs, "wb", buffering=0) as written:

        def write(text: bytes) -> None:
            written.write(text + b"\n")

        yield write, connection.request_permission("s", call, [])
        await connection.close()
    os.close(unread)


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32601, "message": "no such method"}, "result": APPROVAL},
        {"error": "no", "result": APPROVAL},
        {"error": [1]},
        {"error": False, "result": APPROVAL},
    ],
)
async def test_an_answer_with_an_error_approves_nothing(asked: Any, answer: dict[str, Any]) -> None:
    write, question = asked
    write(line(id=[0], result=APPROVAL))
    write(line(id=True, result=APPROVAL))
    write(line(id=0, **answer))

    with pytest.raises(RequestError):
        await question


@pytest.mark.parametrize(
    "said",
    [
        '"result": {"outcome": {"outcome": "cancelled"}}, "result": %s',
        '"result": {"outcome": {"outcome": "cancelled"}, "outcome": {"outcome": "selected", "optionId": "a"}}',
        '"result": {"outcome": {"outcome": "selected", "optionId": "reject", "optionId": "allow"}}',
        '"error": {"code": 1, "message": "m"}, "error": null, "result": %s',
    ],
)
async def test_an_answer_that_says_one_thing_twice_approves_nothing(asked: Any, said: str) -> None:
    write, question = asked
    write(f'{{"id": 0, {said.replace("%s", json.dumps(APPROVAL))}}}'.encode())

    with pytest.raises(RequestError, match="twice"):
        await question


async def test_an_answer_whose_error_is_null_is_its_result(asked: Any) -> None:
    write, question = asked
    write(line(id=0, error=None, result=APPROVAL))

    assert (await question).outcome.option_id == "allow"


def test_an_error_about_parameters_names_the_place_in_its_message_and_repeats_no_value() -> None:
    fault = {"type": "missing", "loc": ("prompt", 0, "text"), "msg": "Field required", "input": "secret"}
    error = {"code": -32602, "message": "Invalid params", "data": {"errors": [fault]}}

    named = name_places({"jsonrpc": "2.0", "id": 1, "error": error})["error"]

    assert named["message"] == "Invalid params: prompt.0.text: Field required"
    assert "secret" not in json.dumps(named)


@pytest.mark.parametrize("answer", [{"result": {}}, {"error": {"code": 1, "message": "x", "data": {"a": 1}}}])
def test_other_answers_stay_as_they_are(answer: dict[str, Any]) -> None:
    assert name_places(answer) == answer


class RecordingAgent:
    """Notes what the client wrote of the servers it offers with each session."""

    def __init__(self) -> None:
        self.offered: asyncio.Queue[object] = asyncio.Queue()

    async def new_session(self, **_parameters: Any) -> NewSessionResponse:
        # as settings are read, in a thread
        self.offered.put_nowait(await asyncio.to_thread(SERVERS_OFFERED.get))
        return NewSessionResponse(session_id="s")


async def test_servers_that_the_sdk_drops_are_known_where_their_session_opens_and_there_alone() -> None:
    (source, theirs), (unread, sink) = os.pipe(), os.pipe()
    agent = RecordingAgent()
    connection = AgentSideConnection(
        agent,  # type: ignore[arg-type]
        StandardIoTransport(source, sink),
        use_unstable_protocol=True,
    )
    offers: list[list[object]] = [[{"type": "ws", "name": "a"}, 5], []]
    with os.fdopen(theirs, "wb", buffering=0) as written:
        for number, servers in enumerate(offers):
            parameters = {"cwd": "/", "mcpServers": servers}
            written.write(line(id=number, method="session/new", params=parameters) + b"\n")
            assert await agent.offered.get() == servers
        await connection.close()
    os.close(unread)
