"""Lines of terminal cells: cutting and wrapping plain text by the width it takes on the screen."""

from __future__ import annotations

import re

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.transcript.printable import printable

_WORD = re.compile(r"\s*\S+\s*")


def fitted(text: str, width: int) -> str:
    """The text, or as much of it as fits into `width` cells with an ellipsis at its end."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text[:width], width - 1).rstrip() + "…" if width > 0 else ""


def padded(text: str, width: int) -> str:
    """The text filled up with spaces to `width` cells."""
    return text + " " * (width - cell_len(text))


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text, broken hard wherever they are wider than `width` cells; never empty."""
    width = max(width, 2)
    lines: list[str] = []
    for line in text.split("\n"):
        if not line:
            lines.append("")
        elif line.isascii():
            lines += [line[at : at + width] for at in range(0, len(line), width)]
        else:
            lines += [line] if cell_len(line) <= width else chop_cells(line, width)
    return lines


def words(text: str, width: int) -> list[str]:
    """The lines of a text, broken between words where that is possible; never empty."""
    width = max(width, 2)
    lines: list[str] = []
    for line in text.split("\n"):
        whole = ""
        for word in _WORD.findall(line):
            if whole and cell_len(whole + word.rstrip()) > width:
                lines.append(whole.rstrip())
                whole = ""
            *broken, whole = wrapped(whole + word, width) if cell_len(word.rstrip()) > width else [whole + word]
            lines += broken
        lines.append(whole.rstrip())
    return lines


def strip_of(*parts: tuple[str, Style]) -> Strip:
    """One line of styled parts; empty parts are left out."""
    return Strip([Segment(text, style) for text, style in parts if text])


def amount(count: int, noun: str) -> str:
    """A count with its noun, as in `1 line` and `3,200 lines`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def size(count: int) -> str:
    """A number of bytes in the unit that suits it: `1 byte`, `1.2 kB`, `340 MB`."""
    if count < 1_000:
        return amount(count, "byte")
    number, units = count / 1_000, ["kB", "MB", "GB"]
    while number >= 999.5 and len(units) > 1:
        number /= 1_000
        units.pop(0)
    return f"{number:.1f} {units[0]}" if number < 9.95 else f"{number:,.0f} {units[0]}"


def duration(seconds: float) -> str:
    """A span of time in the unit that suits it: `12 ms`, `3.2 s`, `2 min 05 s`."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"


def program_text(text: str) -> str:
    """Output of a program, safe to draw: terminal sequences removed, other controls shown."""
    return printable(text, strip_ansi=True)
