"""A list of single lines, one of them marked, that draws those in sight and no more, however many there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from textual import events
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.widget import Widget

from quorum.tui.keys.keyed_app import choose_sign
from quorum.tui.widgets.colours import MARKED

Move: TypeAlias = Literal["up", "down", "page_up", "page_down", "first", "last"]

_WHEEL_LINES = 3


class LineList(Widget, can_focus=False):
    """Shows `count` lines that `draw` makes of their places, each at a width in cells. Posts `Marked`."""

    DEFAULT_CSS = """
    LineList {
        height: 1fr;
        background: $surface;
    }
    """

    class Marked(Message):
        """Another line is marked, or other lines are shown."""

    class LineClicked(Message):
        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._count = 0
        self._top = 0
        self._marked = 0
        self._draw: Callable[[int, int], Content] = lambda _place, _width: Content("")

    @property
    def marked(self) -> int | None:
        """The place of the marked line; None where there are none."""
        return self._marked if self._count else None

    def show(self, count: int, draw: Callable[[int, int], Content], *, marked: int = 0) -> None:
        """Show other lines, one of them marked."""
        is_first = not self._count
        self._count, self._draw = count, draw
        self._mark(marked)
        if is_first and count and self.screen.focused is None:
            self._lead_cursor()

    def move(self, how: Move) -> None:
        page = max(1, self.size.height - 1)
        match how:
            case "up":
                self._mark(self._marked - 1)
            case "down":
                self._mark(self._marked + 1)
            case "page_up":
                self._mark(self._marked - page)
            case "page_down":
                self._mark(self._marked + page)
            case "first":
                self._mark(0)
            case "last":
                self._mark(self._count - 1)
        self._lead_cursor()

    @property
    def marked_offset(self) -> Offset:
        """Where the marked line begins."""
        return Offset(0, self._marked - self._top)

    def _lead_cursor(self) -> None:
        """Have the cursor of a screen reader go to the marked line, as if that had the focus."""
        self.app.post_message(events.DescendantFocus(self))

    def _mark(self, place: int) -> None:
        self._marked = max(0, min(place, self._count - 1))
        self._bring_in_sight()
        self.refresh()
        self.post_message(self.Marked())

    def _bring_in_sight(self) -> None:
        height = max(1, self.size.height)
        top = max(self._marked - height + 1, min(self._top, self._marked))
        self._top = max(0, min(top, self._count - height))

    def on_resize(self) -> None:
        """The marked line stays in sight."""
        self._bring_in_sight()
        self.refresh()  # it may be drawn in the new size by now

    def render(self) -> Content:
        """The lines in sight; the marked one has a sign as well as a colour."""
        last = min(self._top + self.size.height, self._count)
        return Content("\n").join([self._render_line(place) for place in range(self._top, last)])

    def _render_line(self, place: int) -> Content:
        is_marked = place == self._marked
        width = self.size.width
        sign = choose_sign(self.app, "› ", "  ") if is_marked else "  "
        line = Content(sign) + self._draw(place, max(0, width - 2))
        line = line.truncate(width, ellipsis=True)
        line += " " * (width - line.cell_length)
        return line.stylize(f"bold on {MARKED}") if is_marked else line

    def on_click(self, event: events.Click) -> None:
        """A click marks a line and chooses it."""
        place = self._top + event.y
        if event.y >= 0 and place < self._count:
            self._mark(place)
            self.post_message(self.LineClicked(place))

    def on_mouse_scroll_down(self) -> None:
        """The wheel moves the mark."""
        self._mark(self._marked + _WHEEL_LINES)

    def on_mouse_scroll_up(self) -> None:
        """The wheel moves the mark."""
        self._mark(self._marked - _WHEEL_LINES)
