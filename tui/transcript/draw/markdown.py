"""A model's Markdown as lines for a width: what is finished is drawn once, only the open end again."""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip

from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.lines import ASIDE
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.model.blocks import Block, Kind, Splitter


class MarkdownLines:
    """Lines of a text that arrives in pieces. Any cutting of the same text gives the same lines in the end."""

    def __init__(self, width: int, palette: Palette, indent: int = 0) -> None:
        # Imported at the first answer: Rich's Markdown and Pygments are no part of the first frame.
        from quorum.tui.transcript.draw.painter import Painter

        self._painter = Painter.create(palette)
        self._width = max(width - indent, 8)
        self._indent = [Segment(" " * indent, ASIDE)] if indent else []
        self._splitter = Splitter()
        self._lines: list[Strip] = []
        self._finished = 0
        self._open_code: tuple[int, int] | None = None

    def feed(self, piece: str) -> None:
        """Take more text."""
        blocks = self._splitter.feed(piece)
        if blocks:
            del self._lines[self._finished :]
            for block in blocks:
                self._lines += self._draw_block(block)
            self._finished = len(self._lines)
            self._open_code = None

    @property
    def lines(self) -> list[Strip]:
        """All lines so far; the list is reused and changes with the next call."""
        rest = self._splitter.rest()
        if len(rest) == 1 and rest[0].kind is Kind.CODE:
            self._draw_open_code(rest[0])
            return self._lines
        del self._lines[self._finished :]
        self._open_code = None
        for block in rest:
            self._lines += self._draw_block(block)
        return self._lines

    def _draw_block(self, block: Block) -> list[Strip]:
        gap = [Strip([])] if block.gap else []
        if block.kind is Kind.CODE:
            return gap + self._draw_code(block.text, block.language)
        return gap + self._indent_lines(self._painter.render_markdown(make_printable(block.text), self._width))

    def _draw_code(self, text: str, language: str) -> list[Strip]:
        return self._indent_lines(self._painter.render_code(make_printable(text), language, self._width))

    def _indent_lines(self, strips: list[Strip]) -> list[Strip]:
        return [Strip([*self._indent, *strip]) for strip in strips] if self._indent else strips

    def _draw_open_code(self, block: Block) -> None:
        """Add the new lines of code that is still being written; colours across lines come at its end."""
        *whole, last = block.text.split("\n")
        if self._open_code is None or self._open_code[0] > len(whole):  # what looked like a line was a fence
            del self._lines[self._finished :]
            self._lines += [Strip([])] if block.gap else []
            self._open_code = (0, len(self._lines))
        drawn, kept = self._open_code
        del self._lines[kept:]
        for line in whole[drawn:]:
            self._lines += self._draw_code(line, block.language)
        self._open_code = (len(whole), len(self._lines))
        self._lines += self._draw_code(last, "")
