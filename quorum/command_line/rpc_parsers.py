"""The options of the remote control: of the app that listens, and of `quorum rpc` that asks it."""

from __future__ import annotations

import argparse
from pathlib import Path

from domain.text.late_pattern import compile_late
from quorum.command_line.argument_parser import CommandParser, Example
from quorum.options import USUAL_SIZE, ListenOptions, RpcOptions

_SIZE = compile_late(r"([0-9]{1,4})[x×]([0-9]{1,4})")
_LEAST, _MOST = (10, 5), (500, 300)


def add_listening(parser: argparse.ArgumentParser) -> None:
    """Add the options of an app that listens."""
    group = parser.add_argument_group("remote control", "see docs/remote-control.md")
    group.add_argument(
        "--listen",
        metavar="SOCKET",
        type=Path,
        help="accept JSON-RPC requests on this Unix socket, only from your own processes",
    )
    group.add_argument("--headless", action="store_true", help="with --listen: without a terminal")
    group.add_argument(
        "--size",
        metavar="COLSxLINES",
        type=_parse_size,
        help="with --headless: the size of the screen; default 80x24",
    )
    group.add_argument(
        "--listen-approve",
        metavar="FD",
        type=parse_descriptor,
        help="with --listen: allow approval with a token, which is written to this open pipe or socket",
    )


def build_listen_options(parser: argparse.ArgumentParser, given: argparse.Namespace) -> ListenOptions:
    """What they come to; options that need another one are refused without it."""
    if given.listen is None and (given.headless or given.listen_approve is not None):
        parser.error("--headless and --listen-approve go with --listen SOCKET")
    if given.size is not None and not given.headless:
        parser.error("--size goes with --headless; with a terminal its size counts")
    return ListenOptions(
        socket=given.listen,
        headless=given.headless,
        size=given.size or USUAL_SIZE,
        approve=given.listen_approve,
    )


def build_rpc_parser() -> CommandParser:
    """Of `quorum rpc`."""
    parser = CommandParser(
        "quorum rpc",
        "Send one request to a listening quorum and print the result as JSON.",
        "Exit code 1: the method returned an error; 2: no app could be reached.",
        examples=(
            Example("quorum rpc --socket q.sock rpc.discover", "list the methods"),
            Example("quorum rpc --socket q.sock state.get", "what the app shows and does"),
        ),
    )
    parser.add_argument("--socket", metavar="SOCKET", type=Path, required=True, help="the socket it listens on")
    parser.add_argument(
        "--token-fd", metavar="FD", type=parse_descriptor, help="read the token of --listen-approve from here"
    )
    parser.add_argument("method", metavar="METHOD", help="for example state.get")
    parser.add_argument(
        "params", metavar="JSON", nargs="?", default="{}", help="its parameters, an object; - reads stdin"
    )
    return parser


def parse_rpc_options(words: list[str]) -> RpcOptions:
    """What `quorum rpc` was asked."""
    given = build_rpc_parser().parse_args(words)
    return RpcOptions(socket=given.socket, method=given.method, params=given.params, token=given.token_fd)


def _parse_size(text: str) -> tuple[int, int]:
    found = _SIZE.fullmatch(text)
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    if not all(least <= each <= most for each, least, most in zip(size, _LEAST, _MOST, strict=True)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size from 10x5 to 500x300, such as 120x40")
    return size


def parse_descriptor(text: str) -> int:
    """Read the number of an open descriptor. Raises ArgumentTypeError."""
    if not text.isdecimal() or len(text) > 6:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of an open descriptor")
    return int(text)
