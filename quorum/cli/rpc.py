"""`quorum rpc`: one request to an app that listens, for scripts and for looking."""

from __future__ import annotations

import json
import sys

from quorum.errors import UsageError
from quorum.options import RpcOptions
from quorum.rpc.client import NoAnswer, send_request

_ERROR = 1
_TOKEN_BYTES = 4096


def print_answer(options: RpcOptions) -> int:
    """Print the result and return 0, or the error on stderr and return 1. Raises UsageError."""
    try:
        answer = send_request(options.socket, options.method, _parse_params(options))
    except NoAnswer as reason:
        raise UsageError(str(reason)) from reason
    if (error := answer.get("error")) is not None:
        print(_render_json(error), file=sys.stderr)
        return _ERROR
    print(_render_json(answer.get("result")))
    return 0


def _parse_params(options: RpcOptions) -> dict[str, object]:
    text = sys.stdin.read() if options.params == "-" else options.params
    try:
        params = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the parameters are not JSON: {error}") from error
    if not isinstance(params, dict):
        raise UsageError('the parameters are one JSON object, such as {"last": 5}')
    if options.token is not None:
        params["token"] = read_token(options.token)
    return params


def read_token(descriptor: int) -> str:
    """The token, from a descriptor: it is no word of the command line, which others see. Raises UsageError."""
    try:
        with open(descriptor, "rb") as handed:
            return handed.readline(_TOKEN_BYTES).decode("utf-8", "replace").strip()
    except OSError as error:
        raise UsageError(f"the token cannot be read from descriptor {descriptor}: {error.strerror}") from error


def _render_json(value: object) -> str:
    """As JSON in which nothing could act on a terminal: what is not printed is spelt as JSON spells it."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
