"""`quorum completion`: the script for a shell, and what can follow on the line that somebody is typing.

The answers are taken from the parsers of the commands.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import TypeAlias

from quorum.command_line.command import CommandGroup
from quorum.command_line.parser import CommandParser, build_parser, list_actions, load_command
from quorum.command_line.table import COMMANDS
from quorum.command_line.words import split_command
from quorum.domain.text.printable import make_printable

_CURSOR = "\x00"
_LONGEST = 100_000


@dataclass(frozen=True, slots=True)
class PartialLine:
    """`words` stand before the word at the cursor, without the program; `current` is what is typed of that."""

    words: tuple[str, ...]
    current: str


def read_line(line: str) -> PartialLine | None:
    """The words of a line that begins with the program; None where it is no such line.

    A quote that is still open is closed at the cursor.
    """
    text = line[:_LONGEST].replace(_CURSOR, "") + _CURSOR
    for end in ("", '"', "'"):
        try:
            words = shlex.split(text + end)
        except ValueError:
            continue
        if len(words) < 2:
            return None
        return PartialLine(tuple(words[1:-1]), words[-1].removesuffix(_CURSOR))
    return None


# What is offered goes onto the prompt of a shell: nothing is offered that a shell reads as anything but a word.
_PLAIN = re.compile(r"[A-Za-z0-9_./:@+=,%-]+")
_LONGEST_MEANING = 76
_FOLDERS = frozenset({"workdir"})
_FILES = frozenset({"mcp_json", "config_file", "images", "call", "file", "listen", "socket"})


class ShellCompletionKind(StrEnum):
    """What a shell is to offer: our words, or names of files that it knows itself."""

    WORDS = "words"
    FILES = "files"
    FOLDERS = "folders"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word that can stand at the cursor, and what it means."""

    word: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class ShellCompletion:
    """All that can stand at the cursor."""

    kind: ShellCompletionKind = ShellCompletionKind.WORDS
    candidates: tuple[Candidate, ...] = ()


NameSource: TypeAlias = Callable[[argparse.Namespace, str], Sequence[Candidate]]
"""Names of one kind, for the options typed so far (`config_file`, `workdir`) and the word at the cursor."""


def complete(line: PartialLine, names: Mapping[str, NameSource]) -> ShellCompletion:
    """What can stand at the cursor. `names` are looked up by the field that an option or argument fills."""
    path, rest = split_command(line.words)
    parser = build_parser(path)
    typed = _TypedArguments(parser, rest)
    if typed.waiting is not None and (typed.waiting.nargs is None or not line.current.startswith("-")):
        return _complete_value(typed.waiting, line.current, "", typed.namespace, names)
    if typed.options_ended or not line.current.startswith("-"):
        return _complete_argument(path, typed, line.current, names)
    option, equals, value = line.current.partition("=")
    if equals:
        action = parser.find_option(option)
        if action is None or action.nargs == 0:
            return ShellCompletion()
        return _complete_value(action, value, f"{option}=", typed.namespace, names)
    return _choose(
        (
            Candidate(name, action.help or "")
            for action in parser.shown_actions
            if action not in typed.used or isinstance(action, argparse._AppendAction)
            for name in action.option_strings
        ),
        line.current,
    )


class _TypedArguments:
    """How far the words that were typed fill the options and arguments of a parser.

    `waiting` is the option whose value comes next.
    """

    def __init__(self, parser: CommandParser, words: Sequence[str]) -> None:
        self.parser = parser
        self.waiting: argparse.Action | None = None
        self.used: set[argparse.Action] = set()
        self.arguments: list[str] = []
        self.options_ended = False
        self.namespace = argparse.Namespace()
        for word in words:
            self._read(word)

    def _read(self, word: str) -> None:
        is_option = word.startswith("-") and word != "-" and not self.options_ended
        if self.waiting is not None and (self.waiting.nargs is None or not is_option):
            setattr(self.namespace, self.waiting.dest, word)
            self.waiting = None
            return
        self.waiting = None
        if word == "--" and is_option:
            self.options_ended = True
        elif is_option:
            name, equals, value = word.partition("=")
            action = self.parser.find_option(name)
            if action is None:
                return
            self.used.add(action)
            if equals:
                setattr(self.namespace, action.dest, value)
            elif action.nargs != 0:
                self.waiting = action
        else:
            self.arguments.append(word)


def _complete_argument(
    path: tuple[str, ...], typed: _TypedArguments, current: str, names: Mapping[str, NameSource]
) -> ShellCompletion:
    """What can stand where an argument stands."""
    if path == ("help",):
        return _choose(_list_names_below(tuple(typed.arguments)), current)
    if not path or (len(path) == 1 and list_actions(path[0])):
        wanted = path if not typed.arguments and not typed.options_ended else None
        return _choose(_list_names_below(wanted), current)
    arguments = [action for action in typed.parser.shown_actions if not action.option_strings]
    if len(typed.arguments) >= len(arguments):
        return ShellCompletion()
    return _complete_value(arguments[len(typed.arguments)], current, "", typed.namespace, names)


