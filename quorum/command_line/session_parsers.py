"""The parsers of `quorum sessions`, one for each action."""

from __future__ import annotations

from pathlib import Path

from quorum.command_line.argument_parser import (
    CommandParser,
    Example,
    parse_amount,
    parse_count,
    parse_session_name,
)
from quorum.command_line.shared_options import (
    SESSION,
    add_debug,
    add_fork,
    add_limits,
    add_mode,
    add_models,
    add_places,
    add_session,
)


def _list_parser() -> CommandParser:
    parser = CommandParser(
        "quorum sessions list",
        "List the sessions of this folder, most recently used first.",
        examples=(
            Example("quorum sessions list -n 5", "the five used last"),
            Example("quorum sessions list --all --json", "of all folders, for another program"),
        ),
    )
    parser.add_argument("--all", action="store_true", help="of all folders")
    parser.add_argument("--json", action="store_true", help="as one array of JSON objects")
    parser.add_argument("-n", metavar="N", type=parse_count, dest="limit", help="at most this many")
    add_places(parser)
    return parser


def _show_parser() -> CommandParser:
    parser = CommandParser(
        "quorum sessions show",
        "Print what happened in a session; long outputs are shortened.",
        examples=(Example("quorum sessions show latest | less", "the session of this folder used last"),),
    )
    add_places(parser)
    add_session(parser)
    return parser


def _diff_parser() -> CommandParser:
    parser = CommandParser(
        "quorum sessions diff",
        "Print what a session changed in the files, as a unified diff.",
        "It compares the recorded contents: how the session left the files with how they were before it.",
        examples=(
            Example("quorum sessions diff latest", "the session of this folder used last"),
            Example("quorum sessions diff 0199ab > changes.patch", "to a file, without colours"),
        ),
    )
    add_places(parser)
    add_session(parser)
    return parser


def _export_parser() -> CommandParser:
    parser = CommandParser(
        "quorum sessions export",
        "Export a complete session.",
        examples=(
            Example("quorum sessions export latest -o session.md", "as Markdown, to a file"),
            Example("quorum sessions export --format html 0199ab > session.html", "as a page"),
            Example("quorum sessions export --signed latest -o session.cose", "signed, for an audit"),
        ),
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        choices=("md", "json", "html", "canonical"),
        default="md",
        help="md (the default), json, html, or canonical: deterministic, without times and ids",
    )
    parser.add_argument("-o", metavar="FILE", type=Path, dest="file", help="write to this file, not to stdout")
    parser.add_argument(
        "--signed",
        action="store_true",
        help="write one file (-o) with your signature, which can be checked without quorum",
    )
    add_places(parser)
    add_session(parser)
    return parser


def _anchor_parser() -> CommandParser:
    parser = CommandParser(
        "quorum sessions anchor",
        "Print and note how far sessions have come.",
        "Kept elsewhere, that shows later whether events were cut off: quorum sessions verify --anchors FILE.",
        examples=(
            Example("quorum sessions anchor latest", "the session of this folder used last"),
            Example("quorum sessions anchor --all -o /mnt/backup/anchors.jsonl", "all, also to another disk"),
        ),
    )
    parser.add_argument("--all", action="store_true", help="every session of every folder, and of subagents")
    parser.add_argument("-o", metavar="FILE", type=Path, dest="file", help="add them to this file, too")
    add_places(parser)
    parser.add_argument(
        "session", metavar="ID", type=parse_session_name, nargs="?", help=f"{SESSION}, the default"
    )
    return parser


def _fork_parser() -> CommandParser:
    parser = CommandParser(
        "quorum sessions fork",
        "Copy a session and print the id of the copy.",
        examples=(Example("quorum sessions fork latest --before 3", "only its first two turns"),),
    )
    parser.add_argument(
        "--before",
        metavar="TURN",
        type=parse_count,
        help="only the part before the turn with this number, see show",
    )
    add_places(parser)
    add_session(parser)
    return parser


def _verify_parser() -> CommandParser:
    parser = CommandParser(
        "quorum sessions verify",
        "Check that no event was changed.",
        "Exit code 0: all sessions are intact; 1: an event does not match.",
        examples=(Example("quorum sessions verify --all", "every session of every folder"),),
    )
    parser.add_argument("--all", action="store_true", help="every session of every folder")
    parser.add_argument(
        "--anchors", metavar="FILE", type=Path, help="compare with the anchors in this file, too"
    )
    add_places(parser)
    parser.add_argument(
        "session", metavar="ID", type=parse_session_name, nargs="?", help=f"{SESSION}, the default"
    )
    return parser


def _prune_parser() -> CommandParser:
    parser = CommandParser(
        "quorum sessions prune",
        "Delete sessions of this folder permanently.",
        "It deletes those that match every given option, except sessions in use.",
        examples=(
            Example("quorum sessions prune --older-than 30 --dry-run", "list what would be deleted"),
            Example("quorum sessions prune --all --keep 100 --yes", "keep the 100 used last; do not ask"),
        ),
    )
    parser.add_argument(
        "--older-than", metavar="DAYS", type=parse_amount, help="those not used for this many days"
    )
    parser.add_argument("--keep", metavar="N", type=parse_amount, help="all but the N used last")
    parser.add_argument("--all", action="store_true", help="of all folders")
    parser.add_argument("--dry-run", action="store_true", help="only list what would be deleted")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_places(parser)
    return parser


def _redact_parser() -> CommandParser:
    parser = CommandParser(
        "quorum sessions redact",
        "Remove a text from the events of a session permanently.",
        examples=(
            Example("quorum sessions redact latest - < secret.txt", "the text is not in the shell history"),
        ),
    )
    add_places(parser)
    add_session(parser)
    parser.add_argument(
        "text", metavar="TEXT", help="the text; - reads it from stdin, so that it is not in the shell history"
    )
    return parser


def _resume_parser() -> CommandParser:
    parser = CommandParser(
        "quorum sessions resume",
        "Resume a session, as quorum --resume ID does.",
        examples=(Example("quorum sessions resume latest --fork", "continue in a copy"),),
    )
    add_fork(parser)
    add_models(parser)
    add_mode(parser)
    add_limits(parser)
    add_places(parser, quiet="print no parting words on stderr")
    add_debug(parser)
    add_session(parser)
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help="the first prompt")
    return parser


SESSION_PARSERS = {
    "list": _list_parser,
    "show": _show_parser,
    "diff": _diff_parser,
    "export": _export_parser,
    "fork": _fork_parser,
    "verify": _verify_parser,
    "anchor": _anchor_parser,
    "prune": _prune_parser,
    "redact": _redact_parser,
    "resume": _resume_parser,
}
