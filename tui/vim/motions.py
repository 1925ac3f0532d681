"""Where motions lead, as Vim defines them (`:help motion.txt`), in a text without folds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from quorum.tui.vim.buffer import BLANKS, Buffer

_OPENING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_CLOSING = {closing: opening for opening, closing in _OPENING.items()}


class MotionKind(Enum):
    """What an operator takes of the text between the cursor and the target."""

    EXCLUSIVE = auto()
    INCLUSIVE = auto()
    LINES = auto()


@dataclass(frozen=True, slots=True)
class MotionTarget:
    """Where a motion leads, and what an operator over it takes."""

    offset: int
    kind: MotionKind = MotionKind.EXCLUSIVE


@dataclass(frozen=True, slots=True)
class Find:
    """A search for a character in the line: one of `f F t T`, and the character."""

    key: str
    char: str

    @property
    def reversed(self) -> Find:
        """The same search in the other direction."""
        return Find(self.key.swapcase(), self.char)


def move_vertically(buffer: Buffer, lines: int, column: int) -> MotionTarget | None:
    """So many lines down, or up where negative, or as far as there are; None where there is none."""
    number = buffer.find_line_number(buffer.cursor)
    wanted = max(0, min(number + lines, buffer.line_count - 1))
    if wanted == number and lines:
        return None
    return MotionTarget(buffer.clamp_column(buffer.start_of_line_number(wanted), column), MotionKind.LINES)


def move_horizontally(buffer: Buffer, characters: int) -> MotionTarget | None:
    """So many characters to the right, or to the left where negative, within the line."""
    start, end = buffer.find_line_start(buffer.cursor), buffer.find_line_end(buffer.cursor)
    wanted = max(start, min(buffer.cursor + characters, end))
    return None if wanted == buffer.cursor else MotionTarget(wanted)


def move_to_line_end(buffer: Buffer, count: int) -> MotionTarget | None:
    """The last character of the line, `count` - 1 lines below."""
    line = buffer.cursor
    if count > 1:
        below = move_vertically(buffer, count - 1, 0)
        if below is None:
            return None
        line = below.offset
    return MotionTarget(max(buffer.find_line_start(line), buffer.find_line_end(line) - 1), MotionKind.INCLUSIVE)


def move_to_line(buffer: Buffer, number: int) -> MotionTarget:
    """The first character that is no blank in line `number`, counted from 1, or in the last line."""
    return MotionTarget(buffer.find_first_nonblank(buffer.start_of_line_number(number - 1)), MotionKind.LINES)


def find_next_word(buffer: Buffer, count: int, *, big: bool, stops_at_line_end: bool) -> MotionTarget | None:
    """The start of the word after, `count` times.

    An operator does not reach over the end of the line for its last word (`stops_at_line_end`).
    """
    text, place = buffer.text, buffer.cursor
    for left in range(count, 0, -1):
        stops = stops_at_line_end and left == 1
        at_last = place >= len(text) - (not stops_at_line_end) and "\n" not in text[place:]
        if at_last:
            return None if place == buffer.cursor else MotionTarget(place)
        kind = _classify(text, place, big)
        place += 1
        if stops and _ends_line(text, place):
            return MotionTarget(place)
        while kind and _classify(text, place, big) == kind:
            place += 1
            if stops and _ends_line(text, place):
                return MotionTarget(place)
        while place < len(text) and not _classify(text, place, big) and not _is_empty_line(text, place):
            place += 1
    return MotionTarget(place)


def find_word_end(buffer: Buffer, count: int, *, big: bool, stays_at_end: bool = False) -> MotionTarget | None:
    """The last character of the word, or of the next one where the cursor is at an end; `count` times.

    With `stays_at_end` a cursor at the end of a word stays there, as for `cw`.
    """
    text, place = buffer.text, buffer.cursor
    for _ in range(count):
        if place >= len(text):
            return None
        kind = _classify(text, place, big)
        place += 1
        in_word = kind and _classify(text, place, big) == kind
        if not in_word and not (stays_at_end and kind):
            while place < len(text) and not _classify(text, place, big):
                place += 1
            if place >= len(text):
                return MotionTarget(place, MotionKind.INCLUSIVE)
            kind = _classify(text, place, big)
        while kind and place < len(text) and _classify(text, place, big) == kind:
            place += 1
        place -= 1
        stays_at_end = False
    return MotionTarget(place, MotionKind.INCLUSIVE)


def find_previous_word(buffer: Buffer, count: int, *, big: bool) -> MotionTarget | None:
    """The start of the word, or of the one before where the cursor is at a start; `count` times."""
    text, place = buffer.text, buffer.cursor
    for _ in range(count):
        if not place:
            break
        place -= 1
        while place and not _classify(text, place, big) and not _is_empty_line(text, place):
            place -= 1
        kind = _classify(text, place, big)
        while kind and place and _classify(text, place - 1, big) == kind:
            place -= 1
    return None if place == buffer.cursor else MotionTarget(place)


def find_character(buffer: Buffer, search: Find, count: int, *, again: bool = False) -> MotionTarget | None:
    """The character that is looked for, the `count`-th one in the line.

    A repeated `t` or `T` (`again`) that would not move continues to the character after.
    """
    forward, before = search.key.islower(), search.key in "tT"
    step = 1 if forward else -1
    start, end = buffer.find_line_start(buffer.cursor), buffer.find_line_end(buffer.cursor)
    place = buffer.cursor
    if again and before and count == 1 and buffer.text[place + step : place + step + 1] == search.char:
        place += step
    for _ in range(count):
        place = (
            buffer.text.find(search.char, place + 1, end)
            if forward
            else buffer.text.rfind(search.char, start, max(start, place))
        )
        if place < 0:
            return None
    return MotionTarget(
        place - step if before else place, MotionKind.INCLUSIVE if forward else MotionKind.EXCLUSIVE
    )


def find_next_paragraph(buffer: Buffer, count: int) -> MotionTarget | None:
    """The empty line after the paragraph, or the end of the text."""
    place, last = buffer.cursor, len(buffer.text)
    for left in range(count, 0, -1):
        began = place
        while buffer.is_empty_line(place) and (end := buffer.find_line_end(place)) < last:
            place = end + 1
        while not buffer.is_empty_line(place) and (end := buffer.find_line_end(place)) < last:
            place = end + 1
        at_end = buffer.find_line_end(place) == last and not buffer.is_empty_line(place)
        if left > 1 and (at_end or place == began):
            return None
        if at_end:
            return MotionTarget(last - 1, MotionKind.INCLUSIVE)
    return MotionTarget(place)


def find_previous_paragraph(buffer: Buffer, count: int) -> MotionTarget | None:
    """The empty line before the paragraph, or the start of the text."""
    place = buffer.find_line_start(buffer.cursor)
    for left in range(count, 0, -1):
        while place and buffer.is_empty_line(place):
            place = buffer.find_line_start(place - 1)
        while place and not buffer.is_empty_line(place):
            place = buffer.find_line_start(place - 1)
        if left > 1 and not place and not buffer.is_empty_line(place):
            return None
    return MotionTarget(place)


def find_matching_bracket(buffer: Buffer) -> MotionTarget | None:
    """The bracket that belongs to the one under the cursor, or to the first one after it in the line."""
    end = buffer.find_line_end(buffer.cursor)
    for place in range(buffer.cursor, end):
        char = buffer.text[place]
        if char in "([{":
            found = find_closing_bracket(buffer.text, place + 1, char)
            return None if found is None else MotionTarget(found, MotionKind.INCLUSIVE)
        if char in ")]}":
            found = find_opening_bracket(buffer.text, place - 1, _CLOSING[char])
            return None if found is None else MotionTarget(found, MotionKind.INCLUSIVE)
    return None


def find_closing_bracket(text: str, start: int, opening: str) -> int | None:
    """The offset at or after `start` of the bracket that closes an `opening` one before it."""
    depth = 0
    for place in range(start, len(text)):
        if text[place] == opening:
            depth += 1
        elif text[place] == _OPENING[opening]:
            if not depth:
                return place
            depth -= 1
    return None


def find_opening_bracket(text: str, start: int, opening: str) -> int | None:
    """The offset at or before `start` of the `opening` bracket that is closed after it."""
    depth = 0
    for place in range(start, -1, -1):
        if text[place] == _OPENING[opening]:
            depth += 1
        elif text[place] == opening:
            if not depth:
                return place
            depth -= 1
    return None


def classify_character(char: str, *, big: bool) -> int:
    """0 for blanks and line breaks, else which characters form a word with this one."""
    if not char or char in BLANKS or char == "\n":
        return 0
    if big:
        return 1
    return 2 if char.isalnum() or char == "_" else 1


def _classify(text: str, place: int, big: bool) -> int:
    return classify_character(text[place : place + 1], big=big)


def _ends_line(text: str, place: int) -> bool:
    return place >= len(text) or text[place] == "\n"


def _is_empty_line(text: str, place: int) -> bool:
    return (not place or text[place - 1] == "\n") and _ends_line(text, place)
