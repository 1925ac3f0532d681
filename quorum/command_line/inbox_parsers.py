"""The parsers of `quorum inbox`, one for each action."""

from __future__ import annotations

import argparse

from quorum.command_line.argument_parser import CommandParser, Example
from quorum.command_line.shared_options import add_places
from quorum.options import InboxOptions

_DIGEST = "the digest of what you approve, or at least 16 digits of it"


def _list_parser() -> CommandParser:
    parser = CommandParser(
        "quorum inbox list",
        "List the decisions that wait in any session.",
        "Those of all folders and, in PostgreSQL, of all machines that share the database.",
        examples=(Example("quorum inbox list --json", "for a script"),),
    )
    parser.add_argument("--json", action="store_true", help="print them as JSON")
    add_places(parser)
    return parser


def _show_parser() -> CommandParser:
    parser = CommandParser(
        "quorum inbox show",
        "Print all that a decision is about.",
        examples=(Example("quorum inbox show 5f0c2a9b", "the decision of this digest or session"),),
    )
    parser.add_argument("name", metavar="ID", help="the beginning of its digest, or of the id of its session")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    add_places(parser)
    return parser


def _approve_parser() -> CommandParser:
    parser = CommandParser(
        "quorum inbox approve",
        "Let exactly the call of this digest run.",
        "The process that has the session takes the answer within a second or two; without one, the call "
        "runs when the session is resumed. The exit code is 2 where the decision does not wait any more.",
        examples=(Example("quorum inbox approve 5f0c2a9b77d1e340", "what quorum inbox show has printed"),),
    )
    parser.add_argument("name", metavar="DIGEST", help=_DIGEST)
    add_places(parser)
    return parser


def _reject_parser() -> CommandParser:
    parser = CommandParser(
        "quorum inbox reject",
        "Do not let the call of this digest run.",
        examples=(Example('quorum inbox reject 5f0c2a9b77d1e340 --reason "use the test database"', ""),),
    )
    parser.add_argument("name", metavar="DIGEST", help=_DIGEST.replace("approve", "reject"))
    parser.add_argument("--reason", metavar="TEXT", help="why; the model reads it")
    add_places(parser)
    return parser


INBOX_PARSERS = {
    "list": _list_parser,
    "show": _show_parser,
    "approve": _approve_parser,
    "reject": _reject_parser,
}
"""By the word of the action."""


def build_inbox_options(given: argparse.Namespace) -> InboxOptions:
    """What was given on the command line."""
    return InboxOptions(
        name=getattr(given, "name", ""),
        reason=getattr(given, "reason", None) or None,
        json=getattr(given, "json", False),
    )
