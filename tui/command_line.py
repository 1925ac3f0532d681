"""The command line: what can be asked for, as one value."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NoReturn, TypeAlias

Command: TypeAlias = Literal["app", "run", "config", "doctor", "hooks", "permissions"]
OutputFormat: TypeAlias = Literal["text", "json", "stream-json"]

COMMANDS: tuple[Command, ...] = ("run", "config", "doctor", "hooks", "permissions")
MODES = ("ask", "read-only", "accept-edits", "quorum", "auto")
_PERMISSION_WORDS = {"check": ("TOOL", "JSON"), "list": (), "remove": ("N",)}
_VALUED = {"--config", "-C", "--workdir", "-m", "--model", "--mode", "--max-tool-turns", "--output", "--call"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asked for.

    `models` are the values of -m in order; `overrides` are other settings by dotted key, as flags gave them.
    """

    command: Command
    prompt: str | None = None
    config_file: Path | None = None
    workdir: Path = field(default_factory=Path)
    models: tuple[str, ...] = ()
    overrides: dict[str, object] = field(default_factory=dict)
    output: OutputFormat = "text"
    quiet: bool = False
    verbose: bool = False
    action: str = ""
    probe: bool = False
    hook: str = ""
    call_file: Path | None = None
    tool: str = ""
    arguments: str = ""
    number: int = 0


def parse(argv: Sequence[str]) -> Options:
    """Read the command line. Exits with code 2 and a usage message on stderr where it cannot be read."""
    command, rest = _split(argv)
    parser = _PARSERS[command]()
    if command == "permissions":
        given = parser.parse_intermixed_args(rest)
        _permission_words(parser, given)
    else:
        given = parser.parse_args(rest)
    return Options(
        command=command,
        prompt=getattr(given, "prompt", None),
        config_file=given.config,
        workdir=given.workdir,
        models=tuple(given.model),
        overrides=_overrides(given),
        output=getattr(given, "output", "text"),
        quiet=given.quiet,
        verbose=given.verbose,
        action=getattr(given, "action", ""),
        probe=getattr(given, "probe", False),
        hook=getattr(given, "hook", ""),
        call_file=getattr(given, "call", None),
        tool=getattr(given, "tool", ""),
        arguments=getattr(given, "arguments", ""),
        number=getattr(given, "number", 0),
    )


def _split(argv: Sequence[str]) -> tuple[Command, list[str]]:
    """The command, wherever it stands among the options, and everything else."""
    words = iter(enumerate(argv))
    for place, word in words:
        if word == "--":
            break
        if word in _VALUED:
            next(words, None)
        elif not word.startswith("-") or word == "-":
            for command in COMMANDS:
                if word == command:
                    return command, [*argv[:place], *argv[place + 1 :]]
            break
    return "app", list(argv)


def _overrides(given: argparse.Namespace) -> dict[str, object]:
    flags = {"review.mode": given.mode, "agent.max_tool_turns": given.max_tool_turns}
    return {key: value for key, value in flags.items() if value is not None}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n{self.format_usage()}")


def _parser(prog: str, description: str) -> argparse.ArgumentParser:
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
        "as there are models, review= and participants=",
    )
    parser.add_argument("--mode", choices=MODES, help="who decides that a risky call may run")
    parser.add_argument(
        "--max-tool-turns", metavar="N", type=_count, help="stop after this many rounds of tool calls"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing on stderr but errors")
    parser.add_argument("-v", "--verbose", action="store_true", help="say more on stderr")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 upwards")
    return int(text)


def _app_parser() -> argparse.ArgumentParser:
    parser = _parser(
        "quorum",
        "A full-screen coding agent in which every risky action is reviewed. "
        "Other commands: quorum run, quorum config, quorum hooks, quorum permissions, quorum doctor.",
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("prompt", nargs="?", help="what to begin with")
    return parser


def _run_parser() -> argparse.ArgumentParser:
    parser = _parser("quorum run", "Answer one prompt without a screen and end with a telling exit code.")
    parser.add_argument(
        "--output", choices=("text", "json", "stream-json"), default="text", help="what stdout carries"
    )
    parser.add_argument("prompt", help="the prompt; - reads it from stdin")
    return parser


def _config_parser() -> argparse.ArgumentParser:
    parser = _parser("quorum config", "Show, check, find or start the configuration.")
    parser.add_argument("action", choices=("show", "check", "path", "init"))
    return parser


def _doctor_parser() -> argparse.ArgumentParser:
    parser = _parser("quorum doctor", "Say what works here and what does not.")
    parser.add_argument("--probe", action="store_true", help="also send each provider one small request")
    return parser


def _hooks_parser() -> argparse.ArgumentParser:
    parser = _parser("quorum hooks", "Try a hook of your quorum.toml against one call.")
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
    parser = _parser(
        "quorum permissions",
        "check TOOL JSON: say what would be decided about one call, and why; nothing runs, and the exit code "
        "is 0 for allow, 1 for deny, 3 for ask. list: show every rule, and where it stands. remove N: take out "
        "the saved rule of that number in the list.",
    )
    parser.add_argument("action", choices=tuple(_PERMISSION_WORDS))
    parser.add_argument("words", nargs="*", metavar="TOOL JSON | N")
    return parser


def _permission_words(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Put the words behind the action where they belong, or refuse them."""
    wanted = _PERMISSION_WORDS[given.action]
    if len(given.words) != len(wanted):
        parser.error(f"{given.action} takes {' and '.join(wanted) or 'nothing more'}")
    match given.words:
        case [tool, arguments]:
            given.tool, given.arguments = tool, arguments
        case [number] if number.isdecimal():
            given.number = int(number)
        case [other]:
            parser.error(f"{other!r} is not the number of a rule")


_PARSERS = {
    "app": _app_parser,
    "run": _run_parser,
    "config": _config_parser,
    "doctor": _doctor_parser,
    "hooks": _hooks_parser,
    "permissions": _permissions_parser,
}
