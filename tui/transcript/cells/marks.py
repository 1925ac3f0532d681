"""What a drawn line says of itself: which cells only decorate it, and whether it continues with the line above.

Marks travel in the styles of segments, so that they survive whatever lines are put together from; they never
reach the terminal.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from rich.style import Style

ASIDE = Style(meta={"aside": True})
"""Margins, edges, fold marks, lanes, line numbers: no part of the text. Add it to the style they have."""


class Continued(str):
    """A line that continues with the one above it; `joint` is what stood where they were broken apart."""

    joint: str

    @classmethod
    def of(cls, text: str, joint: str) -> Continued:
        """The text as such a line."""
        line = cls(text)
        line.joint = joint
        return line


class Mark(NamedTuple):
    """What a style says; `joint` is None where no line continues."""

    aside: bool = False
    joint: str | None = None


_NO_MARK = Mark()


@lru_cache(256)
def mark_continuation(joint: str) -> Style:
    """The style of the first cells of a line that continues; what stands before them on it is aside."""
    return Style(meta={"joint": joint})


@lru_cache(4_096)
def read_mark(style: Style | None) -> Mark:
    """What a style says of its cells."""
    meta = style.meta if style is not None else None
    return Mark(meta.get("aside", False), meta.get("joint")) if meta else _NO_MARK


@lru_cache(4_096)
def strip_marks(style: Style) -> Style:
    """The style without marks, its link left as it is."""
    if not style.meta:
        return style
    plain = style.clear_meta_and_links()
    return plain.update_link(style.link) if style.link else plain
