"""The few styles the transcript is drawn in. Meaning never hangs on them alone."""

from __future__ import annotations

from dataclasses import dataclass, fields

from rich.style import Style

# The view's ground and the roles, in terms of the theme.
STYLES = """
TranscriptView {
    overflow-x: hidden;
    overflow-y: scroll;
    scrollbar-size-vertical: 1;
    background: $background;
    scrollbar-background: $background;
    scrollbar-background-hover: $background;
    scrollbar-background-active: $background;
    scrollbar-color: $surface-lighten-2;
}
TranscriptView > .transcript--muted { text-style: dim; }
TranscriptView > .transcript--accent { color: $text-primary; }
TranscriptView > .transcript--ok { color: $text-success; }
TranscriptView > .transcript--warning { color: $text-warning; }
TranscriptView > .transcript--error { color: $text-error; }
TranscriptView > .transcript--added { color: $text-success; background: $success-muted; }
TranscriptView > .transcript--removed { color: $text-error; background: $error-muted; }
TranscriptView > .transcript--prompt { background: $surface; text-style: bold; }
TranscriptView > .transcript--code { background: $surface; }
TranscriptView > .transcript--inline-code { color: $text-accent; }
TranscriptView > .transcript--heading { color: $text-primary; text-style: bold; }
"""


def component_class(role: str) -> str:
    """The name under which the stylesheet knows a role."""
    return f"transcript--{role.replace('_', '-')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """One style for each role; `dark` says whether the ground they are drawn on is."""

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

    @classmethod
    def roles(cls) -> tuple[str, ...]:
        """The names of all styles."""
        return tuple(f.name for f in fields(cls) if f.name != "dark")


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
