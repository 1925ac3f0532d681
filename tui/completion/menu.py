"""The menu above the prompt, a few rows high."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.geometry import Offset
from textual.widget import Widget

from quorum.tui.keys.keyed_app import choose_sign

if TYPE_CHECKING:
    from quorum.tui.completion.offers import Offer

MOST_ROWS = 8
_SHARE_OF_SCREEN = 3
_WIDEST_LABEL = 60


class CompletionMenu(Widget):
    """Rows to choose from, or a line to read. It is there only while it has something to show.

    `on_pick` is called with the place of a row that was clicked on.
    """

    DEFAULT_CSS = """
    CompletionMenu { height: auto; display: none; padding: 0 1; background: $surface; color: $text-muted; }
    """

    def __init__(self, on_pick: Callable[[int], object]) -> None:
        super().__init__(id="completion")
        self._on_pick = on_pick
        self._rows: tuple[Offer, ...] = ()
        self._chosen = self._first = 0
        self._line = Content("")

    def offer(self, rows: tuple[Offer, ...], chosen: int) -> None:
        """Show rows, of which one is chosen."""
        self._rows, self._chosen = rows, chosen
        self._show(min(len(rows), self._room))

    def tell(self, line: Content) -> None:
        """Show a line instead of rows."""
        self._rows, self._line = (), line
        self._show(1)

    def close(self) -> None:
        self._rows, self._line, self._first = (), Content(""), 0
        self.display = False

    def _show(self, height: int) -> None:
        self._first = min(max(self._first, self._chosen - height + 1, 0), self._chosen)
        self.styles.height = height
        self.display = True
        self.refresh()

    @property
    def _room(self) -> int:
        return max(1, min(MOST_ROWS, self.screen.size.height // _SHARE_OF_SCREEN))

    def render(self) -> Content:
        """The rows in sight; the chosen one has a sign before it, so that no colour is needed to see it."""
        width = self.content_size.width
        if not self._rows:
            return self._line.truncate(width, ellipsis=True)
        shown = self._rows[self._first : self._first + self._room]
        groups = _render_groups(shown)
        width -= groups[0].cell_length
        column = min(max(Content(row.label).cell_length for row in shown), _WIDEST_LABEL, max(8, width - 4))
        lines = []
        for place, row in enumerate(shown, self._first):
            more = ""
            if len(self._rows) > len(shown) and place == self._first + len(shown) - 1:
                more = f"{self._chosen + 1}/{len(self._rows)}"
            line = self._render_row(row, column, width, is_chosen=place == self._chosen, more=more)
            lines.append(groups[place - self._first] + line)
        return Content("\n").join(lines)

    @property
    def marked_offset(self) -> Offset:
        """Where the chosen row begins."""
        return Offset(0, self._chosen - self._first)

    def _render_row(self, row: Offer, column: int, width: int, *, is_chosen: bool, more: str) -> Content:
        label = Content(row.label).stylize("bold" if is_chosen else "$text")
        for hit in row.hits:
            label = label.stylize("bold $text-accent underline", hit, hit + 1)
        if label.cell_length > column:  # of a long path the end says most
            label = Content("…") + label[len(label) - _count_fitting(label, column - 1) :]
        blanks = column - label.cell_length
        sign = Content(choose_sign(self.app, "› ", "  ") if is_chosen else "  ").stylize("bold $text-accent")
        line = sign + label + " " * blanks
        room = width - line.cell_length - (len(more) + 2 if more else 0)
        if row.does and room > 6:
            line += Content("  ") + Content(row.does).truncate(room - 2, ellipsis=True)
        if more and width - line.cell_length > len(more):
            line += " " * (width - line.cell_length - len(more)) + more
        return line

    def on_click(self, event: events.Click) -> None:
        place = self._first + event.y
        if place < len(self._rows):
            self._on_pick(place)


def _render_groups(rows: Sequence[Offer]) -> list[Content]:
    """The column before rows that are in groups: the title of each in its first row in sight; else empty."""
    widest = max(len(row.group) for row in rows)
    titles = [
        "" if place and row.group == rows[place - 1].group else row.group for place, row in enumerate(rows)
    ]
    return [Content(f"{title:<{widest + 2}}" if widest else "").stylize("$text-accent") for title in titles]


def _count_fitting(label: Content, cells: int) -> int:
    """How many characters of the label's end fit into so many cells."""
    count = min(len(label), cells)
    while count and label[len(label) - count :].cell_length > cells:
        count -= 1
    return count
