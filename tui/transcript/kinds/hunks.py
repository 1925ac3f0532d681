"""A unified diff taken apart: its hunks, the numbers of its lines, and what differs within a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from quorum.domain.text.unified_diff import parse_diff

_NAME = re.compile(r"(?:--- a|\+\+\+ b)/(.+)")
_WORD = re.compile(r"\w+|\s+|.")
# Lines that share less than this are not one line changed, but another line.
_LEAST_ALIKE = 0.5
_LONGEST_COMPARED = 400
_MOST_COMPARED = 300


class HunkLine(NamedTuple):
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
    """Lines that follow each other. `path` is the file they are of, empty where the diff does not say."""

    lines: tuple[HunkLine, ...]
    path: str = ""


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
def parse_hunks(diff: str) -> Diff:
    """The hunks of a diff. What is no part of one is left to whoever knows the names of the files."""
    groups: list[list[HunkLine]] = []
    paths: list[str] = []
    path = ""
    for line in parse_diff(diff):
        if line.sign == "@":
            groups.append([])
            paths.append(path)
        elif line.sign:
            number = line.old if line.sign == "-" else line.new
            groups[-1].append(HunkLine(line.sign, number or 0, line.text))
        elif line.text.startswith("\\") and groups and groups[-1]:
            groups[-1].append(HunkLine("\\", 0, line.text[1:].strip()))
        elif name := _NAME.match(line.text):
            path = name[1]
    hunks: list[Hunk] = []
    left = _MOST_COMPARED
    for lines, of_file in zip(groups, paths, strict=True):
        if not lines:
            continue
        # Far down nobody looks for single words, and comparing them takes longer than all else.
        hunks.append(Hunk((*_emphasise(lines[:left]), *lines[left:]), of_file))
        left = max(0, left - len(lines))
    return Diff(tuple(hunks), path)


def _emphasise(lines: Sequence[HunkLine]) -> Iterator[HunkLine]:
    """The lines, with what changed within those that took each other's place."""
    place = 0
    while place < len(lines):
        removed = _run(lines, place, "-")
        added = _run(lines, place + len(removed), "+")
        if len(removed) == len(added):
            pairs = [_compare(*pair) for pair in zip(removed, added, strict=True)]
            yield from (old for old, _ in pairs)
            yield from (new for _, new in pairs)
        else:
            yield from (*removed, *added)
        place += len(removed) + len(added)
        if not removed and not added:
            yield lines[place]
            place += 1


def _run(lines: Sequence[HunkLine], start: int, sign: str) -> Sequence[HunkLine]:
    end = start
    while end < len(lines) and lines[end].sign == sign:
        end += 1
    return lines[start:end]


def _compare(old: HunkLine, new: HunkLine) -> tuple[HunkLine, HunkLine]:
    if max(len(old.text), len(new.text)) > _LONGEST_COMPARED:
        return old, new
    before, after = _WORD.findall(old.text), _WORD.findall(new.text)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _LEAST_ALIKE:
        return old, new
    steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    return (
        old._replace(changed=_find_spans(before, [(low, high) for _, low, high, _, _ in steps])),
        new._replace(changed=_find_spans(after, [(low, high) for _, _, _, low, high in steps])),
    )


def _find_spans(words: Sequence[str], ranges: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return tuple((starts[low], starts[high]) for low, high in ranges if low < high)
