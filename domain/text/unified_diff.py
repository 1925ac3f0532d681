"""Parsing of unified diffs, those of this program and of any other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_HUNK = re.compile(r"@@ -(\d{1,12})(?:,(\d{1,12}))? \+(\d{1,12})(?:,(\d{1,12}))? @@")


class DiffLine(NamedTuple):
    """One line. `sign` is "+", "-" or " " within a hunk, "@" for its heading and "" for all else.

    `text` is without the sign within a hunk, and the whole line elsewhere. `old` and `new` are its numbers
    in the file before and after.
    """

    sign: str
    text: str
    old: int | None = None
    new: int | None = None


def parse_diff(diff: str) -> Iterator[DiffLine]:
    """Every line of the diff, in order; none is left out.

    The counts in a hunk's heading decide what a line is, not how it looks: a removed line that begins with
    dashes is content, and so is an added one that looks like a heading.
    """
    old = new = left_old = left_new = 0
    for line in diff.removesuffix("\n").split("\n"):
        sign, text = line[:1], line[1:]
        if left_old > 0 and sign == "-":
            yield DiffLine("-", text, old=old)
            old, left_old = old + 1, left_old - 1
        elif left_new > 0 and sign == "+":
            yield DiffLine("+", text, new=new)
            new, left_new = new + 1, left_new - 1
        elif left_old > 0 and left_new > 0 and sign in (" ", ""):
            yield DiffLine(" ", text, old=old, new=new)
            old, new, left_old, left_new = old + 1, new + 1, left_old - 1, left_new - 1
        elif match := _HUNK.match(line):
            old, new = int(match[1]), int(match[3])
            left_old, left_new = int(match[2] or 1), int(match[4] or 1)
            yield DiffLine("@", line)
        else:
            yield DiffLine("", line)
