"""How the words of a command are read, to prove by its options and operands that it only reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cache

from msgspec import Struct, field

from quorum.domain.text.pattern import compile_once

_NUMBER = r"-[0-9]+"
# Part of an expression to `find`, and no path. To others they are paths, and may exist.
_PUNCTUATION = frozenset({"(", ")", "!"})
_EXCLUDING = r"![^!]"


class NotReadOnly(Exception):
    """A use of a command that is not known only to read. The text says why, for the person.

    `word` is the option that is not known, as it was given.
    """

    def __init__(self, message: str, word: str | None = None) -> None:
        super().__init__(message)
        self.word = word


class Operands(Enum):
    """What the words are that are no options."""

    NONE = "none"
    TEXTS = "texts"
    PATHS = "paths"
    TEXT_THEN_PATHS = "a text, then paths"
    # Git takes either in most places, so each is judged as both.
    REVISIONS = "revisions or paths"
    TEXT_THEN_REVISIONS = "a text, then revisions or paths"


class Reading(Enum):
    """What of a path is read."""

    NAMES = "names"
    FILE = "a file"
    ALL_BELOW = "a file, or all files of a folder and below"
    # As ripgrep does it: names with a dot in front are left out, unless an ignore file takes them in again.
    VISIBLE_BELOW = "a file, or the files of a folder and below that are not hidden"
    # As `grep -R` does it.
    ALL_LINKED = "a file, or all files of a folder and below, and what symbolic links there lead to"


class Style(Enum):
    """How options are written: `-a -b`, `-ab`, `--long=x`; or as `find` has them, each a whole word."""

    OPTIONS = "options"
    WHOLE_WORDS = "whole words"


class _ValueKind(Enum):
    NONE = "none"
    TEXT = "text"
    PATH = "path"
    ATTACHED = "attached"


class CommandSpec(Struct, frozen=True, kw_only=True):
    """The uses of one command that only read. What is not listed is asked about.

    `options` lists them: `-a` alone, `-n=` with a value, `-f=@` with a path that is read, `--color=?` with a
    value that can only be attached, `-NUM` for `-5`. `searching` are options that make it read folders whole,
    `following` those with which it goes through symbolic links in them as well, `needed` are those of which one
    must be there. `no_text` are options in whose presence the first operand is
    a path already. `first` is what the first operand must look like, in full, and `values` what the texts that
    options take must look like. `narrowing` options hold a pattern of the names of files read, beside
    `widening` ones it may select others as well, and `revealing` ones make a search enter hidden files and
    folders too.
    `default` says that without a path it reads the working directory. `obsolete` are words that it reads in a
    syntax of its own and that are refused, unless they are the value of an option.

    `permutes` says that options may follow operands on every system. Elsewhere the system, the shell or
    POSIXLY_CORRECT decides whether a word behind the first operand is an option or one operand more, and the
    use must be harmless either way.
    """

    options: str = ""
    operands: Operands = Operands.PATHS
    reading: Reading = Reading.FILE
    style: Style = Style.OPTIONS
    most_operands: int | None = None
    default: bool = False
    following: frozenset[str] = frozenset()
    searching: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()
    no_text: frozenset[str] = frozenset()
    narrowing: frozenset[str] = frozenset()
    widening: frozenset[str] = frozenset()
    revealing: frozenset[str] = frozenset()
    first: str | None = None
    values: str | None = None
    obsolete: str | None = None
    permutes: bool = False

    @property
    def may_stop_at_operand(self) -> bool:
        """Whether some systems take everything behind the first operand for operands. Git reads its own way."""
        is_git = self.operands in (Operands.REVISIONS, Operands.TEXT_THEN_REVISIONS)
        return not (self.permutes or is_git or self.style is Style.WHOLE_WORDS)


class PathUse(Struct, frozen=True):
    """A path that a command reads, as written. `only` are the endings of names it is limited to, if any.

    `as_words`: what is below it is named to `xargs`, which takes names with blanks or quotes apart.
    """

    path: str
    reading: Reading
    only: tuple[str, ...] = ()
    as_words: bool = False


class Use(Struct, frozen=True):
    """What a command is given, read by its spec: options by name, operands in order, and the paths it reads.

    `behind_dashes` are those operands that stand behind `--`, and `late` the options behind the first operand,
    which some systems take for operands.
    """

    options: frozenset[str]
    operands: tuple[str, ...]
    paths: tuple[PathUse, ...]
    behind_dashes: tuple[str, ...] = ()
    late: tuple[str, ...] = ()


class _Found(Struct):
    options: set[str] = field(default_factory=set)
    # Options and their values behind the first operand, where they may be operands instead.
    late: list[str] = field(default_factory=list)
    is_needed_met: bool = False
    operands: list[str] = field(default_factory=list)
    behind_dashes: list[str] = field(default_factory=list)
    paths: list[PathUse] = field(default_factory=list)
    narrowing: list[str] = field(default_factory=list)


def parse_use(spec: CommandSpec, name: str, words: Sequence[str]) -> Use:
    """What the words after a command's name mean. Raises NotReadOnly where they are not known only to read."""
    found = _WordReader(spec, name).read(words)
    if spec.needed and not found.is_needed_met:
        raise NotReadOnly(f"{name} is known only to read with {' or '.join(sorted(spec.needed))}")
    return Use(
        frozenset(found.options),
        tuple(found.operands),
        (*found.paths, *_list_operand_paths(spec, name, found)),
        tuple(found.behind_dashes),
        tuple(found.late),
    )


