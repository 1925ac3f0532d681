"""The parser of a command, made from what is declared of it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

from quorum.command_line.command import Argument, ArgumentGroup, CliCommand, CommandGroup
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import PLACES
from quorum.command_line.table import APP_MODULE, COMMANDS
from quorum.domain.text.printable import make_printable

USAGE_ERROR = 2
_GAP = 4


def load_command(name: str) -> CliCommand[Any] | CommandGroup:
    """What is declared of a command. Raises KeyError where there is none of this name."""
    module, summary = COMMANDS[name]
    declared: CliCommand[Any] | CommandGroup = import_module(module).COMMAND
    return declared._replace(summary=summary)


def load_app() -> CliCommand[Any]:
    """What is declared of `quorum` without a command."""
    app: CliCommand[Any] = import_module(APP_MODULE).COMMAND
    return app


def list_actions(name: str) -> tuple[str, ...]:
    """The actions of a command; none where it has none, or there is no such command."""
    declared = load_command(name) if name in COMMANDS else None
    return tuple(declared.actions) if isinstance(declared, CommandGroup) else ()


def list_paths() -> tuple[tuple[str, ...], ...]:
    """The words of every command and action, that of the app first."""
    found: list[tuple[str, ...]] = [()]
    for command in COMMANDS:
        found.append((command,))
        found += [(command, action) for action in list_actions(command)]
    return tuple(found)


def build_parser(path: Sequence[str]) -> CommandParser:
    """The parser of the command of these words; of the app for none. Raises KeyError where there is none."""
    prog = " ".join(("quorum", *path))
    if not path:
        parser = CommandParser(prog, load_app())
        parser.subcommands = tuple((name, summary) for name, (_, summary) in COMMANDS.items())
        return parser
    declared = load_command(path[0])
    match declared, tuple(path[1:]):
        case CliCommand(), ():
            return CommandParser(prog, declared)
        case CommandGroup(), ():
            return _build_group_parser(prog, declared)
        case CommandGroup(), (action,):
            return CommandParser(prog, declared.actions[action])
        case _:
            raise KeyError(prog)


def _build_group_parser(prog: str, group: CommandGroup) -> CommandParser:
    """Of a command that needs an action; it lists them."""
    names = tuple(group.actions)
    action = Argument(("action",), {"metavar": "ACTION", "choices": names, "help": "one of those below"})
    command = CliCommand(
        StartOptions, summary=group.summary, arguments=(*PLACES, action), examples=(group.example,)
    )
    parser = CommandParser(prog, command)
    parser.subcommands = tuple((name, each.summary) for name, each in group.actions.items())
    return parser


class ParsedCommand(NamedTuple):
    """The words that name a command, what is declared of it, and its options, which are of its own type."""

    path: tuple[str, ...]
    command: CliCommand[Any]
    options: Any


class CommandParser(argparse.ArgumentParser):
    """Of one command. Its help ends with the commands below it (`subcommands`) and with examples."""

    def __init__(self, prog: str, command: CliCommand[Any]) -> None:
        description = f"{command.summary} {command.details}".rstrip()
        super().__init__(prog=prog, description=description, allow_abbrev=False)
        self.command = command
        self.subcommands: tuple[tuple[str, str], ...] = ()
        for each in command.arguments:
            _add(self, each)

    @property
    def shown_actions(self) -> tuple[argparse.Action, ...]:
        """All options and arguments but the hidden ones, in the order of their definition."""
        return tuple(action for action in self._actions if action.help is not argparse.SUPPRESS)

    def find_option(self, word: str) -> argparse.Action | None:
        return self._option_string_actions.get(word)

    def format_usage(self) -> str:
        """One line: optional options are not listed one by one, as there are many of them."""
        return f"usage: {self._fix_usage()}\n"

    def format_synopsis(self) -> str:
        """The command with what it takes, on one line."""
        words = [self.prog, "[OPTION]..."]
        words += [
            f"{action.option_strings[-1]} {action.metavar}"
            for action in self._actions
            if action.option_strings and action.required
        ]
        words += [_render_argument(action) for action in self._actions if not action.option_strings]
        words += [f"[-- {self.command.after_dashes}]"] if self.command.after_dashes else []
        return " ".join(words)

    def parse_mixed(self, words: Sequence[str]) -> argparse.Namespace:
        """Read a command line whose options may stand between its arguments."""
        self._fix_usage()  # argparse changes the arguments meanwhile
        if not self.command.after_dashes:
            return self.parse_intermixed_args(words)
        end = words.index("--") if "--" in words else len(words)
        given = self.parse_intermixed_args(words[:end])
        given.after_dashes = tuple(words[end + 1 :])
        return given

    def build_options(self, given: argparse.Namespace) -> Any:
        """What was given, as the options of the command; what was not given is as the options have it.

        Exits with code 2 where options do not go together.
        """
        values = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in vars(given).items()
            if value is not None
        }
        if "add_dirs" in values:
            values["add_dirs"] = tuple(folder.absolute() for folder in values["add_dirs"])
        overrides = {name: values.pop(name) for name in tuple(values) if "." in name}
        options = self.command.options(**values, overrides=overrides)
        if conflict := options.find_conflict():
            self.error(conflict)
        return options

    def _fix_usage(self) -> str:
        self.usage = self.usage or self.format_synopsis()
        return self.usage

    def format_help(self) -> str:
        """The usage, the description, the options by group, the commands and the examples."""
        self._fix_usage()
        parts = [super().format_help().rstrip()]
        if self.subcommands:
            wide = _GAP + max(len(name) for name, _ in self.subcommands)
            kind = "actions" if " " in self.prog else "commands"
            parts.append("\n".join((f"{kind}:", *(f"  {n:<{wide}}{line}" for n, line in self.subcommands))))
            parts.append(
                f"quorum help {' '.join([*self.prog.split()[1:], kind[:-1].upper()])} says more about one."
            )
        if self.command.examples:
            lines = [f"  {words}\n      {meaning}" for words, meaning in self.command.examples]
            parts.append("\n".join(("examples:", *lines)))
        return _name_commands("\n\n".join(parts)) + "\n"

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, the usage, and the command whose help says more; exit with code 2."""
        more = " ".join((_name_commands("quorum help"), *self.prog.split()[1:]))
        self.exit(USAGE_ERROR, f"{self.prog}: {make_printable(message)}\n{self.format_usage()}see: {more}\n")

    def refuse(self, sentence: str) -> NoReturn:
        """Print one sentence that holds its own remedy, and exit with code 2."""
        self.exit(USAGE_ERROR, f"{self.prog}: {make_printable(sentence)}\n")


def _name_commands(text: str) -> str:
    """The text, its usage line apart, with commands of quorum as they can be started here."""
    from quorum.application.program_lookup import find_own_command

    own = find_own_command()
    if own == "quorum":
        return text
    started = re.compile(rf"(?<![\w/.-])(?<!usage: )quorum(?= (?:-|\[|(?:{'|'.join(COMMANDS)})\b))")
    return started.sub(lambda _: own, text)


def _add(to: argparse._ActionsContainer, each: Argument | ArgumentGroup) -> None:
    match each:
        case Argument(names, settings):
            to.add_argument(*names, **{**settings, "help": settings["help"] or argparse.SUPPRESS})
        case ArgumentGroup(arguments, title, description, is_exclusive, is_required):
            group = (
                to.add_mutually_exclusive_group(required=is_required)
                if is_exclusive
                else to.add_argument_group(title, description or None)
            )
            for argument in arguments:
                _add(group, argument)


def _render_argument(action: argparse.Action) -> str:
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return f"[{name}]" if action.nargs == "?" else name
