"""`quorum help`: what a command does, its options and examples."""

from __future__ import annotations

from pathlib import Path

from domain.lazy_dataclass import dataclass
from quorum.command_line.command import CliCommand, argument
from quorum.command_line.options import StandaloneOptions
from quorum.command_line.shared import PLACES


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpOptions(StandaloneOptions):
    """The `words` of a command, and of its action."""

    words: tuple[str, ...] = ()


def _print_help(options: HelpOptions, _root: Path) -> int:
    from quorum.command_line.parser import build_parser, list_actions
    from quorum.command_line.table import COMMANDS
    from quorum.command_line.words import find_nearest_name

    path = options.words
    try:
        about = build_parser(path)
    except KeyError:
        names = list_actions(path[0]) if len(path) > 1 else tuple(COMMANDS)
        wrong = path[1] if len(path) > 1 and path[0] in COMMANDS else path[0]
        if near := find_nearest_name(wrong, names):
            hint = f"did you mean {near}?"
        else:
            hint = f"known are {', '.join(names)}" if names else "it has no actions"
        build_parser(("help",)).refuse(f'there is no command "{" ".join(path)}"; {hint}')
    about.print_help()
    return 0


COMMAND = CliCommand(
    HelpOptions,
    _print_help,
    arguments=(
        *PLACES,
        argument("words", metavar="COMMAND", nargs="*", help="the command, and its action if it has any"),
    ),
    examples=(
        ("quorum help", "the app, and the list of commands"),
        ("quorum help sessions export", "one action of a command"),
    ),
)
