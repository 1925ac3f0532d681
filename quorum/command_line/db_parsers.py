"""The parsers of `quorum db`, one for each action."""

from __future__ import annotations

from quorum.command_line.argument_parser import CommandParser, Example
from quorum.command_line.shared_options import add_places


def _build_status_parser() -> CommandParser:
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


def _copy_parser() -> CommandParser:
    parser = CommandParser(
        "quorum db copy",
        "Copy all sessions, with undo and long outputs, into another database.",
        "Each session is checked where it arrives. Begun again, it continues. A database that holds other "
        "sessions is refused. The exit code is 1 where something was not copied.",
        examples=(
            Example(
                "quorum db copy --to postgresql+psycopg://quorum@db.example.com/quorum", "from this machine"
            ),
            Example(
                "quorum db copy --from postgresql+psycopg://quorum@db.example.com/quorum "
                "--to sqlite:////home/me/ledger.sqlite",
                "and back",
            ),
        ),
    )
    parser.add_argument("--from", metavar="URL", dest="source", help="instead of [storage] url")
    parser.add_argument("--to", metavar="URL", dest="target", required=True, help="where to")
    add_places(parser)
    return parser


DB_PARSERS = {"status": _build_status_parser, "upgrade": _upgrade_parser, "copy": _copy_parser}
"""By the word of the action."""
