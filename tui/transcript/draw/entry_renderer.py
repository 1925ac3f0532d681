"""One entry of the transcript as lines for a width.

Of Markdown that still arrives, what is finished is drawn once, only the open end again.
"""

from __future__ import annotations

import math
from typing import assert_never

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import (
    AnswerEntry,
    Batch,
    Entry,
    Notice,
    PanelEntry,
    PromptEntry,
    Restoration,
)
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.lines import ASIDE, build_strip, fit_text, pad_text, wrap_words
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.draw.cards import CardTarget, Drawing, draw_batch, draw_restored, is_hidden
from quorum.tui.transcript.draw.panels import draw_panel
from quorum.tui.transcript.draw.remarks import draw_remark
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


_INDENT = "  "
_MOST_OF_PROMPT, _FOLDED_PROMPT = 24, 12
"""A prompt with more lines than the first is folded to the second: most of it is pasted."""

_MARGIN = Segment(" ", ASIDE)
UNDONE = "┊"
"""What stands in the margin of an entry that was taken back."""


class EntryRenderer:
    """Draws entries at one width in one palette; remembers how far answers that still grow are drawn."""

    def __init__(self, width: int, palette: Palette) -> None:
        self.width = width
        self._room = max(width - 2, 12)
        self.palette = palette
        self._growing: dict[int, tuple[int, int, MarkdownLines]] = {}

    def draw(self, entry: Entry, now: float) -> Drawing:
        """All lines of an entry, the first being the empty one above it, with a margin of one column.

        None of one that a row further up stands for.
        """
        if self.palette.screen_reader:
            from quorum.tui.transcript.draw.screen_reader import draw_for_screen_reader

            return draw_for_screen_reader(entry, self.width)
        drawing = Drawing()
        if is_hidden(entry):
            return drawing
        match entry:
            case PromptEntry():
                drawing.add(self._render_prompt(entry), CardTarget(0))
            case AnswerEntry():
                drawing.add(self._render_reasoning(entry), CardTarget(0))
            case Batch():
                drawing = draw_batch(entry, self._room, self.palette, now)
            case Notice():
                drawing.add(self._render_notice(entry, now))
            case Restoration():
                drawing.add(draw_restored(entry, self._room, self.palette), CardTarget(0))
            case PanelEntry():
                drawing.add(draw_panel(entry, self._room, self.palette, now), CardTarget(0))
            case _:
                assert_never(entry)
        with_margin = Drawing([Strip([])], [None])
        with_margin.strips += [Strip([_MARGIN, *strip]) for strip in drawing.strips]
        with_margin.targets += drawing.targets
        if isinstance(entry, AnswerEntry):
            # These have their margin already: what is drawn of a growing answer must stay the same strips.
            with_margin.add(self._answer(entry))
        if entry.undone:
            with_margin.strips[1:] = [self._dim_undone(strip) for strip in with_margin.strips[1:]]
        return with_margin

    def _dim_undone(self, strip: Strip) -> Strip:
        """Dim, and with a mark in the margin: it does not count any more."""
        dim = self.palette.muted
        return Strip([Segment(UNDONE, dim + ASIDE), *strip.crop(1).apply_style(Style(dim=True))])

    def _render_prompt(self, entry: PromptEntry) -> list[Strip]:
        palette, room = self.palette, self._room - 2
        strips, mark = [], "↪ " if entry.steers else "› "
        lines = wrap_words(make_printable(entry.text), room)
        hidden = 0 if entry.expanded or len(lines) <= _MOST_OF_PROMPT else len(lines) - _FOLDED_PROMPT
        for line in lines[: len(lines) - hidden]:
            text = pad_text(line, room)
            strips.append(build_strip((mark, palette.prompt + palette.accent + ASIDE), (text, palette.prompt)))
            mark = _INDENT
        if hidden:
            more = fit_text(f"… {format_amount(hidden, 'more line')} · {palette.fold_key} opens", room)
            strips.append(build_strip((_INDENT, ASIDE), (more, palette.muted + ASIDE)))
        for file in entry.files:
            sign, style = ("+ ", palette.muted) if file.is_attached else ("- ", palette.warning)
            for line in wrap_words(make_printable(file.label, newlines=False), room - 2):
                strips.append(build_strip((_INDENT, ASIDE), (sign, style), (line, style)))
                sign = _INDENT
        return strips

    def _render_reasoning(self, entry: AnswerEntry) -> list[Strip]:
        """One line while folded: the last thought as they come; later how long they took, and the first."""
        if not entry.reasoning:
            return []
        text = make_printable("".join(entry.reasoning).strip())
        style = self.palette.muted + Style(italic=True)
        took = f" {math.floor(entry.thought_secs)} s" if entry.thought_secs >= 1 else ""
        if entry.expanded:
            strips = [build_strip((_INDENT, ASIDE), (line, style)) for line in wrap_words(text, self._room - 2)]
            return [
                build_strip(("▾ ", self.palette.muted + ASIDE), (f"thought{took}", self.palette.muted)),
                *strips,
            ]
        last = text.rpartition("\n")[2]
        first = text.partition("\n")[0]
        said = f"thought{took} · {first}" if entry.finished or entry.pieces else f"thinking: {last}"
        return [build_strip(("▸ ", self.palette.muted + ASIDE), (fit_text(said, self._room - 2), style))]

    def _answer(self, entry: AnswerEntry) -> list[Strip]:
        """What was drawn of a growing answer is kept, and only what came since is given to the Markdown."""
        edition, consumed, lines = self._growing.pop(id(entry), (-1, 0, None))
        if lines is None or edition != entry.edition:
            edition, consumed, lines = entry.edition, 0, MarkdownLines(self._room + 1, self.palette, 3)
        if consumed < len(entry.pieces):
            lines.feed("".join(entry.pieces[consumed:]))
        if not entry.finished:
            self._growing[id(entry)] = (edition, len(entry.pieces), lines)
        return lines.lines

    def _render_notice(self, entry: Notice, now: float) -> list[Strip]:
        text = entry.text
        if entry.until is not None:
            left = math.ceil(entry.until - now)
            text += f" in {left} s" if left > 0 else " now"
        return draw_remark(entry.kind, text, self._room, self.palette)
