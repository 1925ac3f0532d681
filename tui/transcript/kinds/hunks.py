"""A unified diff taken apart: its hunks, the numbers of its lines, and what differs within a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

_HUNK = re.compile(r"@@ -(\d{1,12})(?:,(\d{1,12}))? \+(\d{1,12})(?:,(\d{1,12}))? @@")
_NAME = re.compile(r"\+\+\+ b/(.+)")
_WORD = re.compile(r"\w+|\s+|.")
# Lines that share less than this are not one line changed, but another line.
_LEAST_ALIKE = 0.5
_LONGEST_COMPARED = 400
_MOST_COMPARED = 300


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line. `number` is that in the old file for removed ones, else in the new one; 0 where it has none.

    `sign` is "+", "-", " " or, for what is said about a line, "\\\\"; `changed` are the spans of the text that
    differ from the line it took the place of, or that took its place.
    """

    sign: str
    number: int
    text: str
    changed: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that follow each other."""

    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True)
class Diff:
    """All of it. `path` is the file as it is called in the end; empty where the diff does not say."""

    hunks: tuple[Hunk, ...]
    path: str

    @property
    def counts(self) -> tuple[int, int]:
        """How many lines are added and removed."""
        signs = [line.sign for hunk in self.hunks for line in hunk.lines]
        return signs.count("+"), signs.count("-")


@lru_cache(maxsize=32)
def parse_diff(diff: str) -> Diff:
    """The hunks of a diff. What is no part of one is left to whoever knows the names of the files."""
    hunks: list[Hunk] = []
    path = ""
    left = _MOST_COMPARED
    for lines in _hunks(diff):
        if isinstance(lines, str):
            path = lines
            continue
        # Far down nobody looks for single words, and comparing them takes longer than all else.
        hunks.append(Hunk((*_emphasised(lines[:left]), *lines[left:])))
        left = max(0, left - len(lines))
    return Diff(tuple(hunks), path)


def _hunks(diff: str) -> Iterator[list[DiffLine] | str]:
    """Hunks, and names of files before them. Lines are told apart by the counts in a hunk's heading, not by
    their looks: a removed line that begins with dashes is content."""
    lines: list[DiffLine] = []
    old = new = left_old = left_new = 0
    for line in diff.split("\n"):
        sign, text = line[:1], line[1:]
        if sign == "-" and left_old > 0:
            lines.append(DiffLine("-", old, text))
            old, left_old = old + 1, left_old - 1
        elif sign == "+" and left_new > 0:
            lines.append(DiffLine("+", new, text))
            new, left_new = new + 1, left_new - 1
        elif sign in (" ", "") and left_old > 0 and left_new > 0:
            lines.append(DiffLine(" ", new, text))
            old, new, left_old, left_new = old + 1, new + 1, left_old - 1, left_new - 1
        elif sign == "\\" and lines:
            lines.append(DiffLine("\\", 0, text.strip()))
        elif hunk := _HUNK.match(line):
            if lines:
                yield lines
            lines = []
            old, left_old = int(hunk[1]), int(hunk[2] or 1)
            new, left_new = int(hunk[3]), int(hunk[4] or 1)
        elif name := _NAME.match(line):
            yield name[1]
    if lines:
        yield lines


def _emphasised(lines: Sequence[DiffLine]) -> Iterator[DiffLine]:
    """The lines, with what changed within those that took each other's place."""
    place = 0
    while place < len(lines):
        removed = _run(lines, place, "-")
        added = _run(lines, place + len(removed), "+")
        if len(removed) == len(added):
            pairs = [_compared(*pair) for pair in zip(removed, added, strict=True)]
            yield from (old for old, _ in pairs)
            yield from (new for _, new in pairs)
        else:
            yield from (*removed, *added)
        place += len(removed) + len(added)
        if not removed and not added:
            yield lines[place]
            place += 1


def _run(lines: Sequence[DiffLine], start: int, sign: str) -> Sequence[DiffLine]:
    end = start
    while end < len(lines) and lines[end].sign == sign:
        end += 1
    return lines[start:end]


def _compared(old: DiffLine, new: DiffLine) -> tuple[DiffLine, DiffLine]:
    if max(len(old.text), len(new.text)) > _LONGEST_COMPARED:
        return old, new
    before, after = _WORD.findall(old.text), _WORD.findall(new.text)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _LEAST_ALIKE:
        return old, new
    steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    return (
        DiffLine("-", old.number, old.text, _spans(before, [(low, high) for _, low, high, _, _ in steps])),
        DiffLine("+", new.number, new.text, _spans(after, [(low, high) for _, _, _, low, high in steps])),
    )


def _spans(words: Sequence[str], ranges: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return tuple((starts[low], starts[high]) for low, high in ranges if low < high)
