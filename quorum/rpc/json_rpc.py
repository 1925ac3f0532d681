"""JSON-RPC 2.0: requests read, answers and errors written. Batches are not taken."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NoReturn, TypeAlias

JsonParams: TypeAlias = dict[str, Any]
"""The named parameters of a request, as they came; each method looks at its own."""

Invoke: TypeAlias = Callable[[str, JsonParams], Awaitable[object]]
"""Carries a method out; its answer can be written as JSON. Raises RpcError."""

_Id: TypeAlias = str | int | float | None


class Code(IntEnum):
    """The kinds of error."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    REFUSED = -32000


class RpcError(Exception):
    """Why a request comes to nothing. `reason` is a word for programs, where there is more than one."""

    def __init__(self, code: Code, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.code, self.reason = code, reason


def make_refusal(message: str, reason: str) -> RpcError:
    """The app cannot or may not do it as things are."""
    return RpcError(Code.REFUSED, message, reason)


def build_invalid_params(message: str) -> RpcError:
    """The parameters are not what the method takes."""
    return RpcError(Code.INVALID_PARAMS, message)


@dataclass(frozen=True, slots=True)
class _RpcRequest:
    method: str
    params: JsonParams
    id: _Id
    is_notification: bool


async def handle_request(body: bytes, invoke: Invoke) -> bytes | None:
    """What a body comes to: the answer, an error, or None for a notification, whatever became of it."""
    try:
        request = _read(body)
    except _Unreadable as error:
        return _encode_reply(error.id, error=error.problem)
    try:
        result = await invoke(request.method, request.params)
    except RpcError as problem:
        return None if request.is_notification else _encode_reply(request.id, error=problem)
    return None if request.is_notification else _encode_reply(request.id, result=result)


def encode_invalid_request(why: str) -> bytes:
    """What is said before a connection ends that sent something which is no request at all."""
    return _encode_reply(None, error=RpcError(Code.INVALID_REQUEST, why))


class _Unreadable(Exception):
    def __init__(self, problem: RpcError, id: _Id = None) -> None:
        super().__init__(str(problem))
        self.problem, self.id = problem, id


def _read(body: bytes) -> _RpcRequest:
    try:
        said = json.loads(body.decode("utf-8"), parse_constant=_refuse_number)
        # Half a surrogate pair is not text, and a number beyond all floats could not be written again.
        json.dumps(said, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise _Unreadable(RpcError(Code.PARSE_ERROR, f"this is not JSON in UTF-8: {error}")) from error
    if not isinstance(said, dict):
        raise _Unreadable(RpcError(Code.INVALID_REQUEST, "a request is one object; batches are not taken"))
    id = said.get("id")
    if isinstance(id, bool) or not isinstance(id, str | int | float | None):
        raise _Unreadable(RpcError(Code.INVALID_REQUEST, "an id is a string or a number"))
    if said.get("jsonrpc") != "2.0":
        raise _Unreadable(RpcError(Code.INVALID_REQUEST, 'a request says "jsonrpc": "2.0"'), id)
    if not isinstance(method := said.get("method"), str):
        raise _Unreadable(RpcError(Code.INVALID_REQUEST, 'a request names its "method", a string'), id)
    params = said.get("params", {})
    if isinstance(params, list):
        raise _Unreadable(RpcError(Code.INVALID_PARAMS, "parameters are given by name, in an object"), id)
    if not isinstance(params, dict):
        raise _Unreadable(RpcError(Code.INVALID_REQUEST, '"params" is an object'), id)
    return _RpcRequest(method, params, id, is_notification="id" not in said)


def _refuse_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number of JSON")


def _encode_reply(id: _Id, *, result: object = None, error: RpcError | None = None) -> bytes:
    reply: dict[str, object] = {"jsonrpc": "2.0", "id": id}
    if error is None:
        reply["result"] = result
    else:
        data = {"data": {"reason": error.reason}} if error.reason else {}
        reply["error"] = {"code": int(error.code), "message": str(error), **data}
    # A result may hold half a surrogate pair, from a file's name say; escaped it is still JSON.
    return json.dumps(reply, allow_nan=False).encode("ascii")
