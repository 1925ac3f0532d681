"""The options of `quorum serve`."""

from __future__ import annotations

import argparse
from pathlib import Path

from quorum.command_line.argument_parser import CommandParser, Example, parse_session_name
from quorum.command_line.rpc_parsers import parse_descriptor
from quorum.command_line.shared_options import (
    RESUME,
    SESSION,
    add_continue,
    add_limits,
    add_mode,
    add_models,
    add_places,
)
from quorum.options import USUAL_PORT, ServeOptions

_HIGHEST_PORT = 65535


def build_serve_parser() -> CommandParser:
    """Of `quorum serve`."""
    parser = CommandParser(
        "quorum serve",
        "Open the app in a browser, and answer reviews on a page for a phone.",
        "It listens on this machine only, and the link that it prints works once.",
        examples=(
            Example("quorum serve", "print a link that opens the app of this folder"),
            Example("quorum serve --continue --port 0", "the latest session of this folder, at any free port"),
            Example("quorum serve --approvals", "with a page of pending reviews, at /approvals"),
            Example(
                "quorum serve --address 192.0.2.7 --tls-cert c.pem --tls-key k.pem", "for other machines; asks"
            ),
        ),
    )
    where = parser.add_argument_group("where it listens", "see docs/browser.md")
    where.add_argument(
        "--port", metavar="PORT", type=_parse_port, default=USUAL_PORT, help="default 8765; 0: any free one"
    )
    where.add_argument("--address", metavar="IP", default="", help="default: loopback, under a name of its own")
    where.add_argument(
        "--host-name",
        dest="host_names",
        metavar="NAME",
        action="append",
        default=[],
        help="a name by which browsers reach it; requests by another are refused; repeat for more",
    )
    where.add_argument("--tls-cert", metavar="FILE", type=Path, help="the certificate, in PEM")
    where.add_argument("--tls-key", metavar="FILE", type=Path, help="its private key, in PEM")
    where.add_argument(
        "--password-file", metavar="FILE", type=Path, help="with --address: read the password from here"
    )
    reviews = parser.add_argument_group("pending reviews")
    reviews.add_argument("--approvals", action="store_true", help="serve the page of pending reviews as well")
    reviews.add_argument(
        "--socket",
        metavar="SOCKET",
        type=Path,
        help="with --approvals: those of the quorum that listens here, and no app",
    )
    reviews.add_argument(
        "--token-fd",
        metavar="FD",
        type=parse_descriptor,
        help="with --socket: read the token of --listen-approve from here; without it one can only reject",
    )
    going_on = parser.add_mutually_exclusive_group()
    add_continue(going_on)
    going_on.add_argument(
        RESUME, metavar="ID", type=parse_session_name, help=f"continue this session: {SESSION}"
    )
    add_models(parser)
    add_mode(parser)
    add_limits(parser)
    add_places(parser)
    return parser


def build_serve_options(parser: argparse.ArgumentParser, given: argparse.Namespace) -> ServeOptions:
    """What was asked; options that need another one are refused without it."""
    if given.socket is not None and not given.approvals:
        parser.error("--socket goes with --approvals")
    if given.token_fd is not None and given.socket is None:
        parser.error("--token-fd goes with --socket")
    return ServeOptions(
        address=given.address,
        port=given.port,
        host_names=tuple(given.host_names),
        tls_cert=given.tls_cert,
        tls_key=given.tls_key,
        password_file=given.password_file,
        approvals=given.approvals,
        socket=given.socket,
        token=given.token_fd,
    )


def _parse_port(text: str) -> int:
    if not text.isdecimal() or int(text) > _HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no port from 0 to {_HIGHEST_PORT}")
    return int(text)
