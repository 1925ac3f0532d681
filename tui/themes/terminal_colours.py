"""What the 16 colours of terminals look like in code and in output, where a theme has colours of its own."""

from __future__ import annotations

from rich.color import parse_rgb_hex
from rich.terminal_theme import TerminalTheme
from textual.color import Color
from textual.theme import Theme

from tui.themes.contrast import grounds_of, readable, reading
from tui.themes.own import CONTRAST, THEMES


def _theme(ground: str, text: str, normal: str, bright: str) -> TerminalTheme:
    """From hexadecimal colours; `normal` and `bright` are eight each, in the order of terminals."""
    return TerminalTheme(
        parse_rgb_hex(ground),
        parse_rgb_hex(text),
        [parse_rgb_hex(each) for each in normal.split()],
        [parse_rgb_hex(each) for each in bright.split()],
    )


_DARK = _theme(
    "15181d",
    "d4d7dc",
    "4b5160 e8827c 8fc27a d9b25c 7fb0e0 c79be0 6cc3c9 c8ccd4",
    "8f97a5 f2a09b aad79a ecca7f a3c8ee dbb8ee 93dade eceff4",
)
_LIGHT = _theme(
    "fbfaf8",
    "23272e",
    "23272e a83232 2f6b2a 7a5600 2a5db0 80358f 00666f 5c6370",
    "5e646f b23737 37702e 765600 3264ba 8c3d9c 0a666e 2f343d",
)
_HIGH_CONTRAST = _theme(
    "000000",
    "ffffff",
    "6a6a6a ff9d96 8cf08c ffe066 9fc8ff f0b3ff 7fe9f0 ffffff",
    "c8c8c8 ffb8b3 b0f7b0 fff0a8 c2dcff f7d0ff b0f4f8 ffffff",
)


def terminal_colours(theme: Theme) -> TerminalTheme:
    """Those that can be read on the theme's ground."""
    if theme.name == CONTRAST.name:
        return _HIGH_CONTRAST
    usual = _DARK if theme.dark else _LIGHT
    return usual if theme in THEMES or theme.ansi else _fitting(usual, theme)


def _fitting(usual: TerminalTheme, theme: Theme) -> TerminalTheme:
    """The usual colours, moved as far as the grounds of a theme of others require."""
    variables = readable(theme, theme.to_color_system().generate())
    grounds = grounds_of(variables)
    colours = [reading(Color(*usual.ansi_colors[number]), grounds).rgb for number in range(16)]
    background, foreground = (Color.parse(variables[name]).rgb for name in ("background", "foreground"))
    return TerminalTheme(background, foreground, colours[:8], colours[8:])