class _WordReader:
    """Reads words one by one against a spec."""

    def __init__(self, spec: CommandSpec, name: str) -> None:
        self._spec = spec
        self._name = name
        self._known = _parse_options(spec.options)
        self._found = _Found()

    def read(self, words: Sequence[str]) -> _Found:
        rest = iter(words)
        for word in rest:
            self._require_current_syntax(word)
            if self._is_operand(word):
                self._found.operands.append(word)
                continue
            self._note_if_late(word)
            if self._spec.most_operands is not None and self._found.operands:
                # Not every system lets options follow operands: there it would be one operand more.
                raise NotReadOnly(f"{self._name} may take {word} for a file")
            elif self._spec.style is Style.WHOLE_WORDS or word in self._known:
                self._read_option_value(word, word, rest)
            elif word == "--":
                # What follows is meant as an operand, whatever it looks like.
                self._found.behind_dashes.extend(rest)
                self._found.operands.extend(self._found.behind_dashes)
            elif compile_once(_NUMBER).fullmatch(word) and "-NUM" in self._known:
                self._add("-NUM")
            elif word.startswith("--"):
                self._read_long(word)
            else:
                self._read_bundle(word, rest)
        return self._found

    def _require_current_syntax(self, word: str) -> None:
        if self._spec.obsolete is not None and compile_once(self._spec.obsolete).fullmatch(word):
            raise NotReadOnly(f"{self._name} reads {word} in a way that is not known only to read")

    def _is_late(self) -> bool:
        return bool(self._found.operands) and self._spec.may_stop_at_operand

    def _note_if_late(self, word: str) -> None:
        if self._is_late():
            self._found.late.append(word)

    def _is_operand(self, word: str) -> bool:
        if not word.startswith("-") or word == "-":
            return True
        return self._spec.operands is Operands.TEXTS and not self._known

    def _read_option_value(self, option: str, word: str, rest: Iterator[str]) -> None:
        match self._known.get(option):
            case None:
                raise self._build_unknown_error(option, word)
            case _ValueKind.NONE | _ValueKind.ATTACHED:
                self._add(option)
            case _ValueKind.TEXT | _ValueKind.PATH:
                value = next(rest, None)
                if value is None:
                    raise NotReadOnly(f"{self._name} {option} lacks its value")
                self._note_if_late(value)
                self._set(option, value)

    def _read_long(self, word: str) -> None:
        option, equals, value = word.partition("=")
        if not equals or self._known.get(option, _ValueKind.NONE) is _ValueKind.NONE:
            raise self._build_unknown_error(option, word)
        self._set(option, value)

    def _read_bundle(self, word: str, rest: Iterator[str]) -> None:
        for place, letter in enumerate(word[1:], start=2):
            option = f"-{letter}"
            attached = word[place:]
            match self._known.get(option):
                case _ValueKind.PATH if attached.startswith("="):
                    # Some parsers take the sign for a part of the path, others do not.
                    raise self._build_unknown_error(option, word)
                case _ValueKind.TEXT | _ValueKind.PATH | _ValueKind.ATTACHED if attached:
                    self._set(option, attached)
                    return
                case _:
                    self._read_option_value(option, word, rest)

    def _add(self, option: str) -> None:
        self._found.options.add(option)
        # Behind an operand it may be an operand itself: `command rm -v` removes a file called -v.
        if option in self._spec.needed and not self._is_late():
            self._found.is_needed_met = True

    def _set(self, option: str, value: str) -> None:
        self._add(option)
        if self._known[option] is not _ValueKind.PATH:
            self._require_plain_value(option, value)
        else:
            self._found.paths.append(PathUse(value, Reading.FILE))
        if option in self._spec.narrowing:
            self._found.narrowing.append(value)

    def _require_plain_value(self, option: str, value: str) -> None:
        if self._spec.values is not None and not compile_once(self._spec.values).fullmatch(value):
            raise NotReadOnly(f"{self._name} {option} {value} is not known only to read")

    def _build_unknown_error(self, option: str, word: str) -> NotReadOnly:
        return NotReadOnly(f"{self._name} {option} is not known only to read", word)


