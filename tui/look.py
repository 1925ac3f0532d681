"""The colours: two themes of our own beside those of Textual. Nothing is told by colour alone."""

from __future__ import annotations

from textual.theme import Theme

THEMES = (
    Theme(
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
    ),
    Theme(
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
    ),
)
"""The first one is the default."""
