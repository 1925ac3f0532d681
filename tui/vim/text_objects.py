"""What text objects (`iw`, `a"`, `ib`, `ap`, …) take at the cursor, as in Vim's `:help text-objects`."""

from __future__ import annotations

from dataclasses import dataclass

from quorum.tui.vim.buffer import BLANKS, Buffer
from quorum.tui.vim.motions import classify_character, find_closing_bracket, find_opening_bracket

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
