"""Lines of terminal cells: cutting and wrapping plain text by the width it takes on the screen."""

from __future__ import annotations

import re

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.marks import Continued, mark_continuation

_WORD = re.compile(r"\s*\S+\s*")


def fit_text(text: str, width: int) -> str:
    """The text, or as much of it as fits into `width` cells with an ellipsis at its end."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text[:width], width - 1).rstrip() + "…" if width > 0 else ""


def fit_text_end(text: str, width: int) -> str:
    """The text, or as much of its end as fits into `width` cells with an ellipsis before it."""
    if cell_len(text) <= width:
        return text
    shown = text[-width:] if width > 0 else ""
    while shown and cell_len(shown) > width - 1:
        shown = shown[1:]
    return "…" + shown if width > 0 else ""


def pad_text(text: str, width: int) -> str:
    """The text filled up with spaces to `width` cells."""
    filled = text + " " * (width - cell_len(text))
    return Continued.of(filled, text.joint) if isinstance(text, Continued) else filled


def wrap_text(text: str, width: int) -> list[str]:
    """The lines of a text, broken hard wherever they are wider than `width` cells; never empty.

    A line that continues with the one before it is `Continued`.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        first, *rest = _chop(line, width)
        lines.append(first)
        for part in rest:
            lines.append(Continued.of(part, _take_trailing(first)))
            first = part
    return lines


def _chop(line: str, width: int) -> list[str]:
    width = max(width, 2)
    if line.isascii():
        return [line[at : at + width] for at in range(0, len(line), width)] or [""]
    return [line] if cell_len(line) <= width else chop_cells(line, width)


def _take_trailing(text: str) -> str:
    """The spaces at the end, which a line's end hides."""
    return text[len(text.rstrip()) :]


def wrap_words(text: str, width: int) -> list[str]:
    """The lines of a text, broken between words where that is possible; never empty.

    A line that continues with the one before it is `Continued`.
    """
    width = max(width, 2)
    lines: list[str] = []
    for line in text.split("\n"):
        first, *rest = _break_between_words(line, width)
        lines.append(first.rstrip())
        for part in rest:
            lines.append(Continued.of(part.rstrip(), _take_trailing(first)))
            first = part
    return lines


def _break_between_words(line: str, width: int) -> list[str]:
    parts: list[str] = []
    whole = ""
    for word in _WORD.findall(line):
        if whole and cell_len(whole + word.rstrip()) > width:
            parts.append(whole)
            whole = ""
        whole += word
        if cell_len(whole.rstrip()) > width:
            *broken, whole = _chop(whole, width)
            parts += broken
    return [*parts, whole]


def build_strip(*parts: tuple[str, Style]) -> Strip:
    """One line of styled parts; empty parts are left out. A `Continued` part marks the line as such."""
    return Strip([Segment(text, _mark_continued(text, style)) for text, style in parts if text])


def _mark_continued(text: str, style: Style) -> Style:
    return style + mark_continuation(text.joint) if isinstance(text, Continued) else style


def clean_program_text(text: str) -> str:
    """Output of a program, safe to draw: terminal sequences removed, other controls shown."""
    return make_printable(text, strip_ansi=True)
