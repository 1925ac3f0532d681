"""Draws one block of Markdown or code with Rich, restrained: left-aligned headings, no boxes.

A link is drawn with its target behind it, unless it reads as its target.

Importing this module loads Rich's Markdown and Pygments, which takes about a tenth of a second.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from functools import cache

from markdown_it.token import Token
from pygments.lexers.special import TextLexer
from rich import markdown as rich_markdown
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme
from textual.strip import Strip

from quorum.tui.transcript.cells.lines import ASIDE, Continued, mark_continuation, wrap_text
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.model.languages import find_lexer
from quorum.tui.transcript.model.tokens import DONE, parse_tokens

_GAP = "  "
_LEAST = 8
_LONGEST_WORD = 16


def draw_table(
    headings: Sequence[Text], rows: Sequence[Sequence[Text]], width: int, console: Console
) -> Iterator[Text]:
    """The lines of a table, at most `width` cells each, or its rows as paragraphs still to be broken."""
    columns = list(zip(headings, *rows, strict=True))
    wanted = [max(cell.cell_len for cell in column) for column in columns]
    least = [min(most, _measure_least_width(column)) for most, column in zip(wanted, columns, strict=True)]
    widths = fit_columns(wanted, least, width - len(_GAP) * (len(columns) - 1))
    if widths is None:
        yield from _stack(headings, rows)
        return
    yield from _draw_row(headings, widths, console)
    yield Text(_GAP.join("─" * each for each in widths), style="markdown.table.border")
    was_broken = False
    for number, row in enumerate(rows):
        lines = list(_draw_row(row, widths, console))
        if number and (was_broken or len(lines) > 1):
            yield Text("")
        yield from lines
        was_broken = len(lines) > 1


def fit_columns(wanted: Sequence[int], least: Sequence[int], room: int) -> list[int] | None:
    """The cells of each column: what it wants, or all wide ones the same where that is too much.

    None where not even the least of all columns fit into `room`.
    """
    if sum(least) > room:
        return None
    low, high = 0, max(wanted, default=0)
    while low < high:  # the largest limit that fits
        limit = (low + high + 1) // 2
        if sum(_limit_widths(wanted, least, limit)) <= room:
            low = limit
        else:
            high = limit - 1
    widths = _limit_widths(wanted, least, low)
    for place, most in enumerate(wanted):
        if widths[place] < most and sum(widths) < room:
            widths[place] += 1
    return widths


def _limit_widths(wanted: Sequence[int], least: Sequence[int], limit: int) -> list[int]:
    return [min(most, max(few, limit)) for most, few in zip(wanted, least, strict=True)]


def _measure_least_width(column: Sequence[Text]) -> int:
    """The cells below which words of a column would be broken, within bounds."""
    longest = max((cell_len(word) for cell in column for word in cell.plain.split()), default=0)
    return max(_LEAST, min(longest, _LONGEST_WORD))


def _draw_row(cells: Sequence[Text], widths: Sequence[int], console: Console) -> Iterator[Text]:
    broken = [
        _break_cell(cell, width, console) if cell.cell_len > width else [cell]
        for cell, width in zip(cells, widths, strict=True)
    ]
    for number in range(max(map(len, broken))):
        line = Text()
        for place, (lines, cell, width) in enumerate(zip(broken, cells, widths, strict=True)):
            part = lines[number] if number < len(lines) else Text("")
            free = width - part.cell_len
            before = {"right": free, "center": free // 2}.get(cell.justify or "", 0)
            line.append(" " * before).append_text(part)
            if place + 1 < len(widths):
                line.append(" " * (free - before) + _GAP)
        line.rstrip()
        yield line


def _break_cell(cell: Text, width: int, console: Console) -> list[Text]:
    lines = cell.wrap(console, width, justify="default", overflow="fold")
    for line in lines:
        line.rstrip()
    return [line for line in lines if line.plain.strip()] or [Text("")]


def _stack(headings: Sequence[Text], rows: Sequence[Sequence[Text]]) -> Iterator[Text]:
    """Each cell below the other, after its heading; an empty line between rows."""
    for number, row in enumerate(rows):
        if number:
            yield Text("")
        for heading, cell in zip(headings, row, strict=True):
            name = heading.copy()
            if name:
                name.append(": ", Style(bold=True))
            yield name.append_text(cell)
    if not rows:
        yield from headings


_MOST_HIGHLIGHTED = 60_000
_CHECKED, _UNCHECKED = "☑ ", "☐ "


class Painter:
    """Draws in one palette."""

    def __init__(self, palette: Palette) -> None:
        self._palette = palette
        self._console = Console(
            file=io.StringIO(),
            force_terminal=True,
            color_system="truecolor",
            theme=_build_theme(palette),
            width=80,
        )
        self._syntaxes: dict[str, Syntax] = {}

    @classmethod
    def create(cls, palette: Palette) -> Painter:
        """The painter of a palette; there is one for each."""
        return _build_painter(palette)

    def render_markdown(self, text: str, width: int) -> list[Strip]:
        """A block of Markdown at a width in cells."""
        options = self._console.options.update(width=width, height=None)
        lines = self._console.render_lines(_Markdown(text, self), options, pad=False)
        strips = [Strip([s for s in line if s.text and not s.control]) for line in lines]
        shown = [number for number, strip in enumerate(strips) if strip.text.strip()]
        strips = strips[shown[0] : shown[-1] + 1] if shown else []
        return [strip if strip.cell_length <= width else strip.crop(0, width) for strip in strips]

    def render_code(self, text: str, language: str, width: int) -> list[Strip]:
        """Lines of code on the code background, one column in from its edges, broken where too wide."""
        inner = width - 2
        base = self._palette.code
        edge = Segment(" ", base + ASIDE)
        strips: list[Strip] = []
        for line in self._highlight(text, language).split("\n", allow_blank=True):
            segments = Segment.apply_style((s for s in line.render(self._console, end="") if s.text), base)
            strip = Strip(segments)
            at = 0
            for text in wrap_text(strip.text, inner):
                part = strip.crop(at, at + cell_len(text))
                at += cell_len(text)
                strips.append(Strip([edge, *self._fill_background(part, text, inner), edge], width))
        return strips

    def _fill_background(self, part: Strip, text: str, width: int) -> list[Segment]:
        """A part of a line of code, which says this text, on its background."""
        segments = list(part.adjust_cell_length(width, self._palette.code))
        if isinstance(text, Continued):
            first, style, _ = segments[0]
            segments[0] = Segment(first, (style or Style()) + mark_continuation(text.joint))
        return segments

    def _highlight(self, text: str, language: str) -> Text:
        if not language or len(text) > _MOST_HIGHLIGHTED:
            return Text(text)
        syntax = self._syntaxes.get(language)
        if syntax is None:
            syntax = self._syntaxes[language] = _build_syntax(language, dark=self._palette.dark)
        highlighted = syntax.highlight(text)
        # Lexers end the text with a line feed of their own.
        if highlighted.plain.endswith("\n") and not text.endswith("\n"):
            highlighted.right_crop(1)
        return highlighted if highlighted.plain == text else Text(text)


def _wrap_words(text: Text, console: Console, options: ConsoleOptions) -> RenderResult:
    """The text broken between words, its further lines marked to continue with those above them."""
    lines = text.wrap(console, options.max_width, justify="default", overflow="fold")
    whole, at = text.plain, 0
    for number, line in enumerate(lines):
        if not (shown := line.plain.strip()):
            continue
        found = whole.find(shown, at)
        between = whole[at:found]
        if number and found >= at and "\n" not in between:
            line.stylize(mark_continuation(between), len(line.plain) - len(line.plain.lstrip()))
        at = max(found, at) + len(shown)
    yield from Text("\n").join(lines).render(console, end="\n")


def _build_syntax(language: str, *, dark: bool) -> Syntax:
    lexer = (find_lexer(language) or TextLexer)(stripnl=False, ensurenl=True)
    return Syntax("", lexer, theme="ansi_dark" if dark else "ansi_light")


@cache
def _build_painter(palette: Palette) -> Painter:
    return Painter(palette)


def _build_theme(palette: Palette) -> Theme:
    headings = {f"markdown.h{level}": palette.heading for level in range(1, 7)}
    return Theme(
        {
            **headings,
            "markdown.code": palette.inline_code,
            "markdown.code_block": palette.code,
            "markdown.block_quote": palette.muted + Style(italic=True),
            "markdown.item.bullet": palette.accent,
            "markdown.item.number": palette.accent,
            "markdown.hr": palette.muted,
            "markdown.link_url": Style(underline=True),
            "markdown.table.border": palette.muted,
            "markdown.table.header": Style(bold=True),
        }
    )


class _Paragraph(rich_markdown.Paragraph):
    @classmethod
    def create(cls, markdown: rich_markdown.Markdown, token: Token) -> _Paragraph:
        return cls("default")  # "left" would fill every line with spaces

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _wrap_words(self.text, console, options)


class _Heading(rich_markdown.Heading):
    LEVEL_ALIGN = {f"h{level}": "default" for level in range(1, 7)}  # noqa: RUF012 - as the base declares it

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _wrap_words(self.text, console, options)


class _Code(rich_markdown.CodeBlock):
    """Code inside a list or a quote, drawn like code anywhere else."""

    @classmethod
    def create(cls, markdown: rich_markdown.Markdown, token: Token) -> _Code:
        assert isinstance(markdown, _Markdown)
        return cls(token.info.partition(" ")[0], markdown.painter)

    def __init__(self, language: str, painter: Painter) -> None:
        super().__init__(language, "ansi_dark")
        self._painter = painter

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for strip in self._painter.render_code(
            self.text.plain.rstrip("\n"), self.lexer_name, options.max_width
        ):
            yield from strip
            yield Segment.line()


class _Rule(rich_markdown.HorizontalRule):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("─" * min(options.max_width, 40), style="markdown.hr")


class _Image(rich_markdown.ImageItem):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text.assemble("image: ", self.text, f" ({self.destination}) ", end="")


class _Table(rich_markdown.TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        head = (
            [cell.content.copy() for cell in self.header.row.cells] if self.header and self.header.row else []
        )
        if not head:
            return
        for heading in head:
            heading.stylize("markdown.table.header")
        rows = [[cell.content for cell in row.cells] for row in self.body.rows] if self.body else []
        for line in draw_table(head, rows, options.max_width, console):
            yield from _wrap_words(line, console, options)


class _Item(rich_markdown.ListItem):
    """An item whose number takes the same room whatever follows: items are drawn one by one.

    `box` is drawn in the place of the bullet, or after the number; empty where the item is no task.
    """

    @classmethod
    def create(cls, markdown: rich_markdown.Markdown, token: Token) -> _Item:
        item = cls()
        is_done = token.meta.get(DONE)
        item.box = "" if is_done is None else _CHECKED if is_done else _UNCHECKED
        return item

    box: str = ""

    def render_bullet(self, console: Console, options: ConsoleOptions) -> RenderResult:
        return self._hang(self.box or "• ", "markdown.item.bullet", console, options)

    def render_number(
        self, console: Console, options: ConsoleOptions, number: int, last_number: int
    ) -> RenderResult:
        return self._hang(f"{number}. {self.box}", "markdown.item.number", console, options)

    def _hang(self, mark: str, style_name: str, console: Console, options: ConsoleOptions) -> RenderResult:
        inner = options.update(width=max(options.max_width - len(mark), 1))
        lead, style = mark, console.get_style(style_name)
        for line in console.render_lines(self.elements, inner, style=self.style, pad=False):
            yield Segment(lead, style)
            yield from line
            yield Segment.line()
            lead = " " * len(mark)


class _Markdown(rich_markdown.Markdown):
    """Rich's Markdown without raw HTML, and with every decoded entity made safe again."""

    elements = {  # noqa: RUF012 - as the base declares it
        **rich_markdown.Markdown.elements,
        "paragraph_open": _Paragraph,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "hr": _Rule,
        "image": _Image,
        "list_item_open": _Item,
        "table_open": _Table,
    }

    def __init__(self, markup: str, painter: Painter) -> None:
        # The base would make a parser for each block, which costs more than drawing it.
        self.markup = markup
        self.painter = painter
        self.parsed = parse_tokens(markup)
        self.hyperlinks = True
        self.justify = None
        self.style = "none"
        self.code_theme = self.inline_code_theme = "ansi_dark"
        self.inline_code_lexer = None
