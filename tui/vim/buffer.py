"""A text with a cursor, and where its lines begin and end. Offsets count characters from the start."""

from __future__ import annotations

from dataclasses import dataclass

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