def list_options_with_value(spec: CommandSpec) -> frozenset[str]:
    """The options whose value is the word behind them."""
    return frozenset(
        name
        for name, value in _parse_options(spec.options).items()
        if value in (_ValueKind.TEXT, _ValueKind.PATH)
    )


@cache  # there are as many as specs
def _parse_options(text: str) -> Mapping[str, _ValueKind]:
    kinds = {"": _ValueKind.NONE, "=": _ValueKind.TEXT, "=@": _ValueKind.PATH, "=?": _ValueKind.ATTACHED}
    parted = (entry.partition("=") for entry in text.split())
    return {name: kinds[equals + kind] for name, equals, kind in parted}


def _list_operand_paths(spec: CommandSpec, name: str, found: _Found) -> Iterator[PathUse]:
    operands = _select_paths(spec, name, found)
    searches = bool(spec.searching & found.options)
    reading = Reading.ALL_BELOW if searches else spec.reading
    if spec.following & found.options:
        searches, reading = True, Reading.ALL_LINKED
    wanted = [pattern for pattern in found.narrowing if not compile_once(_EXCLUDING).match(pattern)]
    is_narrowed = reading not in (Reading.NAMES, Reading.FILE) and not spec.widening & found.options
    only = _list_endings(wanted) if is_narrowed else ()
    # A pattern that is no plain ending may name hidden files.
    if reading is Reading.VISIBLE_BELOW and (spec.revealing & found.options or (wanted and not only)):
        reading = Reading.ALL_BELOW
    if not set(operands) - _PUNCTUATION and (spec.default or searches):
        operands = [*operands, "."]
    # A lone dash is a file to some commands, and standard input to others: then there is nothing to object to.
    late = [] if spec.operands in (Operands.NONE, Operands.TEXTS) else found.late
    for operand in (*operands, *late):
        yield PathUse(operand, reading, only)


def _select_paths(spec: CommandSpec, name: str, found: _Found) -> list[str]:
    operands = found.operands
    if spec.most_operands is not None and len(operands) > spec.most_operands:
        raise NotReadOnly(f"{name} may write to {operands[spec.most_operands]}")
    if operands and spec.first is not None and not compile_once(spec.first).fullmatch(operands[0]):
        raise NotReadOnly(f"{name} {operands[0]} is not known only to read")
    match spec.operands:
        case Operands.NONE if operands:
            raise NotReadOnly(f"{name} {operands[0]} is not known only to read")
        case Operands.NONE | Operands.TEXTS:
            return []
        case Operands.PATHS | Operands.REVISIONS:
            return operands
        case Operands.TEXT_THEN_PATHS | Operands.TEXT_THEN_REVISIONS:
            return operands if spec.no_text & found.options else operands[1:]


def _list_endings(patterns: Sequence[str]) -> tuple[str, ...]:
    """The endings of names that patterns like `*.py` select; none where one of them is of another kind."""
    simple = [re.fullmatch(r"\*(\.[A-Za-z0-9]+)", pattern) for pattern in patterns]
    if all(simple):
        return tuple(match[1] for match in simple if match)
    return ()
