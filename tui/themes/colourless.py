"""The screen without colours: bold, dim, underlined and reversed text carry what colours would."""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter


def wants_no_colour(environ: Mapping[str, str]) -> bool:
    """Whether the person wants none: NO_COLOR is set, to anything but nothing."""
    return bool(environ.get("NO_COLOR"))


class Colourless(LineFilter):
    """Takes every colour out, the terminal's default ones too, so that no sequence for a colour is sent."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same text in the same styles, without colours."""
        return [
            Segment(text, style.without_color if style is not None else None, control)
            for text, style, control in segments
        ]
