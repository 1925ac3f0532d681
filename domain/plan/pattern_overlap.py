"""Whether two path patterns may name the same file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

_Part = TypeVar("_Part")


@lru_cache(maxsize=4096)
def may_overlap(first: str, second: str) -> bool:
    """Whether a path may fit both patterns, as `matches_path` reads them. Without regard to case: some file
    systems have none."""
    return _overlap(_split(first), _split(second), "**", _names_overlap)


def _split(pattern: str) -> list[str]:
    return pattern.casefold().removeprefix("./").strip("/").split("/")


def _names_overlap(first: str, second: str) -> bool:
    return _overlap(first, second, "*", lambda one, other: one == other or "?" in (one, other))


def _overlap(
    first: Sequence[_Part], second: Sequence[_Part], star: _Part, fits: Callable[[_Part, _Part], bool]
) -> bool:
    """Whether one sequence fits both, where `star` stands for any number of parts. The time is that of the
    product of the lengths."""
    row = [True]  # whether what is left of `second` can be nothing, from its end on
    for part in reversed(second):
        row.append(row[-1] and part == star)
    for one in reversed(first):
        below = row
        row = [below[0] and one == star]
        for place, other in enumerate(reversed(second), start=1):
            if star in (one, other):  # it ends here, or takes one more part of the other side
                row.append(below[place] or row[-1])
            else:
                row.append(below[place - 1] and fits(one, other))
    return row[-1]
