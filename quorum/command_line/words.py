"""Which command the words of a command line name, and which one a mistyped word was meant to be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from quorum.command_line.command import Argument, ArgumentGroup, CliCommand, CommandGroup
from quorum.command_line.parser import load_app, load_command
from quorum.command_line.table import COMMANDS

_BARE_WORD = re.compile(r"[A-Za-z][A-Za-z-]*")
_LETTERS_PER_EDIT = 3


def split_command(argv: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """The command and the action that a command line names, and everything else of it.

    Options may stand before, between and behind them. A word is the command only if nothing but options of that
    command, or of the app, precede it: no other command has to be loaded to find it out.
    """
    if argv and argv[0] in COMMANDS:
        return _split_action(argv[0], [*argv[1:]])
    end = argv.index("--") if "--" in argv else len(argv)
    places = [place for place in range(end) if argv[place] in COMMANDS]
    for is_strict in (
        True,
        False,
    ):  # in the end also one behind an option that it does not have: its parser says so
        for place in places:
            options = _KnownOptions(load_command(argv[place]), COMMANDS)
            if options.find_first_place(argv) == place and not (
                is_strict and options.has_unknown(argv[:place])
            ):
                return _split_action(argv[place], [*argv[:place], *argv[place + 1 :]])
    return (), list(argv)


def _split_action(command: str, rest: list[str]) -> tuple[tuple[str, ...], list[str]]:
    declared = load_command(command)
    if isinstance(declared, CommandGroup):
        is_first = bool(rest) and rest[0] in declared.actions
        place = 0 if is_first else _KnownOptions(declared, declared.actions).find_first_place(rest)
        if place is not None and rest[place] in declared.actions:
            return (command, rest[place]), [*rest[:place], *rest[place + 1 :]]
    return (command,), rest


def find_first_word(argv: Sequence[str], command: str = "") -> str | None:
    """The first word that is no option of the command and no value of one; None without any, or where `--`
    precedes it."""
    place = _KnownOptions(load_command(command) if command else load_app(), ()).find_first_place(argv)
    return None if place is None else argv[place]


def find_nearest_name(word: str, names: Iterable[str]) -> str | None:
    """The command or action that a word of letters was probably meant to be, if any.

    One letter in three may be wrong, missing, too many or swapped with its neighbour. A longer text is no
    mistyped command, nor is a word further away: it may be a prompt.
    """
    if not _BARE_WORD.fullmatch(word):
        return None
    from quorum.domain.text.fuzzy import count_edits

    distances = {name: count_edits(word.lower(), name) for name in names}
    near = {name: edits for name, edits in distances.items() if edits <= len(name) // _LETTERS_PER_EDIT}
    return min(near, key=lambda name: near[name], default=None)


class _KnownOptions:
    """The options of a command and of the app. The next word is the value of most, and not taken for a command.

    The value of a few may be left out, as that of --resume: one of `names` is none then.
    """

    def __init__(self, declared: CliCommand[Any] | CommandGroup, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._flags = {"-h", "--help"}
        self._nargs: dict[str, object] = {}
        for each in (*_list_arguments(declared), *_list_arguments(load_app())):
            if not each.names[0].startswith("-"):
                continue
            if each.settings.get("action", "append") == "append":
                self._nargs |= dict.fromkeys(each.names, each.settings.get("nargs"))
            else:
                self._flags.update(each.names)

    def find_first_place(self, argv: Sequence[str]) -> int | None:
        """Where the first word stands that is no option and no value of one, if any before `--`."""
        return next(
            (place for place, word in self._walk(argv) if not word.startswith("-") or word == "-"), None
        )

    def has_unknown(self, argv: Sequence[str]) -> bool:
        """Whether an option is among these words that neither has. One with its value in the word is not looked
        at."""
        return any(
            word not in self._nargs
            and word not in self._flags
            and "=" not in word
            and word[:1] == "-"
            and (word[:2] == "--" or len(word) == 2)
            for _, word in self._walk(argv)
        )

    def _walk(self, argv: Sequence[str]) -> Iterator[tuple[int, str]]:
        """The words that are no values, and their places, as far as `--`."""
        place = 0
        while place < len(argv) and (word := argv[place]) != "--":
            yield place, word
            following = argv[place + 1] if place + 1 < len(argv) else "-"
            if word in self._nargs and (
                self._nargs[word] is None or not (following.startswith("-") or following in self._names)
            ):
                place += 1
            place += 1


def _list_arguments(declared: CliCommand[Any] | CommandGroup) -> Iterator[Argument]:
    commands = declared.actions.values() if isinstance(declared, CommandGroup) else (declared,)
    for command in commands:
        for each in command.arguments:
            yield from each.arguments if isinstance(each, ArgumentGroup) else (each,)
