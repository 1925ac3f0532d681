"""Options that several commands have. A command lists those that change what it does."""

from __future__ import annotations

import argparse
from pathlib import Path

from quorum.command_line.argument_parser import CommandParser, parse_count, parse_dollars, parse_session_name
from tui.keys.choices import CONSENSUS_LEVELS, EFFORTS, MODES, SCOPES, STRATEGIES

RESUME = "--resume"  # has a value or none
SESSION = "a session id, a unique prefix of it, or latest"


def add_places(parser: CommandParser, *, quiet: str = "", verbose: str = "") -> None:
    """Add --config and --workdir, and --quiet and --verbose: listed with these help texts, hidden without one.

    The two are taken by every command, so that an alias may hold them.
    """
    parser.add_argument("--config", metavar="FILE", type=Path, help="read this quorum.toml and no other")
    parser.add_argument("-C", "--workdir", metavar="DIR", type=Path, default=Path(), help="work in this folder")
    parser.add_argument("-q", "--quiet", action="store_true", help=quiet or argparse.SUPPRESS)
    parser.add_argument("-v", "--verbose", action="store_true", help=verbose or argparse.SUPPRESS)


def add_folders(parser: CommandParser) -> None:
    """Add the folders that belong to the workspace beside the working directory."""
    parser.add_argument(
        "--add-dir",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="add this folder to the workspace; repeat for more",
    )


def add_debug(parser: CommandParser) -> None:
    """Add the option that writes a debug log."""
    parser.add_argument(
        "--debug", action="store_true", help="write a log for a bug report; its place is printed at the end"
    )


def add_models(parser: CommandParser) -> None:
    """Add the choice of models."""
    parser.add_argument(
        "-m",
        "--model",
        metavar="[ROLE=]MODEL",
        action="append",
        default=[],
        help='the model, as "provider/model"; of another role: exploration=, ask=, moderator=, and, as often '
        "as there are models, decision_fallback=, review= and participants=",
    )
    parser.add_argument(
        "--effort",
        metavar="EFFORT",
        choices=EFFORTS,
        help=f"how much the model reasons before it answers: {', '.join(EFFORTS)}",
    )


def add_mode(parser: CommandParser) -> None:
    """Add the review mode."""
    parser.add_argument(
        "--mode",
        metavar="MODE",
        choices=MODES,
        help=f"the review mode, which says who decides whether a risky call may run: {', '.join(MODES)}",
    )


def add_scope(parser: CommandParser) -> None:
    """Add how far the session goes."""
    parser.add_argument(
        "--scope",
        metavar="SCOPE",
        choices=SCOPES,
        help=f"how far the session goes: {', '.join(SCOPES)}; plan-only changes nothing and makes a plan",
    )


def add_consensus(parser: CommandParser) -> None:
    """Add how many models answer."""
    parser.add_argument(
        "--consensus",
        metavar="LEVEL",
        choices=CONSENSUS_LEVELS,
        help="who answers: solo, one model with its tools, or ensemble, several models without tools, which "
        "score each other's answers",
    )
    parser.add_argument(
        "--strategy",
        metavar="STRATEGY",
        choices=STRATEGIES,
        help="how an ensemble comes to one answer: quorum, by scores for each other's answers, or debate, by "
        "objections to one of them",
    )


def add_limits(parser: CommandParser) -> None:
    """Add what a session may use at most."""
    parser.add_argument(
        "--max-tool-turns", metavar="N", type=parse_count, help="stop after this many rounds of tool calls"
    )
    parser.add_argument(
        "--max-cost-usd",
        metavar="USD",
        type=parse_dollars,
        help="the most that the session may cost, in US dollars",
    )
    parser.add_argument(
        "--max-tokens", metavar="N", type=parse_count, help="the most tokens that the session may use"
    )


def add_continue(to: argparse._MutuallyExclusiveGroup) -> None:
    """Add the option that continues with the latest session."""
    to.add_argument(
        "--continue",
        dest="continues",
        action="store_true",
        help="resume the latest session of this folder, or start a new one",
    )


def add_fork(parser: CommandParser) -> None:
    """Add the option that makes a copy of the session to continue with."""
    parser.add_argument(
        "--fork", action="store_true", help="with one of these: continue in a copy of that session"
    )


def add_session(parser: CommandParser) -> None:
    """Add the session that a command is about."""
    parser.add_argument("session", metavar="ID", type=parse_session_name, help=SESSION)
