"""What a text starts through files that are there: makefiles, scripts of a shell, links, copies and aliases.

For rules that forbid or ask, never for those that allow: what cannot be read here may start anything all the
same.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from quorum.domain.review.command_pattern import SHELLS
from quorum.domain.review.started_commands import list_started_commands
from quorum.domain.shell.command_line import UNKNOWN_WORDS
from quorum.domain.shell.script import ScriptCommand
from quorum.infrastructure.execution.shell.script import read_script

_MOST_BYTES = 256 * 1024
_MOST_FILES = 30
_MAKES = frozenset({"make", "gmake"})
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_MAKE_VALUED = frozenset({"-C", "--directory", "-f", "--file", "--makefile", "-j", "-l", "-o", "-W", "-I"})
_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_ALWAYS_NAMED = frozenset({"test", "start", "stop", "restart"})
_COPIERS = frozenset({"cp", "ln", "mv", "install"})
_RULE = re.compile(r"(?P<targets>[^\t#=:][^#=:]*)::?(?!=)(?P<needs>[^=;#]*)(?:;(?P<recipe>.*))?")
_ASSIGNMENT = re.compile(r"\s*(?:export\s+)?(?P<name>[\w.-]+)\s*(?:\?|::?|\+)?=\s*(?P<value>.*)")
_VARIABLE = re.compile(r"\$\(([\w.-]+)\)|\$\{([\w.-]+)\}|\$(?!\$)([A-Za-z@<^*?%+])")
_UNKNOWN = "${UNKNOWN-}"
_DEEPEST_VALUES = 5
_LONGEST_LINE = 8 * 1024
_MOST_CHARACTERS = 512 * 1024  # of all texts that are looked through
_MOST_COMMANDS = 200
_MOST_LINES = 2_000  # of recipes
_ANYTHING = (UNKNOWN_WORDS,)
"""Stands for what is too much to be followed."""
_BUILT_IN_VALUES = {"MAKE": "make", "RM": "rm -f", "CC": "cc", "CXX": "c++", "AR": "ar", "SHELL": "/bin/sh"}

Words = tuple[str, ...]


def list_commands_of_files(commands: Sequence[ScriptCommand], cwd: Path) -> Iterator[Words]:
    """The commands that these start, beside their own. Reads files, and looks at links."""
    yield from _Files(cwd).follow([command.words for command in commands])


class _Files:
    """The files that were read so far: each is followed once."""

    def __init__(self, cwd: Path) -> None:
        self._folders = [cwd]
        self._read: set[object] = set()
        self._characters_left = _MOST_CHARACTERS

    def follow(self, commands: Iterable[Words]) -> Iterator[Words]:
        waiting = [words for words in commands if words]
        named: dict[str, Words] = {}
        followed: set[Words] = set()
        while waiting:
            words = waiting.pop(0)
            if words in followed:
                continue
            if len(followed) >= _MOST_COMMANDS:
                yield _ANYTHING
                return
            followed.add(words)
            self._enter(words)
            _note_names(words, named)
            found = [*self._list_started(words), *_list_by_name(words, named)]
            yield from found
            waiting += found

    def _enter(self, words: Words) -> None:
        if words[0] in ("cd", "pushd") and len(words) > 1:
            self._folders += [folder / words[1] for folder in self._folders[:1]]

    def _list_started(self, words: Words) -> Iterator[Words]:
        if "/" in words[0]:
            yield from self._follow_program(words)
        for place, word in enumerate(words):
            name, rest = word.rpartition("/")[2], words[place + 1 :]
            if name in _MAKES:
                yield from self._follow_make(rest)
            elif name in _RUNNERS:
                yield from self._follow_package(rest)
            elif name in SHELLS or (word in (".", "source") and place == 0):
                script = next((each for each in rest if not each.startswith(("-", "+"))), "")
                is_text = any(re.fullmatch(r"-[a-z]*c[a-z]*", each) for each in rest)
                if script and not is_text:
                    yield from self._follow_script(script, is_for_shell=True)

    def _follow_program(self, words: Words) -> Iterator[Words]:
        for folder in self._folders:
            path = folder / os.path.expanduser(words[0])
            real = os.path.realpath(path)
            if os.path.basename(real) != path.name and os.path.exists(real):
                yield (os.path.basename(real), *words[1:])
        yield from self._follow_script(words[0], is_for_shell=False)

    def _follow_script(self, name: str, *, is_for_shell: bool) -> Iterator[Words]:
        for folder in self._folders:
            text = self._open(folder / os.path.expanduser(name))
            first = text.partition("\n")[0]
            if (first.startswith("#!") and first.rstrip().endswith("sh")) or (text and is_for_shell):
                yield from self._list_in(text)

    def _follow_make(self, words: Words) -> Iterator[Words]:
        folders, files, goals = list(self._folders), list(_MAKEFILES), []
        place, values = 0, {}
        while place < len(words):
            word = words[place]
            option, sign, value = word.partition("=")
            if option in _MAKE_VALUED and not sign and place + 1 < len(words):
                place += 1
                value = words[place]
            if option in ("-C", "--directory"):
                folders = [folder / value for folder in folders]
            elif option in ("-f", "--file", "--makefile"):
                files = [value]
            elif sign and not word.startswith("-"):
                values[option] = value
            elif not word.startswith("-") and option not in _MAKE_VALUED:
                goals.append(word)
            place += 1
        for folder in folders:
            for text in (self._open(folder / file, (*goals,)) for file in files):
                for recipe in _Makefile(text).list_lines(goals, values):
                    yield from self._list_in(recipe)

    def _follow_package(self, words: Words) -> Iterator[Words]:
        names = [word for word in words if not word.startswith("-")]
        if names[:1] in (["run"], ["run-script"]):
            names = names[1:]
        elif not (names and names[0] in _ALWAYS_NAMED):
            names = names[:1]
        for folder in self._folders:
            try:
                text = self._open(folder / "package.json", tuple(names[:1]))
                scripts = json.loads(text or "{}").get("scripts", {})
            except (ValueError, AttributeError, RecursionError):
                continue
            for name in names[:1]:
                for each in (f"pre{name}", name, f"post{name}"):
                    if isinstance(scripts, Mapping) and isinstance(script := scripts.get(each), str):
                        yield from self._list_in(script)

    def _list_in(self, text: str) -> Iterator[Words]:
        self._characters_left -= len(text)
        if self._characters_left < 0:
            yield _ANYTHING
            return
        yield from list_started_commands(text, read_script, {}, is_exact=False).commands

    def _open(self, path: Path, about: Words = ()) -> str:
        """The text of a file; empty where there is none, where it is no text, or where it was followed."""
        key = (os.path.realpath(path), about)
        if key in self._read or len(self._read) >= _MOST_FILES:
            return ""
        self._read.add(key)
        try:
            if not path.is_file():
                return ""
            with path.open("rb") as opened:
                data = opened.read(_MOST_BYTES)
        except (OSError, ValueError):
            return ""
        return "" if b"\0" in data else data.decode("utf-8", "replace")


def _note_names(words: Words, named: dict[str, Words]) -> None:
    """Take note of names that a text gives to programs: aliases, and copies or links of a program."""
    match words:
        case ("alias", *given):
            for each in given:
                name, sign, value = each.partition("=")
                if sign and (inner := _split(value)):
                    named[name] = inner
        case (copier, *operands) if copier.rpartition("/")[2] in _COPIERS:
            places = [each for each in operands if not each.startswith("-")]
            if len(places) == 2 and "/" in places[0]:
                source, target = places
                name = os.path.basename(source)
                named[os.path.normpath(target)] = (name,)
                named[os.path.normpath(os.path.join(target, name))] = (name,)


def _list_by_name(words: Words, named: Mapping[str, Words]) -> Iterator[Words]:
    """What a command runs under a name that the text gave to another."""
    for place, word in enumerate(words):
        known = named.get(os.path.normpath(word) if "/" in word else word)
        if known is not None and known[0] != word and words[0] not in (*_COPIERS, "alias"):
            yield (*known, *words[place + 1 :])
            return


def _split(text: str) -> Words:
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return ()


class _Makefile:
    """The rules and variables of a makefile, as far as they are plain."""

    def __init__(self, text: str) -> None:
        self.values = dict(_BUILT_IN_VALUES)
        self.first = ""
        self._needs: dict[str, list[str]] = {}
        self._recipes: dict[str, list[str]] = {}
        current: list[str] = []
        for line in text.replace("\\\n", " ").splitlines():
            if line.startswith("\t"):
                for target in current:
                    self._recipes.setdefault(target, []).append(line.strip())
            elif (assigned := _ASSIGNMENT.fullmatch(line)) is not None:
                self.values[assigned["name"]] = assigned["value"].strip()
            elif (rule := _RULE.fullmatch(line)) is not None:
                current = self._add(rule)

    def _add(self, rule: re.Match[str]) -> list[str]:
        targets = _fill_in(rule["targets"], self.values).split()
        for target in targets:
            self._needs.setdefault(target, []).extend(_fill_in(rule["needs"], self.values).split())
            if rule["recipe"]:
                self._recipes.setdefault(target, []).append(rule["recipe"].strip())
        self.first = self.first or next((each for each in targets if not each.startswith(".")), "")
        return targets

    def list_lines(self, goals: Sequence[str], given: Mapping[str, str]) -> Iterator[str]:
        """What make runs for these goals, or for the first rule, and for what they need."""
        values = {**self.values, **given}
        waiting, done, lines = [*goals] or [self.first], set[str](), 0
        while waiting:
            target = waiting.pop()
            if target in done:
                continue
            done.add(target)
            waiting += self._needs.get(target, [])
            for line in self._recipes.get(target, []):
                lines += 1
                if lines > _MOST_LINES:
                    yield _UNKNOWN
                    return
                yield _fill_in(line, values).lstrip("@-+ ").replace("$$", "$")


def _fill_in(text: str, values: Mapping[str, str]) -> str:
    """The text with the values that make would put in, as far as they are not too long."""
    for _ in range(_DEEPEST_VALUES):
        left = _LONGEST_LINE

        def fill(found: re.Match[str]) -> str:
            nonlocal left
            name = found[1] or found[2] or found[3]
            value = values.get(name, os.environ.get(name, "") if name.isidentifier() else _UNKNOWN)
            left -= len(value)
            return value if left > 0 else _UNKNOWN

        filled = _VARIABLE.sub(fill, text)
        if filled == text:
            break
        text = filled if len(filled) <= _LONGEST_LINE else _UNKNOWN
    return text
