"""The colours that a program asks for with terminal sequences, as far as they may be had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rich.color import Color, ColorType
from rich.color_triplet import ColorTriplet
from rich.style import Style

from quorum.domain.replacing import replace

_ATTRIBUTES = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_ENDS = {
    21: ("bold",),
    22: ("bold", "dim"),
    23: ("italic",),
    24: ("underline",),
    27: ("reverse",),
    29: ("strike",),
}
_STYLES = {name: Style.parse(name) for name in _ATTRIBUTES.values()}
# Text that can hardly be distinguished from its background would hide; it is drawn in the colours of the rest.
_LEAST_CONTRAST = 32


@dataclass(frozen=True, slots=True)
class Look:
    """What sequences have set so far. Blinking and hidden text are not to be had."""

    foreground: Color | None = None
    background: Color | None = None
    attributes: frozenset[str] = frozenset()


PLAIN = Look()


@lru_cache(maxsize=1024)
def apply_sequence(look: Look, parameters: str) -> Look:
    """The look after a sequence with these parameters, as `1;31`. Those it does not know change nothing."""
    codes = [int(code) if code.isdecimal() and len(code) <= 4 else 0 for code in _split(parameters)]
    place = 0
    while place < len(codes):
        code = codes[place]
        if code in (38, 48):
            colour, taken = _parse_extended(codes[place + 1 :])
            if colour is not None:
                look = replace(look, foreground=colour) if code == 38 else replace(look, background=colour)
            place += taken
        else:
            look = _choose_one(look, code)
        place += 1
    return look


def _split(parameters: str) -> list[str]:
    return parameters.replace(":", ";").split(";")


def _choose_one(look: Look, code: int) -> Look:
    if code == 0:
        return PLAIN
    if code in _ATTRIBUTES:
        return replace(look, attributes=look.attributes | {_ATTRIBUTES[code]})
    if code in _ENDS:
        return replace(look, attributes=look.attributes.difference(_ENDS[code]))
    if code == 39:
        return replace(look, foreground=None)
    if code == 49:
        return replace(look, background=None)
    for first, offset in ((30, 0), (90, 8)):
        if first <= code < first + 8:
            return replace(look, foreground=Color.from_ansi(code - first + offset))
        if first + 10 <= code < first + 18:
            return replace(look, background=Color.from_ansi(code - first - 10 + offset))
    return look


def _parse_extended(codes: Sequence[int]) -> tuple[Color | None, int]:
    """The colour of the rest of a 38 or 48, and how many codes it took."""
    if codes[:1] == [5] and len(codes) >= 2:
        return (Color.from_ansi(codes[1]) if codes[1] < 256 else None), 2
    if codes[:1] == [2] and len(codes) >= 4:
        red, green, blue = codes[1:4]
        return (Color.from_triplet(ColorTriplet(red, green, blue)) if max(codes[1:4]) < 256 else None), 4
    return None, len(codes)


@lru_cache(maxsize=512)
def build_style(look: Look, *, dark: bool) -> Style:
    """The style that a look is drawn in on a dark or a light ground, such that nothing it says is hidden."""
    foreground, background = look.foreground, look.background
    if _hides(foreground, background, dark=dark):
        foreground = background = None
    style = Style(color=foreground, bgcolor=background)
    return sum((_STYLES[name] for name in sorted(look.attributes)), style)


def _hides(foreground: Color | None, background: Color | None, *, dark: bool) -> bool:
    """Whether text can hardly be distinguished from its background, as far as that is known."""
    if foreground == background:
        return foreground is not None
    ink = _compute_lightness(foreground) if foreground is not None else (255 if dark else 0)
    ground = _compute_lightness(background) if background is not None else (0 if dark else 255)
    return abs(ink - ground) < _LEAST_CONTRAST


def _compute_lightness(colour: Color) -> float:
    """How light a colour is, from 0 to 255. Terminals draw the sixteen named ones lighter than their names."""
    if colour.type is ColorType.STANDARD and colour.number not in (None, 0, 7, 8, 15):
        return 128
    red, green, blue = colour.get_truecolor()
    return 0.30 * red + 0.59 * green + 0.11 * blue
