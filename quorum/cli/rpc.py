"""`quorum rpc`: one request to an app that listens, for scripts and for looking."""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import suppress

from infrastructure.remote.framing import MOST_ANSWER_BYTES, FrameError, FrameReader, encode_frame
from infrastructure.remote.peer import identify_peer
from quorum.cli.errors import UsageError
from quorum.options import RpcOptions

_ERROR = 1
_CONNECT_SECS, _ANSWER_SECS = 5.0, 60.0
_CHUNK_BYTES = 1 << 16
_TOKEN_BYTES = 4096


def print_answer(options: RpcOptions) -> int:
    """Print the result and return 0, or the error on stderr and return 1. Raises UsageError."""
    request = {"jsonrpc": "2.0", "id": 1, "method": options.method, "params": _params(options)}
    answer = _send_request(options, json.dumps(request).encode())
    if (error := answer.get("error")) is not None:
        print(_render_json(error), file=sys.stderr)
        return _ERROR
    print(_render_json(answer.get("result")))
    return 0


def _params(options: RpcOptions) -> dict[str, object]:
    text = sys.stdin.read() if options.params == "-" else options.params
    try:
        params = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the parameters are not JSON: {error}") from error
    if not isinstance(params, dict):
        raise UsageError('the parameters are one JSON object, such as {"last": 5}')
    if options.token is not None:
        params["token"] = _token(options.token)
    return params


def _token(descriptor: int) -> str:
    """Never a word of the command line, which others can see."""
    try:
        with open(descriptor, "rb") as handed:
            return handed.read(_TOKEN_BYTES).decode("utf-8", "replace").strip()
    except OSError as error:
        raise UsageError(f"the token cannot be read from descriptor {descriptor}: {error.strerror}") from error


def _send_request(options: RpcOptions, body: bytes) -> dict[str, object]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_CONNECT_SECS)
        try:
            connection.connect(os.fspath(options.socket))
            is_ours = identify_peer(connection).uid == os.geteuid()
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(
                f"nobody answers at {options.socket} ({why}); start one with: quorum --listen {options.socket}"
            ) from error
        if not is_ours:
            raise UsageError(f"the program that listens at {options.socket} runs for another user")
        connection.settimeout(_ANSWER_SECS)
        try:
            with suppress(BrokenPipeError):  # refused before it was read; the answer says why
                connection.sendall(encode_frame(body))
            answer = json.loads(_receive(connection))
        except TimeoutError as error:
            raise UsageError(f"no answer within {_ANSWER_SECS:g} s") from error
        except (OSError, FrameError, ValueError) as error:
            raise UsageError(f"what listens at {options.socket} gave no answer: {error}") from error
    if not isinstance(answer, dict):
        raise UsageError(f"what listens at {options.socket} is no quorum: its answer is none")
    return answer


def _receive(connection: socket.socket) -> bytes:
    frames = FrameReader(MOST_ANSWER_BYTES)
    while (body := frames.take()) is None:
        data = connection.recv(_CHUNK_BYTES)
        if not data:
            raise FrameError("the connection was closed")
        frames.feed(data)
    return body


def _render_json(value: object) -> str:
    """As JSON in which nothing could act on a terminal: what is not printed is spelt as JSON spells it."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
