"""A unified diff taken apart, so that it can be drawn with line numbers, in one column or in two."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tui.screens.review.text.rows import Span

_HUNK = re.compile(r"@@ -(\d{1,12})(?:,(\d{1,12}))? \+(\d{1,12})(?:,(\d{1,12}))? @@")


class ReviewDiffLine(NamedTuple):
    """One line. `sign` is "+", "-", " " within a hunk, "@" for its heading and "" for all else.

    `old` and `new` are its numbers in the file before and after; `spans` are spans of `text`.
    """

    sign: str
    text: str
    old: int | None = None
    new: int | None = None
    spans: tuple[Span, ...] = ()


def parse_diff(diff: str) -> list[ReviewDiffLine]:
    """Every line of the diff, in order; none is left out.

    Lines are told apart by the counts in a hunk's heading, not by their looks: a removed line that begins with
    dashes is content, and so is an added one that looks like a heading.
    """
    return list(_parse_lines(diff.removesuffix("\n").split("\n")))


def _parse_lines(lines: list[str]) -> Iterator[ReviewDiffLine]:
    old = new = left_old = left_new = 0
    for line in lines:
        sign, text = line[:1], line[1:]
        if sign == "\\" and (old or new):
            yield ReviewDiffLine("", line)
        elif left_old > 0 and sign == "-":
            yield ReviewDiffLine("-", text, old=old)
            old, left_old = old + 1, left_old - 1
        elif left_new > 0 and sign == "+":
            yield ReviewDiffLine("+", text, new=new)
            new, left_new = new + 1, left_new - 1
        elif left_old > 0 and left_new > 0 and sign in (" ", ""):
            yield ReviewDiffLine(" ", text, old=old, new=new)
            old, new, left_old, left_new = old + 1, new + 1, left_old - 1, left_new - 1
        elif match := _HUNK.match(line):
            old, new = int(match[1]), int(match[3])
            left_old, left_new = int(match[2] or 1), int(match[4] or 1)
            yield ReviewDiffLine("@", line)
        else:
            yield ReviewDiffLine("", line)


def paired(lines: list[ReviewDiffLine]) -> Iterator[tuple[ReviewDiffLine | None, ReviewDiffLine | None]]:
    """The lines as they stand side by side: what was on the left, what comes on the right."""
    removed: list[ReviewDiffLine] = []
    added: list[ReviewDiffLine] = []
    for line in lines:
        if line.sign == "-" and not added:
            removed.append(line)
        elif line.sign == "+":
            added.append(line)
        else:
            yield from _zipped(removed, added)
            removed, added = ([line], []) if line.sign == "-" else ([], [])
            if line.sign != "-":
                yield line, line
    yield from _zipped(removed, added)


def _zipped(
    removed: list[ReviewDiffLine], added: list[ReviewDiffLine]
) -> Iterator[tuple[ReviewDiffLine | None, ReviewDiffLine | None]]:
    for place in range(max(len(removed), len(added))):
        left = removed[place] if place < len(removed) else None
        right = added[place] if place < len(added) else None
        yield left, right
