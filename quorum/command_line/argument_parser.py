"""The argument parser that every command of the command line has, and the kinds of values that options take."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from domain.lazy_dataclass import dataclass
from domain.text.late_pattern import compile_late
from domain.text.printable import make_printable

USAGE_ERROR = 2
_AMOUNT = compile_late(r"[0-9]{1,6}(\.[0-9]{1,6})?|\.[0-9]{1,6}")
_NAME = compile_late(r"[0-9A-Za-z][\w.-]*")
_GAP = 4


@dataclass(frozen=True, slots=True)
class Example:
    """A command line that can be copied, and what it does."""

    command: str
    meaning: str


class CommandParser(argparse.ArgumentParser):
    """Of one command. Its help ends with the commands below it and with examples.

    `summary` is its line in the list of commands, `details` are further sentences; `subcommands` are names
    with their summaries. `words_after_dashes` is how the usage names what may follow `--`, which is then read
    as it stands into `after_dashes`; empty: such words are arguments.
    """

    def __init__(self, prog: str, summary: str, details: str = "", *, examples: Sequence[Example] = ()) -> None:
        description = f"{summary} {details}".rstrip()
        super().__init__(prog=prog, description=description, allow_abbrev=False)
        self.summary = summary
        self.examples = tuple(examples)
        self.subcommands: tuple[tuple[str, str], ...] = ()
        self.words_after_dashes = ""

    @property
    def shown_actions(self) -> tuple[argparse.Action, ...]:
        """All options and arguments but the hidden ones, in the order of their definition."""
        return tuple(action for action in self._actions if action.help is not argparse.SUPPRESS)

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
        words += [f"[-- {self.words_after_dashes}]"] if self.words_after_dashes else []
        return " ".join(words)

    def parse_mixed(self, words: Sequence[str]) -> argparse.Namespace:
        """Read a command line whose options may stand between its arguments."""
        self._fix_usage()  # argparse changes the arguments meanwhile
        if not self.words_after_dashes:
            return self.parse_intermixed_args(words)
        end = words.index("--") if "--" in words else len(words)
        given = self.parse_intermixed_args(words[:end])
        given.after_dashes = tuple(words[end + 1 :])
        return given

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
        if self.examples:
            lines = [f"  {each.command}\n      {each.meaning}" for each in self.examples]
            parts.append("\n".join(("examples:", *lines)))
        return "\n\n".join(parts) + "\n"

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, the usage, and the command whose help says more; exit with code 2."""
        more = " ".join(("quorum help", *self.prog.split()[1:]))
        self.exit(USAGE_ERROR, f"{self.prog}: {make_printable(message)}\n{self.format_usage()}see: {more}\n")

    def refuse(self, sentence: str) -> NoReturn:
        """Print one sentence that holds its own remedy, and exit with code 2."""
        self.exit(USAGE_ERROR, f"{self.prog}: {make_printable(sentence)}\n")


def _render_argument(action: argparse.Action) -> str:
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return f"[{name}]" if action.nargs == "?" else name


def parse_count(text: str) -> int:
    """An option's value as a number from 1 upwards."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 upwards")
    return int(text)


def parse_amount(text: str) -> int:
    """An option's value as a number from 0 upwards."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 upwards")
    return int(text)


def parse_rule_number(text: str) -> int:
    """An argument as the number of a rule in a list."""
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a rule")
    return int(text)


def parse_dollars(text: str) -> float:
    """An option's value as an amount of US dollars above 0."""
    if not _AMOUNT.fullmatch(text) or not float(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount above 0, such as 0.50")
    return float(text)


def parse_session_name(text: str) -> str:
    """An option's value as the name of a session. It is not looked up here."""
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the id of a session; see: quorum sessions list")
    return text
