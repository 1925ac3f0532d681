"""What is drawn on terminals of few colours or few characters.

The built-in font of the console of Linux has the characters of code page 437 and few others. xterm needs none
of this: its own font (misc-fixed, ISO 10646) holds every character that the app draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from rich.color import Color as RichColor
from rich.color import ColorType
from rich.segment import Segment
from rich.style import Style
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


FIRST_GREY, GREYS = 232, 24
BLACK, WHITE = 16, 231
_DARK, _PALE = 64, 200
_MOST_BLUE, _MOST_TINT = 20, 8
"""How far two channels of what is drawn as a grey may differ, in bluish colours and in others."""


class IndexedColours(LineFilter):
    """Draws what is almost grey in a grey, and pale tints in a tint.

    Rich goes by saturation, which is high in dark colours of any tint and low in pale ones: it draws the ground
    of a dark theme in black, what is raised above it in navy, and that of added lines of a light theme in grey.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same line in colours of the 256."""
        return [
            Segment(text, None if style is None else _replace_colours(style), control)
            for text, style, control in segments
        ]


@lru_cache(4096)
def _replace_colours(style: Style) -> Style:
    return style + Style(color=_replace(style.color), bgcolor=_replace(style.bgcolor))


def _replace(colour: RichColor | None) -> RichColor | None:
    """The colour to draw in place of this one, or None where Rich's choice stands."""
    if colour is None or colour.type is not ColorType.TRUECOLOR or colour.triplet is None:
        return None
    channels = red, green, blue = colour.triplet
    least, most = min(channels), max(channels)
    if most - least <= (_MOST_BLUE if blue == most else _MOST_TINT):
        return RichColor.from_ansi(_find_grey(0.299 * red + 0.587 * green + 0.114 * blue))
    if least >= _PALE:
        high = [2 * channel > least + most for channel in channels]
        return RichColor.from_ansi(
            BLACK + sum((4 + up) * step for up, step in zip(high, (36, 6, 1), strict=True))
        )
    return None


def _find_grey(lightness: float) -> int:
    """The index for a lightness of 0 to 255.

    Dark ones are rounded down, so that what is raised above a ground differs from it.
    """
    if lightness < 4:
        return BLACK
    step = (lightness - 8) / 10
    number = int(step) if lightness < _DARK else round(step)
    return WHITE if number >= GREYS else FIRST_GREY + max(number, 0)
