"""The parsers of `quorum fleet`, one for each action."""

from __future__ import annotations

import argparse

from quorum.command_line.argument_parser import CommandParser, Example, parse_count, parse_session_name
from quorum.command_line.shared_options import add_limits, add_mode, add_models, add_places
from quorum.options import FleetOptions

_SESSIONS = "the id of a session, or its beginning; none: all"


def _submit_parser() -> CommandParser:
    parser = CommandParser(
        "quorum fleet submit",
        "Submit sessions: one for each line of a file, or for each open pull request.",
        "A line is a JSON object with a prompt, and optionally cwd (the folder, by default this one), name and "
        "key: of all requests with the same key, only the first is ever run. Either all lines are submitted or "
        "none. With --prs, the pull requests of the repository of this folder are asked of gh, and each is "
        "submitted once for each of its heads. The ids of the sessions are printed.",
        examples=(
            Example("quorum fleet submit prompts.jsonl", "in the current folder"),
            Example('echo \'{"prompt": "fix the lint errors"}\' | quorum fleet submit -', "from stdin"),
            Example("quorum fleet submit --prs", "have every open pull request reviewed"),
        ),
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        default="",
        help="the requests, one JSON object per line; - reads stdin",
    )
    parser.add_argument(
        "--prs", action="store_true", help="one session for each open pull request, which gh lists"
    )
    parser.add_argument(
        "--prompt", metavar="TEXT", default="", help="with --prs: what to do, instead of a review"
    )
    parser.add_argument(
        "--retry-failed",
        action="store_true",
        help="submit a key again whose session failed, was cancelled or did not complete",
    )
    add_places(parser)
    return parser


def _work_parser() -> CommandParser:
    parser = CommandParser(
        "quorum fleet work",
        "Run submitted sessions, on this machine, until interrupted.",
        "Only sessions in this folder or below are run, in the review mode and with the models of this "
        "machine's settings: a submission chooses neither. A call that needs you is left open for quorum "
        "inbox, and its answer queues the session again. Start it on as many machines as you like.",
        examples=(
            Example("quorum fleet work --concurrency 4 -C /srv/checkouts", "four sessions at once"),
            Example(
                "quorum fleet work --until-empty --mode accept-edits", "for a job of continuous integration"
            ),
        ),
    )
    parser.add_argument(
        "--concurrency", metavar="N", type=parse_count, default=1, help="sessions at once; 1 is the default"
    )
    parser.add_argument("--until-empty", action="store_true", help="end when no session is queued")
    _add_session_options(parser)
    return parser


def _advance_parser() -> CommandParser:
    parser = CommandParser(
        "quorum fleet advance",
        "Run one submitted session until it ends or a review needs you, as a worker does.",
        "It prints one JSON object. The exit code is 3 where a review is left open and 75 where the session "
        "cannot be run now, because another process has it or the database is away.",
        examples=(Example("quorum fleet advance 01a20ade-cc70-72e5-b337-42a20402355c", "in this process"),),
    )
    parser.add_argument("session", metavar="ID", help="the whole id of the session")
    parser.add_argument(
        "--owner", metavar="FD", type=int, help="end when the other end of this descriptor is closed"
    )
    _add_session_options(parser)
    return parser


def _build_status_parser() -> CommandParser:
    parser = CommandParser(
        "quorum fleet status",
        "List the submitted sessions and how far they are.",
        examples=(Example("quorum fleet status --watch", "drawn again every two seconds"),),
    )
    parser.add_argument("--watch", action="store_true", help="show it again every two seconds")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    add_places(parser)
    return parser


def _build_results_parser() -> CommandParser:
    parser = CommandParser(
        "quorum fleet results",
        "Print what came of the sessions that have ended, one JSON object per line.",
        "Each is the object of quorum run --output json, with the name of the session in front.",
        examples=(Example("quorum fleet results | jq -r .text", "the answers"),),
    )
    parser.add_argument("session", metavar="ID", type=parse_session_name, nargs="*", help=_SESSIONS)
    add_places(parser)
    return parser


def _cancel_parser() -> CommandParser:
    parser = CommandParser(
        "quorum fleet cancel",
        "Take sessions from the queue; those that run are interrupted.",
        examples=(Example("quorum fleet cancel --all", "everything that has not ended"),),
    )
    parser.add_argument(
        "session",
        metavar="ID",
        type=parse_session_name,
        nargs="*",
        help="the id of a session, or its beginning",
    )
    parser.add_argument("--all", action="store_true", help="all sessions that have not ended")
    add_places(parser)
    return parser


def _add_session_options(parser: CommandParser) -> None:
    add_models(parser)
    add_mode(parser)
    add_limits(parser)
    add_places(parser, quiet="print only errors on stderr")


FLEET_PARSERS = {
    "submit": _submit_parser,
    "status": _build_status_parser,
    "work": _work_parser,
    "advance": _advance_parser,
    "results": _build_results_parser,
    "cancel": _cancel_parser,
}
"""By the word of the action."""


def build_fleet_options(given: argparse.Namespace) -> FleetOptions:
    """What was given on the command line."""
    named = getattr(given, "session", ())
    return FleetOptions(
        file=getattr(given, "file", ""),
        pull_requests=getattr(given, "prs", False),
        prompt=getattr(given, "prompt", ""),
        retry_failed=getattr(given, "retry_failed", False),
        sessions=(named,) if isinstance(named, str) else tuple(named),
        all=getattr(given, "all", False),
        concurrency=getattr(given, "concurrency", 1),
        until_empty=getattr(given, "until_empty", False),
        watch=getattr(given, "watch", False),
        json=getattr(given, "json", False),
        owner=getattr(given, "owner", None),
    )
