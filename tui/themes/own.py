"""Our own themes, beside those of Textual. Nothing is shown by colour alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace  # noqa: TID251 - loaded before the first paint

from textual.theme import Theme

# The line that is marked in a list differs in more than its background.
_MARKED = {"block-cursor-text-style": "bold", "block-cursor-blurred-text-style": "bold"}

DARK = Theme(
    name="quorum",
    primary="#7aa2c8",
    secondary="#8f9fb8",
    accent="#d0a85c",
    warning="#d9a441",
    error="#d0706b",
    success="#7fb069",
    foreground="#d4d7dc",
    background="#15181d",
    surface="#1d2128",
    panel="#262b34",
    dark=True,
    variables={**_MARKED, "success-muted": "#22332a", "error-muted": "#3d2427"},
)
LIGHT = Theme(
    name="quorum-light",
    primary="#2f5f8a",
    secondary="#5a6b82",
    accent="#8a5a00",
    warning="#8a5a00",
    error="#a83232",
    success="#2f7a36",
    foreground="#23272e",
    background="#fbfaf8",
    surface="#f0efec",
    panel="#e4e2dd",
    dark=False,
    variables={**_MARKED, "text-muted": "auto 70%", "success-muted": "#dcebdc", "error-muted": "#f7e1e0"},
)
CONTRAST = Theme(
    name="quorum-contrast",
    primary="#7fd4ff",
    secondary="#c8d6e5",
    accent="#ffe066",
    warning="#ffd24d",
    error="#ff9d96",
    success="#8cf08c",
    foreground="#ffffff",
    background="#000000",
    surface="#101010",
    panel="#3a3a3a",
    dark=True,
    text_alpha=1.0,
    variables={
        **_MARKED,
        "text": "auto 100%",
        "text-muted": "auto 90%",
        "text-disabled": "auto 80%",
        "foreground-muted": "#ededed",
        "foreground-disabled": "#d0d0d0",
        "success-muted": "#062c06",
        "error-muted": "#3a0b08",
        "primary-muted": "#06283a",
        "block-cursor-background": "#ffe066",
        "block-cursor-foreground": "#000000",
        "input-selection-background": "#ffe066",
        "input-selection-foreground": "#000000",
        "screen-selection-background": "#ffe066",
        "screen-selection-foreground": "#000000",
        "border-blurred": "#ffffff",
    },
)
ANSI = Theme(
    name="quorum-ansi",
    ansi=True,
    primary="ansi_cyan",
    secondary="ansi_blue",
    accent="ansi_magenta",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    dark=True,
    variables={
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
        "surface-active": "ansi_default",
        "foreground-disabled": "ansi_default",
        "block-cursor-foreground": "ansi_default",
        "block-cursor-background": "ansi_default",
        "block-cursor-text-style": "bold reverse",
        "block-cursor-blurred-text-style": "reverse",
        "border": "ansi_cyan",
        "border-blurred": "ansi_default",
        "scrollbar": "ansi_default",
        "scrollbar-hover": "ansi_default",
        "scrollbar-active": "ansi_cyan",
        "scrollbar-background": "ansi_default",
        "scrollbar-background-hover": "ansi_default",
        "scrollbar-background-active": "ansi_default",
        "input-selection-background": "ansi_cyan",
        "input-selection-foreground": "ansi_black",
    },
)
# Of the usual 16 colours, yellow and cyan cannot be read on white, least of all where bold makes them bright.
ANSI_LIGHT = replace(
    ANSI,
    name="quorum-ansi-light",
    primary="ansi_blue",
    secondary="ansi_magenta",
    warning="ansi_magenta",
    dark=False,
    variables={**ANSI.variables, "border": "ansi_blue", "scrollbar-active": "ansi_blue"},
)
THEMES = (DARK, LIGHT, CONTRAST, ANSI, ANSI_LIGHT)
"""The first one is the default."""

AUTO = "auto"
"""The name that stands for the dark or the light one, as the terminal's ground is."""

_LIGHT_GROUNDS = frozenset({"7", "15"})

# What tells a cursor or a mark where no colour may: every theme takes these where there is none.
COLOURLESS_STYLES: Mapping[str, str] = {
    "input-cursor-text-style": "reverse",
    "block-cursor-text-style": "bold reverse",
    "block-cursor-blurred-text-style": "reverse",
    "button-focus-text-style": "bold reverse",
}


def choose_theme(name: str, environ: Mapping[str, str]) -> str:
    """The theme that a name stands for.

    `auto` goes by COLORFGBG, "foreground;background" as some terminals set it, and is the dark one without,
    until the terminal has answered.
    """
    if name != AUTO:
        return name
    ground = environ.get("COLORFGBG", "").rpartition(";")[2]
    return choose_automatic_theme(is_light=ground in _LIGHT_GROUNDS)


def choose_automatic_theme(*, is_light: bool) -> str:
    """The theme for a light or a dark terminal."""
    return LIGHT.name if is_light else DARK.name
