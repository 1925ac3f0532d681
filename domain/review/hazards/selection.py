"""Which things a command selects by itself: a request covers them only if it can be read off the words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.shell.script import ScriptCommand

_TESTS = frozenset(
    {
        *("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-type", "-maxdepth", "-mindepth"),
        *("-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-size"),
    }
)
"""Tests of find that take one value, and only make the selection smaller."""
_FLAGS = frozenset(
    {"-empty", "-depth", "-mount", "-xdev", "-a", "-and", "(", ")", "-print", "-print0", "-daystart"}
)
_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_PATTERN = re.compile(r"\*\.\w+")
_INVERTED = frozenset({"--inverse", "--invert-match", "--complement"})
_LEAVING_OUT = ("--exclude", "--except", "--keep", "--ignore", "--skip")


def leaves_out(run: Invocation) -> bool:
    """Whether a word of it names what is *not* to be touched: all else is, which no name tells."""
    short = {"git": "e", "pkill": "v", "pgrep": "v", "rsync": "C"}.get(run.program, "")
    return any(
        word in _INVERTED
        or word.startswith(_LEAVING_OUT)
        or "!=" in word
        or word.startswith((":!", ":^", ":(", "!", "^"))
        or (short and word[:1] == "-" != word[1:2] and short in word)
        for word in run.arguments
    )


def list_limits(commands: Sequence[ScriptCommand]) -> frozenset[str]:
    """The ages and sizes that a single find limits its selection to."""
    if [command.words[:1] for command in commands].count(("find",)) != 1:
        return frozenset()
    words = next(command.words for command in commands if command.words[:1] == ("find",))
    return frozenset(
        f"{test} {value}" for test, value in pairwise(words) if test in ("-mtime", "-mmin", "-size")
    )


def is_selected_by_words(commands: Sequence[ScriptCommand]) -> bool:
    """Whether the words of a find, or the patterns of an ls, say which things another program is run on, and no
    other command has a say in it."""
    return all(_selects_by_words(command) for command in commands)


def _selects_by_words(command: ScriptCommand) -> bool:
    words = command.words
    match words[:1]:
        case ("xargs",):  # it reads what a pipe brings, and no file
            reads_file = any(word.startswith(("-a", "--arg-f")) for word in words)
            return bool(command.reads) and not (reads_file or command.redirects or command.text)
        case ("find",):
            return is_plain_find(words[1:])
        case ("ls",):
            return (
                all(word in ("-1", "-d") or _PATTERN.fullmatch(word) for word in words[1:]) and len(words) > 1
            )
        case _:
            return False


def is_plain_find(words: Sequence[str]) -> bool:
    """Whether a find selects what all of its tests fit, and acts on nothing before it has tested it."""
    place = 0
    while place < len(words) and not words[place].startswith(("-", "(", "!", ",")):
        place += 1
    if place > 1 and "." in words[:place]:
        return False
    has_acted = False
    while place < len(words):
        word = words[place]
        if word in ("-print", "-print0"):
            place += 1
        elif has_acted:
            return False
        elif word in _TESTS:
            place += 2
        elif word == "-delete":
            has_acted, place = True, place + 1
        elif word in _RUNS:
            has_acted = True
            while place < len(words) and words[place] not in (";", "+"):
                place += 1
            place += 1
        elif word in _FLAGS:
            place += 1
        else:
            return False
    return True
