"""The parsers of the command line, one for each command; those of `quorum sessions` stand apart."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import NoReturn

from quorum.cli.rpc_parsers import add_listening
from quorum.options import Command
from tui.keys.modes import MODES

COMMANDS: tuple[Command, ...] = ("run", "config", "doctor", "hooks", "permissions", "sessions", "keys", "rpc")
# What `permissions`, `config` and `keys` take behind each of their actions.
PERMISSION_WORDS = {"check": ("TOOL", "JSON"), "list": (), "remove": ("N",)}
CONFIG_WORDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("show", "check", "path", "init", "trust", "untrust", "keys"), ()),
    "set": ("KEY", "VALUE"),
    "unset": ("KEY",),
}
KEY_WORDS = {"set": ("PROVIDER",), "list": (), "remove": ("PROVIDER",)}

# Options whose value is the next word, so that it is not taken for a command.
VALUED = frozenset(
    (
        *("--config", "-C", "--workdir", "-m", "--model", "--mode", "--max-tool-turns", "--output", "--call"),
        *("--max-cost-usd", "--max-tokens"),
        *("-n", "--before", "--older-than", "--keep", "--format", "-o", "--image"),
        *("--listen", "--size", "--listen-approve", "--socket", "--token-fd"),
    )
)
RESUME = "--resume"  # has a value or none
SESSION = "a session id, a unique prefix of it, or latest"
_AMOUNT = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?|\.[0-9]{1,6}")
_NAME = re.compile(r"[0-9A-Za-z][\w.-]*")


def option_parser(prog: str, description: str) -> argparse.ArgumentParser:
    """A parser with the options that every command has."""
    parser = _Parser(prog=prog, description=description, allow_abbrev=False)
    parser.add_argument("--config", metavar="FILE", type=Path, help="read this quorum.toml and no other")
    parser.add_argument("-C", "--workdir", metavar="DIR", type=Path, default=Path(), help="work in this folder")
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
        "--mode", choices=MODES, help="the review mode: who decides whether a risky call may run"
    )
    parser.add_argument(
        "--max-tool-turns", metavar="N", type=count, help="stop after this many rounds of tool calls"
    )
    parser.add_argument(
        "--max-cost-usd", metavar="USD", type=dollars, help="the most that the session may cost, in US dollars"
    )
    parser.add_argument(
        "--max-tokens", metavar="N", type=count, help="the most tokens that the session may use"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print only errors on stderr")
    parser.add_argument("-v", "--verbose", action="store_true", help="print more on stderr")
    return parser


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n{self.format_usage()}")


def count(text: str) -> int:
    """An option's value as a number from 1 upwards."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 upwards")
    return int(text)


