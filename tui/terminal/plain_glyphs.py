"""Characters for the console of Linux, whose built-in font has those of code page 437 and few others.

xterm needs none of this: its own font (misc-fixed, ISO 10646) holds every character that the app draws.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

PLAIN: Mapping[str, str] = {
    "✓": "√",
    "☑": "√",
    "☐": "○",
    "✗": "¬",
    "×": "·",
    "●": "•",
    "◔": "○",
    "▸": "►",
    "▾": "▼",
    "‹": "◄",
    "›": "►",
    "↪": "→",
    "↳": "└",
    "⇥": "→",
    "⇧": "↑",
    "⏎": "¶",
    "⋯": "·",
    "…": "·",
    "–": "─",
    "−": "─",
    "“": "«",
    "”": "»",
    "⟨": "«",
    "⟩": "»",
    "━": "═",
    "┃": "║",
    "┄": "─",
    "┊": "│",
    "╷": "│",
    "▆": "▄",
    "▏": "│",
}
"""What stands for each character that such a font lacks, one cell for one cell.

No stand-in is ASCII: text in a review can be read as no other command or path than it is.
"""
_TABLE = str.maketrans(dict(PLAIN))


def needs_plain_glyphs(environ: Mapping[str, str]) -> bool:
    """Whether the terminal is the console of Linux."""
    return environ.get("TERM", "") in {"linux", "linux-16color", "linux-basic"}


class PlainGlyphs(LineFilter):
    """Draws the stand-ins."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same line in the same styles, with characters that the console has."""
        return [Segment(text.translate(_TABLE), style, control) for text, style, control in segments]
