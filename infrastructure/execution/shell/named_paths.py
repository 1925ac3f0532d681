"""The files that the words of a shell text name, for rules about paths.

They serve to forbid and to ask, never to allow: a text that is more than plain commands is not understood
whole, so every value that a word may have is taken, in every folder that the text may enter.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.review.effects.reduction import reduce_command
from quorum.domain.review.effects.side_effect import EffectKind
from quorum.domain.review.hazards.files import FILE_PROGRAMS
from quorum.domain.review.started_commands import list_started_commands
from quorum.domain.shell.command_line import UNKNOWN_WORDS, Redirect, StartedCommands
from quorum.domain.shell.read_only_commands import READ_ONLY_COMMANDS
from quorum.domain.shell.script import Script, ScriptCommand
from quorum.infrastructure.execution.shell.files_that_start import list_commands_of_files
from quorum.infrastructure.execution.shell.script import read_script

_MOST_VALUES = 64  # of one word
_MOST_EXPANSIONS = 20_000  # of all words
_DEEPEST = 4  # variables in the values of variables
_MOST_FOLDERS = 16
_MOST_LOOKS = 20_000  # at paths that words name
_MOST_ENTRIES = 20_000  # that globs are held against
_BRACES = re.compile(r"(?<!\$)\{([^{}]*,[^{}]*)\}")
_SERIES = re.compile(r"(?<!\$)\{[^{},]*\.\.[^{},]*\}|\[[^\]/]+\]")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)[^}]*\})")
_UNKNOWN = re.compile(r"[$`\0]|[<>]\(")
_WILD = re.compile(r"[*?]")
_CHANGES = frozenset({EffectKind.WRITE, EffectKind.DELETE})
_TAKES_FILES = FILE_PROGRAMS | READ_ONLY_COMMANDS.keys()
_ENTERS = frozenset({"cd", "pushd"})
_FOLDER_OPTIONS = frozenset({"-C", "--directory", "--chdir", "--cwd", "--prefix"})


class NamedPaths(Struct, frozen=True):
    """Canonical paths. What is read is there; what a redirection writes need not be, nor what the programs of
    the text are known to change otherwise."""

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def look_through(
    command: str, cwd: Path, *, is_exact: bool, names_paths: bool
) -> tuple[StartedCommands, NamedPaths]:
    """What a text starts besides its plain commands, and the paths that it and the texts it runs name."""
    scripts: list[Script] = []

    def read(text: str) -> Script:
        scripts.append(read_script(text))
        return scripts[-1]

    home = os.path.expanduser("~")
    paths = {"HOME": home, "PWD": os.path.abspath(cwd)}
    started = list_started_commands(command, read, paths, is_exact=is_exact)
    commands = [each for script in scripts for each in script.commands] if names_paths else []
    if not commands:
        return started, NamedPaths()
    changed, inner = _reduce(command)
    files = list_commands_of_files(commands, cwd)
    started = replace(started, commands=tuple(dict.fromkeys((*started.commands, *inner, *files))))
    return started, _Look(cwd, paths, commands).find(changed)


@lru_cache(maxsize=8)  # a command is looked at several times until it runs
def _reduce(command: str) -> tuple[Sequence[str], Sequence[tuple[str, ...]]]:
    """What the programs of a text are known to write or delete, as they name it, and the commands of texts that
    they have a shell run, as code in `python -c` does."""
    texts: dict[str, None] = {}

    def read(text: str) -> Script:
        texts[text] = None
        return read_script(text)

    effects = reduce_command(command, read)
    texts.pop(command, None)
    # What a backslash stands for is the program's own matter: of these only what is there as it is counts.
    sure = [text for text in texts if text in command or "\\" not in command]
    inner = [
        words
        for text in sure
        for words in list_started_commands(text, read_script, {}, is_exact=False).commands
    ]
    return tuple(each.place for each in effects if each.kind in _CHANGES and each.place), tuple(inner)


class _Look:
    """One look at the commands of a text. The number of names it looks at is bounded."""

    def __init__(self, cwd: Path, paths: Mapping[str, str], commands: Sequence[ScriptCommand]) -> None:
        self._commands = commands
        self._home = paths["HOME"]
        self._values = {name: [path] for name, path in paths.items()}
        self._folders = [os.path.realpath(cwd)]
        self._looks_left, self._entries_left = _MOST_LOOKS, _MOST_ENTRIES
        self._expansions_left = _MOST_EXPANSIONS

    def find(self, changed: Sequence[str]) -> NamedPaths:
        for command in self._commands:
            for assignment in (*command.assignments, *command.words):
                name, sign, value = assignment.partition("=")
                if sign and name.removesuffix("+").isidentifier():
                    self._values.setdefault(name.removesuffix("+"), []).extend(_list_values(value))
        for command in self._commands:
            for word in _list_entered(command):
                self._enter(word)
        read: dict[str, None] = {}
        written: dict[str, None] = {}
        for command in self._commands:
            read.update(
                dict.fromkeys(path for word in self._list_words(command) for path in self._look_at(word))
            )
            for redirect in command.redirects:
                self._redirect(redirect, read, written)
        places = dict.fromkeys(
            path
            for each in changed
            for word in self._expand(each)
            for path in self._look_at(word, must_exist=False)
        )
        return NamedPaths(tuple(read), tuple(written), tuple(places))

    def _list_words(self, command: ScriptCommand) -> Iterator[str]:
        """What may name a file: without a slash or a dot, a word may as well be a subcommand."""
        takes_files = any(os.path.basename(word) in _TAKES_FILES for word in command.words)
        # A text of one line may be what a loop or `xargs` takes names from.
        given = command.text.split() if command.text is not None and "\n" not in command.text else ()
        for word in (*command.assignments, *command.words[1:], *given):
            for value in self._expand(word):
                _, sign, behind = value.partition("=")
                found = [each.removeprefix("@") for each in _list_values(behind)] if sign else []
                if value.startswith("-"):
                    found += [value[value.index("/") :]] if "/" in value else []
                else:
                    found.append(value.removeprefix("@"))
                for each in found:
                    if takes_files or "/" in each or "." in each or each.startswith("~"):
                        yield from self._expand(each) if sign else (each,)

    def _redirect(self, redirect: Redirect, read: dict[str, None], written: dict[str, None]) -> None:
        if redirect.is_harmless or not redirect.target or (redirect.operator == "<&"):
            return
        for target in self._expand(redirect.target):
            if "<" in redirect.operator:
                read.update(dict.fromkeys(self._look_at(target)))
            if ">" in redirect.operator and target.strip("-0123456789"):
                written.update(dict.fromkeys(self._look_at(target, must_exist=False)))

    def _enter(self, word: str) -> None:
        for path in [path for value in self._expand(word) for path in self._look_at(value)]:
            if len(self._folders) < _MOST_FOLDERS and path not in self._folders and os.path.isdir(path):
                self._folders.append(path)

    def _expand(self, word: str) -> tuple[str, ...]:
        """The values that a word may have; what is not known in them stands as written."""
        done: dict[str, None] = {}
        waiting = [(word, 0)]
        while waiting and len(done) + len(waiting) < _MOST_VALUES and self._expansions_left > 0:
            self._expansions_left -= 1
            text, depth = waiting.pop()
            if (braces := _BRACES.search(text)) is not None:
                parts = [(part, depth) for part in braces[1].split(",")]
                start, end = braces.span()
            else:
                known = ((each, self._values.get(each[1] or each[2])) for each in _VARIABLE.finditer(text))
                found, values = next(((each, values) for each, values in known if values), (None, None))
                if found is None or values is None or depth > _DEEPEST:
                    done[self._expand_home(_SERIES.sub("?*", text))] = None
                    continue
                parts = [(value, depth + 1) for value in values]
                start, end = found.span()
            waiting += [(text[:start] + part + text[end:], depth) for part, depth in parts]
        # Of too many values, what they have in common is left.
        done.update(dict.fromkeys(self._expand_home(text) for text, _ in waiting))
        return tuple(done)

    def _expand_home(self, text: str) -> str:
        if text == "~" or text.startswith("~/"):
            return self._home + text[1:]
        return os.path.expanduser(text) if text.startswith("~") else text

    def _look_at(self, word: str, *, must_exist: bool = True) -> Iterator[str]:
        """The paths that a word may stand for. Of a name that is not known it is the folder."""
        unknown = _UNKNOWN.search(word)
        if unknown is not None:
            word = word[: unknown.start()].rpartition("/")[0] + "/" if "/" in word[: unknown.start()] else ""
        if not word or "\n" in word or UNKNOWN_WORDS in word:
            return
        for folder in self._folders:
            path = os.path.join(folder, word)
            for each in self._list_matching(path) if _WILD.search(word) else (path,):
                if self._looks_left <= 0:
                    return
                self._looks_left -= 1
                if not must_exist or os.path.lexists(each):
                    yield os.path.realpath(each)

    def _list_matching(self, pattern: str) -> Iterator[str]:
        """The files that a glob stands for, and itself, in case it fits none."""
        fixed = _WILD.split(pattern, maxsplit=1)[0].rpartition("/")[0]
        found: list[str] = [fixed or "/"]
        for part in pattern[len(fixed) + 1 :].split("/"):
            found = [os.path.join(above, name) for above in found for name in self._list_names(above, part)]
        yield from (*found, pattern)

    def _list_names(self, folder: str, pattern: str) -> Iterable[str]:
        if not _WILD.search(pattern):
            yield pattern
            return
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._entries_left -= 1
                    if self._entries_left <= 0:
                        return
                    is_hidden = entry.name.startswith(".") and not pattern.startswith(".")
                    if not is_hidden and fnmatchcase(entry.name, pattern):
                        yield entry.name
        except OSError:
            return


def _list_values(value: str) -> list[str]:
    """What is set, which may be a list of words in parentheses."""
    return value[1:-1].split() if value.startswith("(") and value.endswith(")") else [value]


def _list_entered(command: ScriptCommand) -> Iterator[str]:
    """The words of a command that may be a folder in which it, or what follows, runs."""
    words = command.words
    if words and words[0] in _ENTERS:
        yield from [word for word in words[1:] if not word.startswith("-")] or ["~"]
    for place, word in enumerate(words):
        option, sign, value = word.partition("=")
        if option in _FOLDER_OPTIONS:
            yield from (value,) if sign else words[place + 1 : place + 2]
        elif word.startswith("-C") and word != "-C":
            yield word[2:]
