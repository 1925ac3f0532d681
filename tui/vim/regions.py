"""What an operator acts on, from the cursor and a motion or a text object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from quorum.tui.vim import motions
from quorum.tui.vim.buffer import BLANKS, Buffer
from quorum.tui.vim.commands import VimCommand
from quorum.tui.vim.motions import Find, MotionKind, MotionTarget, find_text_object

TAB = "    "
"""What one step of indentation is."""


@dataclass(frozen=True, slots=True)
class Region:
    """The characters from `start` to before `end`, whole lines with `lines`; and where the cursor goes."""

    start: int
    end: int
    lines: bool
    cursor: int

    @classmethod
    def from_lines(cls, buffer: Buffer, first: int, last: int, cursor: int) -> Region:
        """The whole lines from that of `first` to that of `last`."""
        return cls(buffer.find_line_start(first), buffer.find_line_end(last), lines=True, cursor=cursor)

    def read_text(self, buffer: Buffer) -> str:
        """The text it takes, without the line break after its last line."""
        return buffer.text[self.start : self.end]


def find_motion_region(buffer: Buffer, command: VimCommand, target: MotionTarget) -> Region:
    """What an operator takes from the cursor to where a motion leads, as `:help exclusive-linewise` says."""
    first, last = sorted((buffer.cursor, target.offset))
    if target.kind is MotionKind.LINES:
        return Region.from_lines(buffer, first, last, first)
    if target.kind is MotionKind.INCLUSIVE:
        last += last < len(buffer.text) and buffer.text[last] != "\n"
    elif last > first and last == buffer.find_line_start(last) and buffer.find_line_start(first) != last:
        last -= 1
        if first <= buffer.indent_end(first):
            return Region.from_lines(buffer, first, last, first)
    spans_lines = "\n" in buffer.text[first:last]
    rest = buffer.text[last : buffer.find_line_end(last)]
    if command.name == "d" and spans_lines and not rest.strip(BLANKS) and first <= buffer.indent_end(first):
        return Region.from_lines(buffer, first, last, first)
    return Region(first, last, lines=False, cursor=first)


def find_object_region(buffer: Buffer, over: str, count: int) -> Region | None:
    """What a text object such as `iw` takes."""
    span = find_text_object(buffer, over[1], count, around=over[0] == "a")
    return None if span is None else Region(span.start, span.end, span.lines, span.start)


def indent(text: str, steps: int) -> str:
    """The lines moved right by so many steps, or left where negative. Empty lines stay empty."""
    width = len(TAB)

    def shift(line: str) -> str:
        if not line:
            return line
        body = line.lstrip(BLANKS)
        before = len(line[: len(line) - len(body)].expandtabs(width))
        return " " * max(0, before + steps * width) + body

    return "\n".join(shift(line) for line in text.split("\n"))


CASES: dict[str, Callable[[str], str]] = {"gu": str.lower, "gU": str.upper, "g~": str.swapcase}
"""What the operators for upper and lower case make of a text."""


def join(buffer: Buffer, lines: int) -> Buffer | None:
    """That many lines from the cursor's on as one (`J`); None where there is none below."""
    text, cursor = buffer.text, buffer.cursor
    end = buffer.find_line_end(cursor)
    if end == len(text):
        return None
    for _ in range(max(1, lines - 1)):
        end = Buffer(text).find_line_end(cursor)
        if end == len(text):
            break
        below = Buffer(text).find_line_end(end + 1)
        rest = text[end + 1 : below].lstrip(BLANKS)
        line = text[text.rfind("\n", 0, end) + 1 : end]
        blank = " " if line and rest and not rest.startswith(")") and not line.endswith((" ", "\t")) else ""
        text = text[:end] + blank + rest + text[below:]
        cursor = end
    return Buffer(text, cursor).on_character()


def find_target(
    buffer: Buffer, command: VimCommand, name: str, find: Find | None, column: int, *, operator: str | None
) -> MotionTarget | None:
    """Where a motion leads; None where it leads nowhere.

    `find` is the last search for a character, `column` where `j` and `k` want to be. An `operator` changes the
    extent of some motions.
    """
    count = command.times
    match name:
        case "h" | "l":
            target = motions.move_horizontally(buffer, count if name == "l" else -count)
            return MotionTarget(buffer.cursor) if target is None and operator else target
        case "j" | "k":
            return motions.move_vertically(buffer, count if name == "j" else -count, column)
        case "w" | "W" if operator == "c" and buffer.text[buffer.cursor : buffer.cursor + 1].strip():
            return motions.find_word_end(buffer, count, big=name == "W", stays_at_end=True)
        case "w" | "W":
            return motions.find_next_word(
                buffer, count, big=name == "W", stops_at_line_end=operator is not None
            )
        case "f" | "F" | "t" | "T":
            return motions.find_character(buffer, Find(name, command.char), count)
        case ";" | ",":
            if find is None:
                return None
            return motions.find_character(buffer, find if name == ";" else find.reversed, count, again=True)
        case _:
            return _SIMPLE_MOTIONS[name](buffer, command)


_SIMPLE_MOTIONS: dict[str, Callable[[Buffer, VimCommand], MotionTarget | None]] = {
    "b": lambda buffer, command: motions.find_previous_word(buffer, command.times, big=False),
    "B": lambda buffer, command: motions.find_previous_word(buffer, command.times, big=True),
    "e": lambda buffer, command: motions.find_word_end(buffer, command.times, big=False),
    "E": lambda buffer, command: motions.find_word_end(buffer, command.times, big=True),
    "0": lambda buffer, _: MotionTarget(buffer.find_line_start(buffer.cursor)),
    "^": lambda buffer, _: MotionTarget(buffer.find_first_nonblank(buffer.cursor)),
    "$": lambda buffer, command: motions.move_to_line_end(buffer, command.times),
    "G": lambda buffer, command: motions.move_to_line(buffer, command.count or buffer.line_count),
    "gg": lambda buffer, command: motions.move_to_line(buffer, command.times),
    "{": lambda buffer, command: motions.find_previous_paragraph(buffer, command.times),
    "}": lambda buffer, command: motions.find_next_paragraph(buffer, command.times),
    "%": lambda buffer, _: motions.find_matching_bracket(buffer),
}
