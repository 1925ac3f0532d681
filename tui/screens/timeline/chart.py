"""The rows of a timeline that are in sight, one of them marked."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from textual.strip import Strip

from quorum.application.view.entries import Batch, Call
from quorum.application.view.turn_timings import RequestTiming, TurnTimings
from quorum.tui.screens.timeline.axis import Axis
from quorum.tui.screens.timeline.drawing import Columns, draw_row
from quorum.tui.screens.timeline.rows import TimelineRow, list_rows
from quorum.tui.transcript.cells.palette import Palette, name_component_class, read_palette, render_role_styles
from quorum.tui.widgets.line_list import LineList


class Chart(LineList):
    """Draws the timings of turns; what is out of sight costs nothing but its place."""

    DEFAULT_CSS = """
    Chart {
        height: 1fr;
        background: $background;
        & > .chart--marked { background: $primary-muted; text-style: bold; }
    }
    """ + render_role_styles("Chart")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "chart--marked",
        *(name_component_class(role) for role in Palette.list_roles()),
    }

    def __init__(self, timings: TurnTimings, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._timings, self._clock = timings, clock
        self._rows: list[TimelineRow] = []
        self._version = -1
        self._palette: Palette | None = None
        self.axis = Axis()

    # -- what it shows ------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Show the rows there are, the beginning of the last turn marked."""
        self._take_in()
        self._mark(len(self._rows) - 1)  # so that as much of it as there is room for is in sight
        self._mark(max((n for n, row in enumerate(self._rows) if row.event is None), default=0))

    def follow(self) -> None:
        """Time went by, or something happened: the mark stays where it is."""
        marked = self.row
        if self._version != self._timings.version:
            self._take_in()
            if marked is not None and not (self.row is not None and self.row.is_same(marked)):
                self._mark(next((n for n, row in enumerate(self._rows) if row.is_same(marked)), self._marked))
        self.refresh()

    def _take_in(self) -> None:
        self._version = self._timings.version
        self._rows = list_rows(self._timings)
        self._count = len(self._rows)

    @property
    def row(self) -> TimelineRow | None:
        """The marked row; None where there are none."""
        return self._rows[self._marked] if self._marked < len(self._rows) else None

    @property
    def palette(self) -> Palette:
        """The styles everything on the timeline is drawn in."""
        if self._palette is None:
            self._palette = read_palette(self)
        return self._palette

    # -- moving -------------------------------------------------------------------------------------------

    def mark_turn(self, by: int) -> None:
        """Mark the next turn (1) or the one before (-1)."""
        places = range(self._marked + 1, len(self._rows)) if by > 0 else range(self._marked - 1, -1, -1)
        if (place := next((n for n in places if self._rows[n].event is None), None)) is not None:
            self._mark(place)

    def zoom(self, by: int) -> None:
        """Further in (1) or out (-1), around where the marked row begins; 0: all of each turn."""
        cells = self._columns.lane
        self.axis = self.axis.zoom_by(by, cells, self._find_middle()) if by else Axis()
        self.refresh()
        self.post_message(self.Marked())

    def shift(self, by: int) -> None:
        """Move along the axis by so many eighths of the lane."""
        self.axis = self.axis.move_by(by * max(self._columns.lane // 8, 1), self._columns.lane)
        self.refresh()

    def _find_middle(self) -> float:
        """Where on its axis the marked row begins; for a turn, what is in the middle now."""
        row, cells = self.row, self._columns.lane
        match row:
            case TimelineRow(event=RequestTiming(begin=moment)):
                pass
            case TimelineRow(call=Call(since=[(moment, _), *_])):
                pass
            case TimelineRow(event=Batch(calls=[Call(since=[(moment, _), *_]), *_])):
                pass
            case _:
                return (self.axis.left + cells / 2) / (cells * self.axis.zoom)
        return self.axis.share(moment, row.turn.compute_span(self._clock()))

    # -- drawing ------------------------------------------------------------------------------------------

    @property
    def _columns(self) -> Columns:
        return Columns.of(self.size.width)

    def render_line(self, y: int) -> Strip:
        """The row that is so far from the top; the marked one has a sign as well as a colour."""
        place = self._top + y
        if place >= len(self._rows):
            return Strip.blank(self.size.width, self.rich_style)
        strip = draw_row(self._rows[place], self._columns, self.axis, self.palette, self._clock())
        is_marked = place == self._marked
        line = Strip([Segment("› " if is_marked else "  "), *strip])
        line = line.adjust_cell_length(self.size.width)
        if is_marked:
            line = line.apply_style(self.get_component_rich_style("chart--marked", partial=True))
        return line.apply_style(self.rich_style)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._palette = None
