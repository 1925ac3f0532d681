"""Finding the passage that an edit names, and helping where it cannot be found."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from heapq import nlargest

from quorum.domain.errors import ToolError

_MOST_HINTS = 3
_MOST_LINES = 20_000
_ALIKE = 0.6
_MOST_NUMBERS = 20
_MOST_PLACES = 100
_MOST_COMPARED = 100
_MOST_HINT_CHARS = 2_000_000
_LONGEST_HINT = 160


def replace_text(content: str, old: str, new: str, *, everywhere: bool, name: str) -> tuple[str, int]:
    """The content with `old` replaced, and how often it was.

    Line ends follow the file: in a file of CRLF lines, LF in `old` and `new` means CRLF. Raises ToolError if
    the passage is not there, or is there more than once and not `everywhere` is meant.
    """
    if not old:
        raise ToolError("old_text is empty: give the passage to replace, or use write_file for a whole file")
    if old == new:
        raise ToolError("old_text and new_text are the same: there is nothing to change")
    old, new = _adopt_line_ends(content, old, new)
    if old not in content:
        raise ToolError(f"old_text was not found in {name}.{describe_near_miss(content, old)}")
    if everywhere:
        return content.replace(old, new), content.count(old)
    places = _find_places(content, old)
    if len(places) > 1:
        numbers = _list_numbers(content, places)
        times = str(len(places)) if len(places) < _MOST_PLACES else f"{_MOST_PLACES} or more"
        raise ToolError(
            f"old_text matches {times} times in {name} ({numbers}): "
            "add surrounding lines until it is unique, or set replace_all to true"
        )
    return content[: places[0]] + new + content[places[0] + len(old) :], 1


def _adopt_line_ends(content: str, old: str, new: str) -> tuple[str, str]:
    windows = content.count("\r\n")
    if not windows:
        return old, new
    mixed = windows != content.count("\n")
    if mixed and old in content:
        return old, new
    return _describe_windows(old), _describe_windows(new)


def _describe_windows(passage: str) -> str:
    return passage.replace("\r\n", "\n").replace("\n", "\r\n")


def _find_places(content: str, old: str) -> list[int]:
    """Where the passage begins first; overlapping places count, because they are just as ambiguous."""
    places: list[int] = []
    at = content.find(old)
    while at >= 0 and len(places) < _MOST_PLACES:
        places.append(at)
        at = content.find(old, at + 1)
    return places


def _list_numbers(content: str, places: list[int]) -> str:
    numbers, line, reached = [], 1, 0
    for place in places[:_MOST_NUMBERS]:
        line += content.count("\n", reached, place)
        reached = place
        numbers.append(str(line))
    more = ", …" if len(places) > _MOST_NUMBERS else ""
    return f"lines {', '.join(numbers)}{more}"


def describe_near_miss(content: str, old: str) -> str:
    """A sentence about what in the content resembles a passage that is not there, with a space before it."""
    lines = [line.strip() for line in content[:_MOST_HINT_CHARS].split("\n")[:_MOST_LINES]]
    wanted = [line.strip() for line in old.strip().split("\n")]
    if not any(wanted):
        return " Read the file again."
    if (first := _find_first_line(lines, wanted)) is not None:
        last = first + len(wanted) - 1
        where = f"line {first}" if first == last else f"lines {first}-{last}"
        return f" A passage that differs only in white space is at {where}: copy it exactly as it is there."
    from quorum.infrastructure.tools.builtin.lookalikes import describe_lookalike

    if alike := describe_lookalike(content[:_MOST_HINT_CHARS], old):
        return alike
    similar = _find_similar(lines, next(line for line in wanted if line))
    if not similar:
        return " No line resembles it: read the file again."
    return " The most similar lines are:\n" + "\n".join(similar)


def _find_first_line(lines: list[str], wanted: list[str]) -> int | None:
    """The number of the line at which all the wanted ones stand, from 1 on. Takes time linear in both."""
    text, passage = "\n".join(["", *lines, ""]), "\n".join(["", *wanted, ""])
    place = text.find(passage)
    return None if place < 0 else text.count("\n", 0, place) + 1


def _find_similar(lines: list[str], wanted: str) -> list[str]:
    """The lines most like this one. Only those are compared letter by letter that could be the most similar."""
    wanted = wanted[:_LONGEST_HINT]
    matcher = SequenceMatcher(autojunk=False, b=wanted)
    letters = Counter(wanted)
    places: dict[str, list[int]] = {}
    for number, line in enumerate(lines, start=1):
        same = places.setdefault(line[:_LONGEST_HINT], [])
        if len(same) < _MOST_HINTS:
            same.append(number)
    could_be = [(_estimate_likeness(line, wanted, letters), line) for line in places]
    scored: list[tuple[float, int]] = []
    for most, line in nlargest(_MOST_COMPARED, could_be, key=lambda each: each[0]):
        if most < _ALIKE:
            break
        matcher.set_seq1(line)
        scored += [(ratio, number) for number in places[line] if (ratio := matcher.ratio()) >= _ALIKE]
    best = sorted(scored, key=lambda s: (-s[0], s[1]))[:_MOST_HINTS]
    return [f"{number:6}\t{lines[number - 1][:_LONGEST_HINT]}" for _, number in best]


def _estimate_likeness(line: str, wanted: str, letters: Counter[str]) -> float:
    """At least the ratio of a comparison letter by letter: how many letters both have, wherever they stand."""
    both = len(line) + len(wanted)
    if 2 * min(len(line), len(wanted)) < _ALIKE * both:
        return 0.0
    return 2 * (letters & Counter(line)).total() / both