def dollars(text: str) -> float:
    """An option's value as an amount of US dollars above 0."""
    if not _AMOUNT.fullmatch(text) or not float(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount above 0, such as 0.50")
    return float(text)


def session_name(text: str) -> str:
    """An option's value as the name of a session. It is not looked up here."""
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the id of a session; see: quorum sessions list")
    return text


def _app_parser() -> argparse.ArgumentParser:
    parser = option_parser(
        "quorum",
        "A full-screen coding agent in which every risky action is reviewed. Other commands: quorum run, "
        "quorum sessions, quorum config, quorum keys, quorum hooks, quorum permissions, quorum doctor, "
        "quorum rpc.",
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    going_on = parser.add_mutually_exclusive_group()
    _add_continue(going_on)
    going_on.add_argument(
        RESUME,
        metavar="ID",
        nargs="?",
        const="",
        type=lambda text: session_name(text) if text else "",
        help="go on with this session; without an ID, choose one (then put -- before a prompt)",
    )
    add_fork(parser)
    parser.add_argument(
        "--screen-reader",
        action="store_const",
        const=True,
        help="linear mode for screen readers; see also: quorum run",
    )
    parser.add_argument("--demo", action="store_true", help="a guided tour, offline, in a temporary folder")
    add_listening(parser)
    parser.add_argument("prompt", nargs="?", help="the first prompt")
    return parser


def _run_parser() -> argparse.ArgumentParser:
    parser = option_parser(
        "quorum run", "Answer one prompt without the full-screen app. The exit code tells how it ended."
    )
    parser.add_argument(
        "--output", choices=("text", "json", "stream-json"), default="text", help="what stdout carries"
    )
    going_on = parser.add_mutually_exclusive_group()
    _add_continue(going_on)
    going_on.add_argument(RESUME, metavar="ID", type=session_name, help=f"go on with this session: {SESSION}")
    add_fork(parser)
    parser.add_argument(
        "--image",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="attach this image to the prompt; repeat for more images",
    )
    parser.add_argument("prompt", help="the prompt; - reads it from stdin")
    return parser


def _add_continue(to: argparse._MutuallyExclusiveGroup) -> None:
    to.add_argument(
        "--continue",
        dest="continues",
        action="store_true",
        help="resume the latest session of this folder, or start a new one",
    )


def add_fork(parser: argparse.ArgumentParser) -> None:
    """Add the option that makes a copy of the session to continue with."""
    parser.add_argument(
        "--fork", action="store_true", help="with one of these: continue in a copy of that session"
    )


def _config_parser() -> argparse.ArgumentParser:
    parser = option_parser(
        "quorum config",
        "Show, check, find or start the configuration; trust what the project's own asks for, or no longer. "
        "set KEY VALUE: write one setting, such as set tui.theme nord, to your own file, with all else in it "
        "kept. unset KEY: take it out. keys: list what keys do, by the names that [tui.keys] takes.",
    )
    parser.add_argument("action", choices=tuple(CONFIG_WORDS))
    parser.add_argument("words", nargs="*", metavar="KEY VALUE")
    parser.add_argument(
        "--project", action="store_true", help="with set and unset: the project's file, not your own"
    )
    return parser


def _doctor_parser() -> argparse.ArgumentParser:
    parser = option_parser("quorum doctor", "Check what works on this machine and what does not.")
    parser.add_argument("--probe", action="store_true", help="also send each provider one small request")
    return parser


def _hooks_parser() -> argparse.ArgumentParser:
    parser = option_parser("quorum hooks", "Test a hook of your quorum.toml with one call.")
    parser.add_argument("action", choices=("test",))
    parser.add_argument("hook", metavar="NAME", help="the hook's name")
    parser.add_argument(
        "--call",
        metavar="FILE",
        type=Path,
        required=True,
        help='JSON of the call: {"tool", "arguments", "risk", "paths", "result", "messages"}',
    )
    return parser


def _permissions_parser() -> argparse.ArgumentParser:
    parser = option_parser(
        "quorum permissions",
        "check TOOL JSON: say what would be decided about one call, and why; nothing runs, and the exit code "
        "is 0 for allow, 1 for deny, 3 for ask. list: show every rule, and where it stands. remove N: take out "
        "the saved rule of that number in the list.",
    )
    parser.add_argument("action", choices=tuple(PERMISSION_WORDS))
    parser.add_argument("words", nargs="*", metavar="TOOL JSON | N")
    return parser


def _keys_parser() -> argparse.ArgumentParser:
    parser = option_parser(
        "quorum keys",
        "set PROVIDER: keep the provider's key in the keyring of this machine. list: say for which providers "
        "there is one, and where it comes from. remove PROVIDER: take it out of the keyring.",
    )
    parser.add_argument("action", choices=tuple(KEY_WORDS))
    parser.add_argument("words", nargs="*", metavar="PROVIDER")
    return parser


PARSERS = {
    "app": _app_parser,
    "run": _run_parser,
    "config": _config_parser,
    "doctor": _doctor_parser,
    "hooks": _hooks_parser,
    "permissions": _permissions_parser,
    "keys": _keys_parser,
}
