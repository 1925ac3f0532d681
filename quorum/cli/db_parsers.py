"""The parsers of `quorum db`, one for each action."""

from __future__ import annotations

from quorum.cli.argument_parser import CommandParser, Example
from quorum.cli.shared_options import add_places


def _status_parser() -> CommandParser:
    parser = CommandParser(
        "quorum db status",
        "Print which version of its tables the database of the sessions has.",
        "The exit code is 1 where they must be upgraded.",
        examples=(Example("quorum db status", "of the database that [storage] url names"),),
    )
    add_places(parser)
    return parser


def _upgrade_parser() -> CommandParser:
    parser = CommandParser(
        "quorum db upgrade",
        "Bring the tables of the database to the version that this quorum needs.",
        "In PostgreSQL it makes them where there are none yet. All of it is done, or nothing.",
        examples=(Example("quorum db upgrade", "once for all machines that share the database"),),
    )
    add_places(parser)
    return parser


DB_PARSERS = {"status": _status_parser, "upgrade": _upgrade_parser}
"""By the word of the action."""
