"""The command line, read into the options of the command that it names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from quorum.command_line.command import CommandGroup
from quorum.command_line.parser import (
    CommandParser,
    ParsedCommand,
    build_parser,
    list_actions,
    load_command,
)
from quorum.command_line.table import COMMANDS
from quorum.command_line.tried_words import explain_tried_word
from quorum.command_line.words import find_first_word, find_nearest_name, split_command

_HELP = frozenset(("-h", "--help"))


def parse(argv: Sequence[str]) -> ParsedCommand:
    """Read the command line. Exits with code 2 and a sentence on stderr where it cannot be read.

    Exits with code 0 once a help text was printed.
    """
    path, rest = split_command(argv)
    if not path:
        return _parse_app(argv)
    declared = load_command(path[0])
    if isinstance(declared, CommandGroup) and len(path) == 1:
        is_bare = find_first_word(rest, path[0]) is None and not _HELP.intersection(rest)
        if not declared.usual or not is_bare:
            _refuse_action(path[0], rest)
        path = (*path, declared.usual)
    parser = build_parser(path)
    given = parser.parse_mixed(rest) if len(path) > 1 else parser.parse_args(rest)
    return ParsedCommand(path, parser.command, parser.build_options(given))


def _parse_app(argv: Sequence[str]) -> ParsedCommand:
    parser = build_parser(())
    given, surplus = parser.parse_known_args(argv)
    if find_first_word(argv) == given.prompt:  # otherwise -- says that it is a prompt
        _check_prompt(parser, given.prompt, surplus)
    if surplus:
        parser.error(f"unrecognized arguments: {' '.join(surplus)}")
    return ParsedCommand((), parser.command, parser.build_options(given))


def _check_prompt(parser: CommandParser, prompt: str | None, surplus: Sequence[str]) -> None:
    """Refuse a mistyped command, which would be sent to the model, and a prompt without quotes."""
    if prompt is None:
        return
    if what_there_is := explain_tried_word(prompt.lower()):
        parser.refuse(
            f'there is no command "{prompt}"; {what_there_is}. To send it as a prompt: quorum -- {prompt}'
        )
    if (name := find_nearest_name(prompt, COMMANDS)) is not None:
        parser.refuse(
            f'there is no command "{prompt}"; did you mean: quorum {name}? To send it as a prompt: '
            f"quorum -- {prompt}"
        )
    if words := [word for word in surplus if not word.startswith("-")]:
        parser.error(f'a prompt of several words needs quotes: quorum "{prompt} {words[0]} …"')


def _refuse_action(command: str, rest: Sequence[str]) -> NoReturn:
    """Print the help if that is asked for; else say which action was probably meant."""
    parser = build_parser((command,))
    word = find_first_word(rest, command)
    if word is not None and (name := find_nearest_name(word, list_actions(command))) is not None:
        parser.refuse(f'there is no action "{word}"; did you mean: quorum {command} {name}?')
    parser.parse_args(rest)  # exits: it has no action that there is
    raise AssertionError("a command without its action was accepted")
