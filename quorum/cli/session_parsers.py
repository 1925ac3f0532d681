"""The parsers of `quorum sessions`, one for each action."""

from __future__ import annotations

import argparse
from pathlib import Path

from quorum.cli.option_parsers import SESSION, add_fork, count, option_parser, session_name


def sessions_parser() -> argparse.ArgumentParser:
    """For a command line without an action that there is; it says which there are."""
    parser = option_parser(
        "quorum sessions",
        "List, show, export, fork, verify, delete or resume recorded sessions. Each action has its "
        "own options: quorum sessions ACTION --help.",
    )
    parser.add_argument("action", choices=tuple(SESSION_PARSERS))
    return parser


def _list_parser() -> argparse.ArgumentParser:
    parser = option_parser(
        "quorum sessions list", "List the sessions of this folder, most recently used first."
    )
    parser.add_argument("--all", action="store_true", help="of all folders")
    parser.add_argument("--json", action="store_true", help="as one array of JSON objects")
    parser.add_argument("-n", metavar="N", type=count, dest="limit", help="at most this many")
    return parser


def _show_parser() -> argparse.ArgumentParser:
    parser = option_parser(
        "quorum sessions show", "Print what happened in a session; long outputs are shortened."
    )
    parser.add_argument("session", metavar="ID", type=session_name, help=SESSION)
    return parser


def _export_parser() -> argparse.ArgumentParser:
    parser = option_parser("quorum sessions export", "Export a complete session.")
    parser.add_argument("session", metavar="ID", type=session_name, help=SESSION)
    parser.add_argument(
        "--format",
        choices=("md", "json", "html", "canonical"),
        default="md",
        help="canonical: deterministic, without times and ids; md is the default",
    )
    parser.add_argument("-o", metavar="FILE", type=Path, dest="file", help="write to this file, not to stdout")
    return parser


def _fork_parser() -> argparse.ArgumentParser:
    parser = option_parser("quorum sessions fork", "Copy a session and print the id of the copy.")
    parser.add_argument("session", metavar="ID", type=session_name, help=SESSION)
    parser.add_argument(
        "--before", metavar="TURN", type=count, help="only the part before the turn with this number, see show"
    )
    return parser


def _verify_parser() -> argparse.ArgumentParser:
    parser = option_parser(
        "quorum sessions verify",
        "Check that no event was changed. Exit code 0: all sessions are intact; 1: an event does not match.",
    )
    parser.add_argument("--all", action="store_true", help="every session of every folder")
    parser.add_argument("session", metavar="ID", type=session_name, nargs="?", help=f"{SESSION}, the default")
    return parser


def _prune_parser() -> argparse.ArgumentParser:
    parser = option_parser(
        "quorum sessions prune",
        "Delete sessions of this folder permanently: those that match every given option, except "
        "sessions in use.",
    )
    parser.add_argument("--older-than", metavar="DAYS", type=_amount, help="those not used for this many days")
    parser.add_argument("--keep", metavar="N", type=_amount, help="all but the N used last")
    parser.add_argument("--all", action="store_true", help="of all folders")
    parser.add_argument("--dry-run", action="store_true", help="only list what would be deleted")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    return parser


def _redact_parser() -> argparse.ArgumentParser:
    parser = option_parser("quorum sessions redact", "Remove a text from the events of a session permanently.")
    parser.add_argument("session", metavar="ID", type=session_name, help=SESSION)
    parser.add_argument(
        "text", metavar="TEXT", help="the text; - reads it from stdin, so that it is not in the shell history"
    )
    return parser


def _resume_parser() -> argparse.ArgumentParser:
    parser = option_parser("quorum sessions resume", "Resume a session, as quorum --resume ID does.")
    parser.add_argument("session", metavar="ID", type=session_name, help=SESSION)
    add_fork(parser)
    parser.add_argument("prompt", nargs="?", help="the first prompt")
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
