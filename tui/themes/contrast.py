"""Readable colours: what has too little contrast is moved towards black or white until it has enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from textual.color import BLACK, WHITE, Color
from textual.constants import DIM_FACTOR
from textual.theme import Theme

TEXT, DECORATION = 4.5, 3.0
"""Least ratios of WCAG 2.1, for text (1.4.3) and for parts of the interface (1.4.11)."""

_MARGIN = 0.05  # for the rounding of what is blended and drawn later
_STEPS = 40
_TINT = 0.15
_TINTED = ("success", "error")
_TEXTS = ("primary", "secondary", "warning", "error", "success", "accent")
_FOCUSED = ("primary", "accent")  # also on the ground of a choice that has the focus
_PLAIN_GROUNDS = ("background", "surface", "panel")
_THUMBS = ("scrollbar", "scrollbar-hover", "scrollbar-active")


def compute_contrast(one: Color, other: Color) -> float:
    """The ratio of WCAG 2.1 of two opaque colours, from 1 to 21."""
    lighter, darker = sorted((_compute_luminance(one), _compute_luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _compute_luminance(colour: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def adjust_colour(colour: Color, grounds: Iterable[Color], least: float = TEXT, *, alpha: float = 1.0) -> Color:
    """The colour, as little changed as gives this ratio on all of the grounds, drawn on them with `alpha`.

    Where no colour gives it, the one that gives the most.
    """
    grounds = tuple(grounds)
    if _compute_least_ratio(colour, grounds, alpha) >= least:
        return colour
    end = max(WHITE, BLACK, key=lambda extreme: _compute_least_ratio(extreme, grounds, alpha))
    for step in range(1, _STEPS):
        moved = colour.blend(end, step / _STEPS, alpha=1.0)
        if _compute_least_ratio(moved, grounds, alpha) >= least + _MARGIN:
            return moved
    return end


def _compute_least_ratio(colour: Color, grounds: Sequence[Color], alpha: float) -> float:
    return min(compute_contrast(ground.blend(colour, alpha, alpha=1.0), ground) for ground in grounds)


def compute_tints(theme: Theme, variables: Mapping[str, str]) -> dict[str, str]:
    """The grounds of changed lines, faint enough for coloured text on them."""
    background = Color.parse(variables["background"])
    return {
        f"{name}-muted": background.blend(Color.parse(variables[name]), _TINT, alpha=1.0).hex
        for name in _TINTED
        if f"{name}-muted" not in theme.variables
    }


def list_grounds(variables: Mapping[str, str]) -> list[Color]:
    """All that text is drawn on."""
    names = (*_PLAIN_GROUNDS, *(f"{name}-muted" for name in _TINTED))
    return [Color.parse(variables[name]) for name in names]


def adjust_theme(theme: Theme, variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of a theme, changed where something drawn with them could not be read.

    Terminal colours are left alone: what they look like is the terminal's.
    """
    if theme.ansi:
        return dict(variables)
    changed = {**variables, **compute_tints(theme, variables)}
    grounds = list_grounds(changed)
    plain = [Color.parse(changed[name]) for name in _PLAIN_GROUNDS]
    foreground = adjust_colour(Color.parse(changed["foreground"]), grounds)
    # Quiet text is the foreground, dim.
    foreground = adjust_colour(foreground, plain[:2], alpha=DIM_FACTOR)
    changed["foreground"] = foreground.hex
    for name in _TEXTS:
        focused = [Color.parse(changed["primary-muted"])] if name in _FOCUSED else []
        changed[f"text-{name}"] = adjust_colour(Color.parse(changed[f"text-{name}"]), [*grounds, *focused]).hex
        changed[name] = adjust_colour(Color.parse(changed[name]), plain, DECORATION).hex
    changed["text-muted"] = _mute(changed["text-muted"], plain)
    tracks = [*plain, Color.parse(changed["scrollbar-background"])]
    for name in _THUMBS:
        changed[name] = adjust_colour(Color.parse(changed[name]), tracks, DECORATION).hex
    return changed


def _mute(written: str, grounds: Sequence[Color]) -> str:
    """`auto N%`, with the least N from the written one on that can be read on all of the grounds."""
    word, _, share = written.partition(" ")
    if word != "auto" or not share.endswith("%"):
        return adjust_colour(Color.parse(written), grounds).hex
    percent = int(float(share[:-1]))
    while percent < 100 and not all(
        compute_contrast(ground.blend(ground.get_contrast_text(1.0), percent / 100, alpha=1.0), ground)
        >= TEXT + _MARGIN
        for ground in grounds
    ):
        percent += 2
    return f"auto {min(percent, 100)}%"
