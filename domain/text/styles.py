"""How a program styled what it printed, kept beside the plain text: whoever only reads gets no sequences.

A sequence within a secret would hide it from the mask, and cost a model tokens that tell it nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct


class StyleChange(Struct, frozen=True):
    """From the character `at` on, as the parameters `sgr` of a terminal's sequence say: `1;31`, or nothing to
    end all styles (ECMA-48, SELECT GRAPHIC RENDITION)."""

    at: int
    sgr: str

    @property
    def ends_all(self) -> bool:
        """Whether nothing of what was set before it continues."""
        return self.sgr.strip("0") == ""


Styles: TypeAlias = tuple[StyleChange, ...]


def shift_styles(styles: Styles, by: int) -> Styles:
    """The same for a text that has `by` more characters in front."""
    return tuple(StyleChange(each.at + by, each.sgr) for each in styles)


def insert_sequences(text: str, styles: Sequence[StyleChange]) -> str:
    """The text as a program would print it: with the sequences in it. Those beyond its end are left out."""
    within = [each for each in styles if 0 <= each.at <= len(text)]
    if not within:
        return text
    pieces = [text[: within[0].at]]
    ends = [*(each.at for each in within[1:]), len(text)]
    for change, end in zip(within, ends, strict=True):
        pieces += [f"\x1b[{change.sgr}m", text[change.at : end]]
    return "".join(pieces)


def keep_active_styles(styles: Sequence[StyleChange]) -> Sequence[StyleChange]:
    """Those that still hold after the last of them."""
    last_end = max((place for place, each in enumerate(styles) if each.ends_all), default=-1)
    return styles[last_end + 1 :]
