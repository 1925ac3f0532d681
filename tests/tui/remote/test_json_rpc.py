from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.rpc.json_rpc import Code, JsonParams, RpcError, encode_invalid_request, handle_request, make_refusal

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


async def echo(method: str, params: JsonParams) -> object:
    if method == "refuse":
        raise make_refusal("not now", "busy")
    return {"method": method, "params": params}


async def answered(body: bytes) -> Any:
    reply = await handle_request(body, echo)
    return None if reply is None else json.loads(reply)


def request(**members: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


async def test_a_request_is_answered_under_its_id() -> None:
    assert await answered(request(id="a", method="m", params={"x": 1})) == {
        "jsonrpc": "2.0",
        "id": "a",
        "result": {"method": "m", "params": {"x": 1}},
    }


async def test_parameters_may_be_left_out() -> None:
    assert (await answered(request(id=1, method="m")))["result"]["params"] == {}


@pytest.mark.parametrize("method", ["m", "refuse"])
async def test_a_notification_is_answered_by_nothing(method: str) -> None:
    assert await answered(request(method=method)) is None


async def test_a_null_id_is_answered() -> None:
    assert (await answered(request(id=None, method="m")))["id"] is None


async def test_a_refusal_has_a_code_a_sentence_and_a_word() -> None:
    reply = await answered(request(id=7, method="refuse"))

    assert reply["error"] == {"code": -32000, "message": "not now", "data": {"reason": "busy"}}
    assert reply["id"] == 7


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"a": NaN}',
        b'{"a": "\\ud800"}',
        b"[" * 200_000,
        b"1" * 5_000,
    ],
)
async def test_what_is_no_json_is_a_parse_error(body: bytes) -> None:
    reply = await answered(body)

    assert (reply["id"], reply["error"]["code"]) == (None, Code.PARSE_ERROR)


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b'"x"',
        b"[1]",
        json.dumps({"id": 1, "method": "m"}).encode(),
        request(id=1),
        request(id=1, method=5),
        request(id=[1], method="m"),
        request(id=True, method="m"),
        request(id=1, method="m", params="x"),
    ],
)
async def test_what_is_no_request_is_an_invalid_one(body: bytes) -> None:
    assert (await answered(body))["error"]["code"] == Code.INVALID_REQUEST


async def test_parameters_by_place_are_refused() -> None:
    assert (await answered(request(id=1, method="m", params=[1])))["error"]["code"] == Code.INVALID_PARAMS


def test_what_ends_a_connection_is_an_error_without_an_id() -> None:
    printed = json.loads(encode_invalid_request("too long"))

    assert printed == {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "too long"}}


@pytest.mark.long
@given(ANY_JSON)
def test_any_json_gets_an_answer_or_is_a_notification(said: object) -> None:
    output = asyncio.run(answered(json.dumps(said).encode()))

    assert output is None or output["jsonrpc"] == "2.0"


@given(st.binary(max_size=300))
def test_any_bytes_get_an_answer(body: bytes) -> None:
    assert (asyncio.run(answered(body)) or {"error": 1})["error"]


async def test_a_result_that_is_no_text_anywhere_else_can_still_be_sent() -> None:
    async def strange(_method: str, _params: JsonParams) -> object:
        return {"path": "caf\udce9"}

    reply = await handle_request(request(id=1, method="m"), strange)

    assert reply is not None
    assert json.loads(reply)["result"] == {"path": "caf\udce9"}


def test_errors_keep_their_code() -> None:
    assert RpcError(Code.METHOD_NOT_FOUND, "x").code == -32601


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN"])
@pytest.mark.parametrize("place", ['"id": %s', '"id": 1, "params": {"value": %s}'])
async def test_a_number_that_cannot_be_written_again_is_no_json(place: str, number: str) -> None:
    reply = await answered(f'{{"jsonrpc": "2.0", "method": "any", {place % number}}}'.encode())

    assert reply["error"]["code"] == Code.PARSE_ERROR
