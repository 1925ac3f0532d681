"""The parsers of `quorum sessions`, one for each action."""

from __future__ import annotations

import argparse
from pathlib import Path

from quorum.cli.option_parsers import SESSION, add_fork, count, option_parser, session_name


def sessions_parser() -> argparse.ArgumentParser:
    """For a command line without an action that there is; it says which there are."""
    parser = option_parser(
        "quorum sessions",
        "List, show, export, fork, check, clear out or go on with recorded sessions. "
        "Each action has options of its own: quorum sessions ACTION --help.",
    )
    parser.add_argument("action", choices=tuple(SESSION_PARSERS))
    return parser


def _list_parser() -> argparse.ArgumentParser:
    parser = option_parser("quorum sessions list", "The sessions of this folder, the one used last first.")
    parser.add_argument("--all", action="store_true", help="those of every folder")
    parser.add_argument("--json", action="store_true", help="as one array of JSON objects")
    parser.add_argument("-n", metavar="N", type=count, dest="limit", help="at most so many")
    return parser


def _show_parser() -> argparse.ArgumentParser:
    parser = option_parser("quorum sessions show", "What happened in a session; long outputs are cut.")
    parser.add_argument("session", metavar="ID", type=session_name, help=SESSION)
    return parser


def _export_parser() -> argparse.ArgumentParser:
    parser = option_parser("quorum sessions export", "All of a session, in a form to keep or to pass on.")
    parser.add_argument("session", metavar="ID", type=session_name, help=SESSION)
    parser.add_argument(
        "--format",
        choices=("md", "json", "html", "canonical"),
        default="md",
        help="canonical: without times and ids, the same for the same course of events; md is the default",
    )
    parser.add_argument("-o", metavar="FILE", type=Path, dest="file", help="write to this file, not to stdout")
    return parser


def _fork_parser() -> argparse.ArgumentParser:
    parser = option_parser("quorum sessions fork", "Copy a session and print the id of the copy.")
    parser.add_argument("session", metavar="ID", type=session_name, help=SESSION)
    parser.add_argument(
        "--before", metavar="TURN", type=count, help="only what was before the turn of this number, see show"
    )
    return parser


def _verify_parser() -> argparse.ArgumentParser:
    parser = option_parser(
        "quorum sessions verify",
        "Check that no record was changed. Exit code 0: all hold; 1: a record does not fit.",
    )
    parser.add_argument("--all", action="store_true", help="every session of every folder")
    parser.add_argument("session", metavar="ID", type=session_name, nargs="?", help=f"{SESSION}, the default")
    return parser


def _prune_parser() -> argparse.ArgumentParser:
    parser = option_parser(
        "quorum sessions prune",
        "Delete sessions of this folder for good: those that fit every option given, but none that is in use.",
    )
    parser.add_argument("--older-than", metavar="DAYS", type=_amount, help="those not used for so many days")
    parser.add_argument("--keep", metavar="N", type=_amount, help="all but the N used last")
    parser.add_argument("--all", action="store_true", help="those of every folder")
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    return parser


def _redact_parser() -> argparse.ArgumentParser:
    parser = option_parser("quorum sessions redact", "Take a text out of a session's record for good.")
    parser.add_argument("session", metavar="ID", type=session_name, help=SESSION)
    parser.add_argument(
        "text", metavar="TEXT", help="the text; - reads it from stdin, which no shell remembers"
    )
    return parser


def _resume_parser() -> argparse.ArgumentParser:
    parser = option_parser("quorum sessions resume", "Go on with a session, as quorum --resume ID does.")
    parser.add_argument("session", metavar="ID", type=session_name, help=SESSION)
    add_fork(parser)
    parser.add_argument("prompt", nargs="?", help="what to begin with")
    return parser


def _amount(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 upwards")
    return int(text)


SESSION_PARSERS = {
    "list": _list_parser,
    "show": _show_parser,
    "export": _export_parser,
    "fork": _fork_parser,
    "verify": _verify_parser,
    "prune": _prune_parser,
    "redact": _redact_parser,
    "resume": _resume_parser,
}
