"""The parts of the review dialog: text that scrolls, and the choices below it."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from tui.review.text import Kind, Row


class Rows(ScrollView, can_focus=False):
    """Rows of text, of which it draws those in sight."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"rows--{kind.value}" for kind in Kind}
    DEFAULT_CSS = """
    Rows {
        height: auto;
        scrollbar-size-vertical: 1;
        scrollbar-background: $surface;
        & > .rows--strong { text-style: bold; }
        & > .rows--quiet { color: $text-muted; }
        & > .rows--added { color: $text-success; background: $success 15%; }
        & > .rows--removed { color: $text-error; background: $error 15%; }
        & > .rows--hunk { color: $text-accent; }
        & > .rows--warning { color: $text-warning; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: list[Row] = []

    def show(self, rows: list[Row], *, height: int) -> None:
        """Show these rows in that many lines of the screen."""
        self._rows = rows
        self.styles.height = height
        self.display = bool(rows)
        self.virtual_size = Size(0, len(rows))
        self.refresh()

    @property
    def above(self) -> int:
        """How many rows are out of sight above."""
        return min(self.scroll_offset.y, len(self._rows))

    @property
    def below(self) -> int:
        """How many rows are out of sight below."""
        height = self.styles.height.value if self.styles.height else 0
        return max(0, len(self._rows) - self.above - int(height))

    def render_line(self, y: int) -> Strip:
        """One line of the screen; the tint of a changed line reaches to the right edge."""
        place = y + self.scroll_offset.y
        if place >= len(self._rows):
            return Strip.blank(self.size.width, self.rich_style)
        row = self._rows[place]
        styles = {kind: self.get_component_rich_style(f"rows--{kind.value}") for _, kind in row}
        strip = Strip([Segment(text, styles[kind]) for text, kind in row])
        last = row[-1][1] if row else Kind.PLAIN
        tinted = styles[last] if last in (Kind.ADDED, Kind.REMOVED) else self.rich_style
        return strip.extend_cell_length(self.size.width, tinted).crop(0, self.size.width)


class Choice(Widget, can_focus=True):
    """One answer: its key, what it does, and the dialog's action behind it. The focused one is in brackets."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", "Take the marked choice", show=False)]
    DEFAULT_CSS = """
    Choice {
        width: auto;
        height: 1;
        &:focus { text-style: bold; background: $primary-muted; color: $text-primary; }
    }
    """

    class Chosen(Message):
        """The choice was taken, by Enter or by the mouse."""

        def __init__(self, action: str, time: float | None) -> None:
            super().__init__()
            self.action = action
            self.clicked_at = time

    def __init__(self, key: str, label: str, action: str) -> None:
        super().__init__()
        self._key, self._label, self._action = key, label, action

    def render(self) -> Content:
        """`[n reject]` where the focus is, the same without brackets elsewhere."""
        opening, closing = "[]" if self.has_focus else "  "
        return Content.assemble(opening, (self._key, "bold $text-accent"), f" {self._label}", closing)

    def action_choose(self) -> None:
        """Take this choice."""
        self.post_message(self.Chosen(self._action, None))

    async def _on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Chosen(self._action, event.time))
