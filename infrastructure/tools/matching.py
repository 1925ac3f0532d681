"""Finding the passage that an edit names, and helping where it cannot be found."""

from __future__ import annotations

from difflib import SequenceMatcher

from domain.errors import ToolError

_MOST_HINTS = 3
_MOST_LINES = 20_000
_ALIKE = 0.6
_MOST_NUMBERS = 20
_LONGEST_HINT = 160


def replaced(content: str, old: str, new: str, *, everywhere: bool, name: str) -> tuple[str, int]:
    """The content with `old` replaced, and how often it was.

    Line ends follow the file: in a file of CRLF lines, LF in `old` and `new` means CRLF. Raises ToolError if
    the passage is not there, or is there more than once and not `everywhere` is meant.
    """
    if not old:
        raise ToolError("old_text is empty: give the passage to replace, or use write_file for a whole file")
    if old == new:
        raise ToolError("old_text and new_text are the same: there is nothing to change")
    old, new = _with_line_ends_of(content, old, new)
    places = _places(content, old)
    if not places:
        raise ToolError(f"old_text was not found in {name}.{_hint(content, old)}")
    if everywhere:
        return content.replace(old, new), content.count(old)
    if len(places) > 1:
        numbers = _line_numbers(content, places)
        raise ToolError(
            f"old_text matches {len(places)} times in {name} ({numbers}): "
            "add surrounding lines until it is unique, or set replace_all to true"
        )
    return content[: places[0]] + new + content[places[0] + len(old) :], 1


def _with_line_ends_of(content: str, old: str, new: str) -> tuple[str, str]:
    windows = content.count("\r\n")
    if not windows:
        return old, new
    mixed = windows != content.count("\n")
    if mixed and old in content:
        return old, new
    return _windows(old), _windows(new)


def _windows(passage: str) -> str:
    return passage.replace("\r\n", "\n").replace("\n", "\r\n")


def _places(content: str, old: str) -> list[int]:
    """Where the passage begins; overlapping places count, because they are just as ambiguous."""
    places, at = [], content.find(old)
    while at >= 0:
        places.append(at)
        at = content.find(old, at + 1)
    return places


def _line_numbers(content: str, places: list[int]) -> str:
    numbers, line, reached = [], 1, 0
    for place in places[:_MOST_NUMBERS]:
        line += content.count("\n", reached, place)
        reached = place
        numbers.append(str(line))
    more = ", …" if len(places) > _MOST_NUMBERS else ""
    return f"lines {', '.join(numbers)}{more}"


def _hint(content: str, old: str) -> str:
    lines = [line.strip() for line in content.split("\n")[:_MOST_LINES]]
    wanted = [line.strip() for line in old.strip().split("\n")]
    if not any(wanted):
        return " Read the file again."
    for start in range(len(lines) - len(wanted) + 1):
        if lines[start : start + len(wanted)] == wanted:
            first, last = start + 1, start + len(wanted)
            where = f"line {first}" if first == last else f"lines {first}-{last}"
            return f" A passage that differs only in white space is at {where}: copy it exactly as it is there."
    similar = _similar(lines, next(line for line in wanted if line))
    if not similar:
        return " No line resembles it: read the file again."
    return " The most similar lines are:\n" + "\n".join(similar)


def _similar(lines: list[str], wanted: str) -> list[str]:
    matcher = SequenceMatcher(autojunk=False, b=wanted[:_LONGEST_HINT])
    scored: list[tuple[float, int]] = []
    for number, line in enumerate(lines, start=1):
        matcher.set_seq1(line[:_LONGEST_HINT])
        if matcher.real_quick_ratio() >= _ALIKE and matcher.quick_ratio() >= _ALIKE:
            scored.append((matcher.ratio(), number))
    best = sorted((s for s in scored if s[0] >= _ALIKE), key=lambda s: (-s[0], s[1]))[:_MOST_HINTS]
    return [f"{number:6}\t{lines[number - 1][:_LONGEST_HINT]}" for _, number in best]