def _list_names_below(path: tuple[str, ...] | None) -> Iterable[Candidate]:
    """The commands, or the actions of one."""
    match path:
        case ():
            return (Candidate(name, summary) for name, (_, summary) in COMMANDS.items())
        case (command,) if command in COMMANDS and isinstance(group := load_command(command), CommandGroup):
            return (Candidate(name, action.summary) for name, action in group.actions.items())
        case _:
            return ()


def _complete_value(
    action: argparse.Action,
    current: str,
    before: str,
    namespace: argparse.Namespace,
    names: Mapping[str, NameSource],
) -> ShellCompletion:
    """What an option or argument can have as its value; `before` precedes it in the word at the cursor."""
    if action.dest in _FOLDERS or action.dest in _FILES:
        return ShellCompletion(
            ShellCompletionKind.FOLDERS if action.dest in _FOLDERS else ShellCompletionKind.FILES
        )
    if action.dest == "models" and "=" in current:  # review=openai/…
        role, _, current = current.partition("=")
        before = f"{before}{role}="
    if action.choices is not None:
        values: Sequence[Candidate] = [Candidate(str(choice)) for choice in action.choices]
    else:
        values = source(namespace, current) if (source := names.get(action.dest)) is not None else ()
    return _choose((Candidate(before + each.word, each.meaning) for each in values), before + current)


def _choose(candidates: Iterable[Candidate], current: str) -> ShellCompletion:
    """Those that begin as the word at the cursor does and that no shell reads as anything but a word."""
    return ShellCompletion(
        candidates=tuple(
            Candidate(each.word, _shorten_to_line(each.meaning))
            for each in candidates
            if each.word.startswith(current) and _PLAIN.fullmatch(each.word)
        )
    )


def _shorten_to_line(meaning: str) -> str:
    text = make_printable(" ".join(meaning.split()), newlines=False)
    return text if len(text) <= _LONGEST_MEANING else text[: _LONGEST_MEANING - 1].rstrip() + "…"


def print_script(shell: str) -> None:
    """Print the script for a shell."""
    script = resources.files("quorum.command_line.completion").joinpath(f"quorum.{shell}")
    sys.stdout.write(script.read_text(encoding="utf-8"))


def print_answer(line: str, wordbreaks: str) -> None:
    """Print what can follow on a line that was typed.

    The first line says what is offered: words, files or folders. Each further line is a word, and behind a tab
    what it means.
    """
    print("\n".join(_answer(line, wordbreaks)))


def _answer(line: str, wordbreaks: str) -> Iterator[str]:
    typed = read_line(line)
    if typed is None:
        yield "words"
        return
    found = complete(
        typed,
        {
            "models": _list_models,
            "session": _list_sessions,
            "resume": _list_sessions,
            "provider": _list_providers,
            "server": _list_servers,
        },
    )
    yield found.kind
    kept = max((typed.current.rfind(each) + 1 for each in wordbreaks), default=0)  # the shell has that already
    for each in found.candidates:
        yield f"{each.word[kept:]}\t{each.meaning}" if each.meaning else each.word[kept:]


def _list_models(given: argparse.Namespace, _current: str) -> Sequence[Candidate]:
    from quorum.infrastructure.known_names import list_known_models, list_known_sessions

    settings = _read_settings(given)
    used = (each.model for each in list_known_sessions(settings, os.environ))
    return [Candidate(model) for model in list_known_models(settings, tuple(dict.fromkeys(used)))]


def _list_providers(given: argparse.Namespace, _current: str) -> Sequence[Candidate]:
    from quorum.infrastructure.known_names import list_known_providers

    return [Candidate(name) for name in list_known_providers(_read_settings(given))]


def _list_servers(given: argparse.Namespace, _current: str) -> Sequence[Candidate]:
    from quorum.infrastructure.known_names import list_known_servers

    return [Candidate(name) for name in list_known_servers(_read_settings(given))]


def _list_sessions(given: argparse.Namespace, current: str) -> Sequence[Candidate]:
    """The sessions of the folder, the latest first; those of all folders where it has none."""
    from quorum.infrastructure.known_names import list_known_sessions

    folder = os.path.realpath(os.path.expanduser(getattr(given, "workdir", "")) or os.curdir)
    every = list_known_sessions(_read_settings(given), os.environ)
    here = [each for each in every if each.cwd == folder]
    found = [
        Candidate(each.id if len(current) > len(each.short_id) else each.short_id, each.title)
        for each in here or every
    ]
    return [*found, Candidate("latest", "the session of this folder used last")] if here else found


def _read_settings(given: argparse.Namespace) -> dict[str, object]:
    from quorum.infrastructure.known_names import read_own_settings

    named = getattr(given, "config_file", None)
    return dict(read_own_settings(os.environ, Path(os.path.expanduser(named)) if named else None))
