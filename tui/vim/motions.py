"""Where motions lead and what text objects take, as Vim defines them, in a text without folds.

See `:help motion.txt` and `:help text-objects` in Vim.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

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


BRACKETS = {
    **dict.fromkeys("()b", "("),
    **dict.fromkeys("[]", "["),
    **dict.fromkeys("{}B", "{"),
    **dict.fromkeys("<>", "<"),
}
QUOTES = "\"'`"
NAMES = frozenset("wWp") | frozenset(BRACKETS) | frozenset(QUOTES)


@dataclass(frozen=True, slots=True)
class ObjectSpan:
    """The characters from `start` to before `end`; with `lines` the whole lines they stand in."""

    start: int
    end: int
    lines: bool = False


def find_text_object(buffer: Buffer, name: str, count: int, *, around: bool) -> ObjectSpan | None:
    """What the object of that name takes at the cursor, `around` (`a…`) or inside (`i…`), if there is one."""
    if name in "wW":
        return _find_words(buffer, count, big=name == "W", around=around)
    if name == "p":
        return _find_paragraphs(buffer, count, around=around)
    if name in QUOTES:
        return _find_quoted(buffer, name, around=around)
    return _find_bracketed(buffer, BRACKETS[name], count, around=around)


def _find_words(buffer: Buffer, count: int, *, big: bool, around: bool) -> ObjectSpan | None:
    text, end_of_line = buffer.text, buffer.find_line_end(buffer.cursor)
    start_of_line = buffer.find_line_start(buffer.cursor)
    if start_of_line == end_of_line:
        return None if around else ObjectSpan(start_of_line, end_of_line)

    def run(place: int) -> int:
        """Where the word or the blanks end that begin at `place`."""
        kind, end = classify_character(text[place], big=big), place
        while end < end_of_line and classify_character(text[end], big=big) == kind:
            end += 1
        return end

    start = buffer.cursor
    kind = classify_character(text[start], big=big)
    while start > start_of_line and classify_character(text[start - 1], big=big) == kind:
        start -= 1
    end = start
    took_blanks = False
    for _ in range(count):
        if end >= end_of_line:
            return None
        began_blank = text[end] in BLANKS
        end = run(end)
        if around and end < end_of_line and (began_blank or text[end] in BLANKS):
            end, took_blanks = run(end), True
        else:
            took_blanks = began_blank
    if around and not took_blanks:
        lead = start
        while lead > start_of_line and text[lead - 1] in BLANKS:
            lead -= 1
        if lead > start_of_line:  # the blanks a line begins with are its indentation
            start = lead
    return ObjectSpan(start, end)


def _find_paragraphs(buffer: Buffer, count: int, *, around: bool) -> ObjectSpan | None:
    lines = buffer.text.split("\n")
    blank = [not line.strip(BLANKS) for line in lines]
    first = last = buffer.find_line_number(buffer.cursor)
    while first and blank[first - 1] == blank[last]:
        first -= 1

    def run(number: int) -> int:
        """The last line of the block of text or of blank lines that begins with that one."""
        while number + 1 < len(lines) and blank[number + 1] == blank[number]:
            number += 1
        return number

    last = first - 1
    for _ in range(count):
        if last + 1 >= len(lines):
            return None
        last = run(last + 1)
        if around:
            if last + 1 < len(lines):
                last = run(last + 1)
            elif blank[last]:
                return None
            elif count == 1:
                while first and blank[first - 1]:
                    first -= 1
    start = buffer.start_of_line_number(first)
    return ObjectSpan(start, buffer.find_line_end(buffer.start_of_line_number(last)), lines=True)


def _find_quoted(buffer: Buffer, quote: str, *, around: bool) -> ObjectSpan | None:
    text, start_of_line, end_of_line = (
        buffer.text,
        buffer.find_line_start(buffer.cursor),
        buffer.find_line_end(buffer.cursor),
    )
    marks = [
        place
        for place in range(start_of_line, end_of_line)
        if text[place] == quote and not _is_escaped(text, place, start_of_line)
    ]
    pairs = list(zip(marks[::2], marks[1::2], strict=False))
    if buffer.cursor < end_of_line and text[buffer.cursor] == quote:
        chosen = next(((a, b) for a, b in pairs if buffer.cursor in (a, b)), None)
    else:
        before = [mark for mark in marks if mark < buffer.cursor]
        after = [mark for mark in marks if mark > buffer.cursor]
        # Without a mark before the cursor, the first quoted text after it is meant.
        chosen = (
            (before[-1], after[0]) if before and after else (after[0], after[1]) if len(after) > 1 else None
        )
    if chosen is None:
        return None
    start, end = chosen
    if not around:
        return ObjectSpan(start + 1, end)
    end += 1
    tail = end
    while tail < end_of_line and text[tail] in BLANKS:
        tail += 1
    if tail > end:
        return ObjectSpan(start, tail)
    while start > start_of_line and text[start - 1] in BLANKS:
        start -= 1
    return ObjectSpan(start, end)


def _is_escaped(text: str, place: int, start: int) -> bool:
    slashes = 0
    while place - slashes - 1 >= start and text[place - slashes - 1] == "\\":
        slashes += 1
    return slashes % 2 == 1


def _find_bracketed(buffer: Buffer, opening: str, count: int, *, around: bool) -> ObjectSpan | None:
    text = buffer.text
    at = text[buffer.cursor : buffer.cursor + 1]
    start: int | None = (
        buffer.cursor if at == opening else find_opening_bracket(text, buffer.cursor - 1, opening)
    )
    for _ in range(count - 1):
        if start is not None:
            start = find_opening_bracket(text, start - 1, opening)
    if start is None and (after := text.find(opening, buffer.cursor)) >= 0:
        start = after  # as in Vim from 9.0 on: outside of brackets the next ones are meant
    if start is None or (end := find_closing_bracket(text, start + 1, opening)) is None:
        return None
    if around:
        return ObjectSpan(start, end + 1)
    start += 1
    # Brackets on lines of their own stay there.
    if text[start : start + 1] == "\n":
        start += 1
        lead = buffer.find_line_start(end)
        if not text[lead:end].strip(BLANKS) and lead > start:
            return ObjectSpan(start, lead - 1, lines=True)
    return ObjectSpan(start, max(start, end))


BLANKS = " \t"


@dataclass(frozen=True, slots=True)
class Buffer:
    """A text, and the offset of the character the cursor stands on.

    The cursor may stand on the line break after a line, or after the last character, only while text is
    inserted or a motion is under way; `on_character` moves it to where normal mode leaves it.
    """

    text: str
    cursor: int = 0

    def find_line_start(self, offset: int) -> int:
        """The offset of the first character of the line."""
        return self.text.rfind("\n", 0, offset) + 1

    def find_line_end(self, offset: int) -> int:
        """The offset of the line break that ends the line, or of the end of the text."""
        end = self.text.find("\n", offset)
        return len(self.text) if end < 0 else end

    def find_first_nonblank(self, offset: int) -> int:
        """The first character of the line that is no blank; the last one where all are blank."""
        start, end = self.find_line_start(offset), self.find_line_end(offset)
        place = self.indent_end(start)
        return max(start, end - 1) if place == end else place

    def indent_end(self, offset: int) -> int:
        """Where the blanks end that the line begins with; this may be the end of the line."""
        place, end = self.find_line_start(offset), self.find_line_end(offset)
        while place < end and self.text[place] in BLANKS:
            place += 1
        return place

    def is_empty_line(self, offset: int) -> bool:
        """Whether the line has no characters."""
        return self.find_line_start(offset) == self.find_line_end(offset)

    def find_line_number(self, offset: int) -> int:
        """The number of the line, from 0."""
        return self.text.count("\n", 0, offset)

    @property
    def line_count(self) -> int:
        """How many lines there are; an empty text has one."""
        return self.text.count("\n") + 1

    def start_of_line_number(self, number: int) -> int:
        """The offset at which line `number` begins, counted from 0; the last line if there are fewer."""
        start = 0
        for _ in range(number):
            end = self.find_line_end(start)
            if end == len(self.text):
                break
            start = end + 1
        return start

    def clamp_column(self, line: int, column: int, *, past_end: bool = False) -> int:
        """The offset of that column in the line that begins at `line`, or of its last character.

        With `past_end` the line break may be reached too, as in a selection.
        """
        end = self.find_line_end(line)
        return min(line + column, end if past_end else max(line, end - 1))

    def on_character(self) -> Buffer:
        """The same text with the cursor on a character of its line, unless the line is empty."""
        cursor = max(0, min(self.cursor, len(self.text)))
        last = max(self.find_line_start(cursor), self.find_line_end(cursor) - 1)
        return Buffer(self.text, min(cursor, last))
