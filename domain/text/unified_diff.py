"""Parsing of unified diffs, as this program, git, diff and GitHub write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

NO_FILE = "/dev/null"
HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", '"': '"', "\\": "\\"}
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


class ChangedLines(NamedTuple):
    """Lines before that lines after take the place of, both counted from 0."""

    old: range
    new: range


class DiffNames(NamedTuple):
    """The two names of a file in the lines of --- and +++, `NO_FILE` where there is none on that side."""

    old: str
    new: str

    @property
    def path(self) -> str:
        """What the file is called in the end, or was called before it was deleted."""
        return self.old if self.new == NO_FILE else self.new

    def strip_prefixes(self) -> DiffNames:
        """The names without `a/` and `b/`, where both have such a prefix or are none."""
        if all(name == NO_FILE or name[1:2] == "/" for name in self):
            return DiffNames(*(name if name == NO_FILE else name[2:] for name in self))
        return self


class DiffLine(NamedTuple):
    """One line. `sign` is "+", "-" or " " within a hunk, "@" for its heading and "" for all else.

    `text` is without the sign within a hunk, and the whole line elsewhere. `old` and `new` are its numbers
    in the file before and after.
    `names` are those of its file; None above the first file, and where the diff begins with a hunk.
    """

    sign: str
    text: str
    old: int | None = None
    new: int | None = None
    names: DiffNames | None = None

    @property
    def path(self) -> str:
        """What its file is called in the end; empty where the diff does not say."""
        return "" if self.names is None else self.names.strip_prefixes().path


def parse_diff(diff: str) -> Iterator[DiffLine]:
    """Every line of the diff, in order; none is left out.

    The counts in a hunk's heading decide what a line is, not how it looks: a removed line that begins with
    dashes is content, and so is an added one that looks like a heading. A heading counts below the names of a
    file, or where the diff begins with it: a message above a diff may quote one.
    """
    lines = diff.removesuffix("\n").split("\n")
    old = new = left_old = left_new = 0
    names: DiffNames | None = None
    is_in_file = lines[0].startswith("@@ -")
    for place, line in enumerate(lines):
        sign, text = line[:1], line[1:]
        if left_old > 0 and sign == "-":
            yield DiffLine("-", text, old=old, names=names)
            old, left_old = old + 1, left_old - 1
        elif left_new > 0 and sign == "+":
            yield DiffLine("+", text, new=new, names=names)
            new, left_new = new + 1, left_new - 1
        elif left_old > 0 and left_new > 0 and sign in (" ", "", "\r"):  # an empty line may have lost its blank
            yield DiffLine(" ", text if sign == " " else line, old=old, new=new, names=names)
            old, new, left_old, left_new = old + 1, new + 1, left_old - 1, left_new - 1
        elif sign == "\\":
            yield DiffLine("", line, names=names)
        elif is_in_file and (match := HUNK.match(line)):
            old, new = int(match[1]), int(match[3])
            left_old, left_new = int(match[2] or 1), int(match[4] or 1)
            yield DiffLine("@", line, names=names)
        else:
            left_old = left_new = 0
            if line.startswith("diff --git "):
                names, is_in_file = None, False
            elif line.startswith("--- ") and place + 1 < len(lines) and lines[place + 1].startswith("+++ "):
                names, is_in_file = read_names(line, lines[place + 1]), True
            yield DiffLine("", line, names=names)


def count_changes(diff: str) -> tuple[int, int]:
    """How many lines a diff adds, and how many it removes."""
    signs = [line.sign for line in parse_diff(diff)]
    return signs.count("+"), signs.count("-")


def read_names(old: str, new: str) -> DiffNames:
    """The names in a line of --- and the line of +++ below it."""
    return DiffNames(_read_name(old[4:]), _read_name(new[4:]))


def _read_name(text: str) -> str:
    """A name; what follows a tab is a time."""
    text = text.removesuffix("\r")
    return unquote_name(text) if text.startswith('"') else text.partition("\t")[0]


def unquote_name(text: str) -> str:
    """A name as git writes it: in quotes with escapes where it has unusual characters."""
    if not (text.startswith('"') and (found := QUOTED.match(text))):
        return text
    raw = bytearray()
    inner, place = found[1], 0
    while place < len(inner):
        if inner[place] != "\\":
            raw += inner[place].encode("utf-8", "surrogatepass")
            place += 1
        elif octal := re.match(r"[0-3][0-7]{2}", inner[place + 1 : place + 4]):
            raw.append(int(octal[0], 8))
            place += 4
        else:
            raw += _ESCAPES.get(inner[place + 1], inner[place + 1]).encode("utf-8", "surrogatepass")
            place += 2
    return raw.decode("utf-8", "replace")
