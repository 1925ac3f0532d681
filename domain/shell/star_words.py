"""The words that the `*` of a permission rule stands for.

A `*` covers operands, and options that are known not to run a program and not to read or write a file that the
option names. Every other option has to be written in the rule. For a program without a table only a few options
that mean the same everywhere are known. An option that is missing here costs a question, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from enum import Enum

from msgspec import Struct

from quorum.domain.shell.star_tables import ANY_PROGRAM, PROGRAMS, RUNNERS, StarTable
from quorum.domain.text.pattern import compile_once

_PLAIN_VALUE = r"[A-Za-z0-9_.,:+-]*"
_LONGEST_PREFIX = 2
_INSTALLED = r"(?:^|/)(?:\.?v?env/bin|node_modules/\.bin|vendor/bin)\Z"
_PYTHON = r"\Apython[0-9.]*\Z"


class _ValueForm(Enum):
    NONE = "no value"
    NEXT = "attached, or the next word"
    ATTACHED = "attached, or none"


class _WordState(Struct, frozen=True):
    """What is left to do after a word: whether the next one is its value, or the word is not covered."""

    is_covered: bool
    takes_next: bool = False
    value: str = ""
    """The value that is attached to the word."""


_UNKNOWN = _WordState(is_covered=False)
_ALONE = _WordState(is_covered=True)
_TAKES_NEXT = _WordState(is_covered=True, takes_next=True)


def find_uncovered_word(words: Sequence[str], starred: Collection[int]) -> str | None:
    """The first word at a place in `starred` that a `*` does not cover; None where it covers all of them.

    `words` is a plain command, the name of its program first. Words at other places are written in the rule.
    """
    table, start = find_star_table(words)
    if table.has_commands and start < len(words) and start not in starred:
        table = ANY_PROGRAM
    options, operands = _parse_options(table.options), re.compile(table.operands, re.DOTALL)
    values = re.compile(table.values, re.DOTALL)
    is_behind, takes_next, operands_left = False, False, table.reads
    for place in range(start, len(words)):
        word, is_starred = words[place], place in starred
        if word == "--" and not takes_next:
            is_behind = True
            if table.passed is not None:
                options = _parse_options(table.passed)
            continue
        if word.startswith("-") and word != "-" and (not is_behind or table.passed is not None):
            # An option is never taken for the value of one: not all programs agree on which it is.
            reading = _read_option(word, options, whole=table.whole, plain=table is ANY_PROGRAM)
            is_fit = reading.is_covered and values.fullmatch(reading.value) is not None
            if is_starred and (takes_next or not is_fit):
                return word
            takes_next = reading.takes_next
            continue
        is_operand = not takes_next
        takes_next = False
        is_output = is_operand and operands_left == 0
        if is_operand and operands_left:
            operands_left -= 1
        if is_starred and (
            (is_behind and word.startswith("-"))
            or not (operands if is_operand else values).fullmatch(word)
            or is_output
        ):
            return word
    return None


def find_star_table(words: Sequence[str]) -> tuple[StarTable, int]:
    """What is known of the program that a command runs, and the place of the first word behind its name."""
    start = _skip_runners(words)
    names = (name_program(words[start]), *words[start + 1 :])
    for length in range(min(_LONGEST_PREFIX, len(names)), 0, -1):
        if (table := PROGRAMS.get(tuple(names[:length]))) is not None:
            return table, start + length
    return ANY_PROGRAM, start + 1


def has_writing_uses(words: Sequence[str]) -> bool:
    """Whether an operand decides if this program, which mostly reads, writes."""
    return find_star_table(words)[0].is_mostly_reading


def propose_prefix(words: Sequence[str]) -> tuple[str, ...] | None:
    """The first words of a command, for a rule that ends in `*`; None for a program without a table."""
    table, behind = find_star_table(words)
    return tuple(words[:behind]) if table.is_proposed and "/" not in words[behind - 1] else None


def name_program(word: str) -> str:
    """The name under which a program has a table. What stands in a folder of the project is another program,
    whatever it is called, unless it is installed there: `.venv/bin/pytest`."""
    folder, _, name = word.rpartition("/")
    return name if folder[:1] == "/" or compile_once(_INSTALLED).search(folder) else word


def _skip_runners(words: Sequence[str]) -> int:
    """The place of the program behind `uv run`, `python -m` or both, if its table is known."""
    place = 0
    while place < len(words):
        name = compile_once(_PYTHON).sub("python", name_program(words[place]))
        runner = next((each for each in RUNNERS if (name, *words[place + 1 :])[: len(each)] == each), None)
        if runner is None:
            break
        place += len(runner)
    return place if place < len(words) and (words[place],) in PROGRAMS else 0


def _parse_options(text: str) -> Mapping[str, _ValueForm]:
    kinds = {"": _ValueForm.NONE, "=": _ValueForm.NEXT, "=?": _ValueForm.ATTACHED}
    found: dict[str, _ValueForm] = {}
    for entry in text.split():
        name, equals, kind = entry.partition("=")
        found[name] = kinds[equals + kind]
    return found


def _read_option(word: str, options: Mapping[str, _ValueForm], *, whole: bool, plain: bool) -> _WordState:
    name, equals, value = word.partition("=")
    if name in options and (whole or name.startswith("--") or len(name) == len("-x")):
        kind = options[name]
        if not equals:
            return _TAKES_NEXT if kind is _ValueForm.NEXT else _ALONE
        is_fit = kind is not _ValueForm.NONE and (not plain or compile_once(_PLAIN_VALUE).fullmatch(value))
        return _WordState(is_covered=True, value=value) if is_fit else _UNKNOWN
    if whole or word.startswith("--"):
        return _UNKNOWN
    return _read_bundle(word, options)


def _read_bundle(word: str, options: Mapping[str, _ValueForm]) -> _WordState:
    """`-am`, `-j4`: letters, the last of which may have its value attached or in the next word."""
    for place, letter in enumerate(word[1:], start=2):
        match options.get(f"-{letter}"):
            case None:
                return _UNKNOWN
            case _ValueForm.NONE:
                continue
            case _ValueForm.ATTACHED:
                return _WordState(is_covered=True, value=word[place:])
            case _ValueForm.NEXT:
                value = word[place:].removeprefix("=")
                return _WordState(is_covered=True, value=value) if word[place:] else _TAKES_NEXT
    return _ALONE
