"""`quorum rpc`: one request to an app that listens, for scripts and for looking."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from domain.lazy_dataclass import dataclass
from quorum.command_line.command import CliCommand, argument
from quorum.command_line.options import StandaloneOptions
from quorum.command_line.values import parse_descriptor
from quorum.errors import UsageError

_ERROR = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcOptions(StandaloneOptions):
    """What `quorum rpc` asks of which app. `params` is JSON, or "-" for standard input; `token` is the
    descriptor from which the token is read.
    """

    socket: Path = Path()
    method: str = ""
    params: str = "{}"
    token: int | None = None


def _print_answer(options: RpcOptions, _root: Path) -> int:
    """Print the result and return 0, or the error on stderr and return 1. Raises UsageError."""
    from quorum.rpc.client import NoAnswer, send_request

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
        from quorum.rpc.client import read_token

        params["token"] = read_token(options.token)
    return params


def _render_json(value: object) -> str:
    """As JSON in which nothing could act on a terminal: what is not printed is spelt as JSON spells it."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


COMMAND = CliCommand(
    RpcOptions,
    _print_answer,
    details="Exit code 1: the method returned an error; 2: no app could be reached.",
    arguments=(
        argument("--socket", metavar="SOCKET", type=Path, required=True, help="the socket it listens on"),
        argument(
            "--token-fd",
            dest="token",
            metavar="FD",
            type=parse_descriptor,
            help="read the token of --listen-approve from here",
        ),
        argument("method", metavar="METHOD", help="for example state.get"),
        argument("params", metavar="JSON", nargs="?", help="its parameters, an object; - reads stdin"),
    ),
    examples=(
        ("quorum rpc --socket q.sock rpc.discover", "list the methods"),
        ("quorum rpc --socket q.sock state.get", "what the app shows and does"),
    ),
)
