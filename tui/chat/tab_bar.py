"""The line that names the tabs. It is there as soon as there are two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from quorum.domain.text.printable import make_printable

_LONGEST_TITLE = 24
_SHORTEST_TITLE = 4
_EDGE_CELLS = 2
_MARKS = {"!": "bold $text-warning", "●": "$text-accent"}


class Label(NamedTuple):
    """What a tab is called in the line, with the mark that says what is the matter with it."""

    title: str
    mark: str


class TabBar(Widget):
    """All tabs in one line; a click goes to one. Titles become shorter where there is too little room."""

    DEFAULT_CSS = """
    TabBar { height: 1; display: none; background: $panel; color: $text-muted; }
    """

    class TabClicked(Message):
        """The tab at a place, counted from 0, was clicked on."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._labels: tuple[Label, ...] = ()
        self._front = 0
        self._ends: list[int] = []

    def show(self, labels: Sequence[Label], front: int) -> None:
        """Show these tabs, of which one is in front."""
        if (tuple(labels), front) == (self._labels, self._front):
            return
        self._labels, self._front = tuple(labels), front
        self.display = len(labels) > 1
        self.refresh()

    def render(self) -> Content:
        """The line; the tab in front is in sight, and arrows stand for those that find no room."""
        pieces, width = self._render_tabs(), self.size.width
        cells = [piece.cell_length for piece in pieces]
        first, last = 0, len(pieces)
        if sum(cells) > width:
            width -= 2 * _EDGE_CELLS
            while first < self._front and sum(cells[first : self._front + 1]) > width:
                first += 1
            while last > self._front + 1 and sum(cells[first:last]) > width:
                last -= 1
        line = self._render_edge("‹", self._labels[:first])
        self._ends = [0] * (first - 1) + [line.cell_length] * bool(first)  # an arrow leads to the next one
        for piece in pieces[first:last]:
            line += piece
            self._ends.append(line.cell_length)
        line += self._render_edge("›", self._labels[last:])
        self._ends.append(line.cell_length)
        return line.truncate(self.size.width, ellipsis=True)

    @staticmethod
    def _render_edge(arrow: str, hidden: Sequence[Label]) -> Content:
        """An arrow to the tabs out of sight, with the most pressing of their marks."""
        if not hidden:
            return Content("")
        mark = next((mark for mark in _MARKS if any(label.mark == mark for label in hidden)), " ")
        return Content(arrow) + Content(mark).stylize(_MARKS.get(mark, ""))

    def _render_tabs(self) -> list[Content]:
        for longest in range(_LONGEST_TITLE, _SHORTEST_TITLE - 1, -4):
            pieces = [self._render_tab(place, label, longest) for place, label in enumerate(self._labels)]
            if sum(piece.cell_length for piece in pieces) <= self.size.width:
                break
        return pieces

    def _render_tab(self, place: int, label: Label, longest: int) -> Content:
        title = Content(make_printable(label.title, newlines=False)).truncate(longest, ellipsis=True)
        mark = Content(f" {label.mark}" if label.mark else "").stylize(_MARKS.get(label.mark, ""))
        piece = Content(f" {place + 1} ") + title + mark + Content(" ")
        return piece.stylize("bold reverse") if place == self._front else piece

    def on_click(self, event: events.Click) -> None:
        place = next((place for place, end in enumerate(self._ends) if event.x < end), None)
        if place is not None:
            self.post_message(self.TabClicked(place))
