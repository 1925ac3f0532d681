"""The few styles the transcript is drawn in. Meaning never hangs on them alone."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from rich.style import Style

from quorum.tui.keys.keyed_app import READER, fill_in_keys

if TYPE_CHECKING:
    from textual.widget import Widget

EMPHASIS = Style(bold=True, underline=True)
"""What differs within a changed line."""

# What a transcript is drawn on.
GROUND = """
TranscriptView {
    overflow-x: hidden;
    overflow-y: scroll;
    scrollbar-size-vertical: 1;
    background: $background;
    scrollbar-background: $background;
    scrollbar-background-hover: $background;
    scrollbar-background-active: $background;
    scrollbar-color: $scrollbar;
}
"""
# What each role looks like, in terms of the theme.
_LOOKS = {
    "muted": "text-style: dim;",
    "accent": "color: $text-primary;",
    "ok": "color: $text-success;",
    "warning": "color: $text-warning;",
    "error": "color: $text-error;",
    "added": "color: $text-success; background: $success-muted;",
    "removed": "color: $text-error; background: $error-muted;",
    "prompt": "background: $surface; text-style: bold;",
    "code": "background: $surface;",
    "inline_code": "color: $text-accent;",
    "heading": "color: $text-primary; text-style: bold;",
}


def name_component_class(role: str) -> str:
    """The name under which the stylesheet knows a role."""
    return f"transcript--{role.replace('_', '-')}"


def render_role_styles(widget: str) -> str:
    """The stylesheet of all roles for the widget class of that name, which has them as component classes."""
    return "".join(f"{widget} > .{name_component_class(role)} {{ {look} }}\n" for role, look in _LOOKS.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """One style for each role; `dark` says whether the ground they are drawn on is.

    `screen_reader`: words are wanted in the place of signs, lanes and colours. `fold_key` opens what is folded,
    `whole_keys` what is too long to be drawn unfolded, the keys as they are shown.
    """

    muted: Style
    accent: Style
    ok: Style
    warning: Style
    error: Style
    added: Style
    removed: Style
    prompt: Style
    code: Style
    inline_code: Style
    heading: Style
    dark: bool = True
    screen_reader: bool = False
    fold_key: str = "ctrl+o"
    whole_keys: str = "alt+up and o"

    @classmethod
    def list_roles(cls) -> tuple[str, ...]:
        """The names of all styles."""
        return tuple(f.name for f in fields(cls) if f.type == "Style")


def read_palette(widget: Widget) -> Palette:
    """The palette as the stylesheet and the theme give it to a widget."""
    styles = {
        role: widget.get_component_rich_style(name_component_class(role), partial=True)
        for role in Palette.list_roles()
    }
    return Palette(
        **styles,
        dark=widget.app.current_theme.dark,
        screen_reader=widget.app.has_class(READER),
        fold_key=fill_in_keys("{toggle_fold=ctrl+o}", widget.app),
        whole_keys=fill_in_keys("{mark_up=alt+up} and {marked_open=o}", widget.app),
    )


TERMINAL = Palette(
    muted=Style(dim=True),
    accent=Style(color="cyan"),
    ok=Style(color="green"),
    warning=Style(color="yellow"),
    error=Style(color="red"),
    added=Style(color="green"),
    removed=Style(color="red"),
    prompt=Style(bold=True),
    code=Style(),
    inline_code=Style(color="cyan"),
    heading=Style(bold=True),
)
