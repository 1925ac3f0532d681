"""What the last change was, so that `.` can repeat it elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from quorum.tui.vim.buffer import Buffer
from quorum.tui.vim.commands import VimCommand
from quorum.tui.vim.regions import Region


@dataclass(frozen=True, slots=True)
class SelectionExtent:
    """How much was selected, so that a command over it can be repeated elsewhere."""

    line_breaks: int
    last_line: int
    lines: bool

    @classmethod
    def of(cls, region: Region, buffer: Buffer) -> SelectionExtent:
        """How much of a text this region takes."""
        text = region.read_text(buffer)
        return cls(text.count("\n"), len(text) - (text.rfind("\n") + 1), region.lines)

    def select_at_cursor(self, buffer: Buffer) -> Region:
        """As much from the cursor on as was selected before."""
        last = buffer.cursor
        for _ in range(self.line_breaks):
            end = buffer.find_line_end(last)
            if end == len(buffer.text):
                break
            last = end + 1
        if self.lines:
            return Region.from_lines(buffer, buffer.cursor, last, buffer.cursor)
        end = min(last + self.last_line, buffer.find_line_end(last))
        return Region(buffer.cursor, end, lines=False, cursor=buffer.cursor)


@dataclass(frozen=True, slots=True)
class RepeatableChange:
    """What `.` repeats: a command, over how much of a selection, and what was inserted with it."""

    command: VimCommand
    selected: SelectionExtent | None
    inserted: str | None = None


@dataclass(frozen=True, slots=True)
class Insertion:
    """Since when text is inserted: the text then, how often it counts, and what is between two of them."""

    began: Buffer
    times: int
    separator: str

    def find_inserted(self, now: Buffer) -> str | None:
        """What was inserted where it began; None where something else was changed."""
        began = self.began
        before, after = began.text[: began.cursor], began.text[began.cursor :]
        fits = len(now.text) >= len(began.text) and now.text.startswith(before) and now.text.endswith(after)
        return now.text[len(before) : len(now.text) - len(after)] if fits else None
