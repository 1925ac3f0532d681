"""The lines of a transcript: which entry stands where, and drawings only of what has been in sight.

Heights of entries never seen at the present width are estimates. They are put right on sight, and the place
scrolled to moves along with them, so that what the person reads stays where it is.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import assert_never

from msgspec import Struct
from textual.selection import Selection
from textual.strip import Strip

from quorum.application.view.entries import (
    AnswerEntry,
    Batch,
    Entry,
    Notice,
    PanelEntry,
    PromptEntry,
    Restoration,
)
from quorum.application.view.session_view import SessionView
from quorum.domain.events.event import Event
from quorum.tui.transcript.cells.lines import Flow, Heights
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.draw.cards import LOOKS, Drawing, find_folded
from quorum.tui.transcript.draw.entry_renderer import EntryRenderer

_LINES_KEPT = 20_000
_ABOVE = -1


class _Drawn(Struct):
    version: int
    drawing: Drawing


class LinePosition(Struct, frozen=True):
    """A line as the person knows it: its entry, the part of that, the line in it, and its way from the top."""

    entry: int
    part: int | None
    rank: int
    below_top: int


class TranscriptLayout:
    """Entries laid out one below the other at one width."""

    def __init__(self, transcript: SessionView | None = None) -> None:
        self.transcript = transcript or SessionView()
        self.scroll = 0
        self.drawings = 0
        self._anchor = 0
        self._heights = Heights()
        self._drawn: OrderedDict[int, _Drawn] = OrderedDict()
        self._lines_kept = 0
        self._pen: EntryRenderer | None = None
        self.unfolded = False

    @property
    def lines(self) -> int:
        """How many lines there are, as far as known."""
        return self._heights.total

    def apply(self, event: Event, at: float | None = None) -> None:
        """Take an event in; nothing is drawn. `at` is when it happened by the clock, if it is of the past."""
        self.transcript.apply(event, at)

    def create_successor(self) -> TranscriptLayout:
        """An empty page that continues with the same session."""
        return TranscriptLayout(self.transcript.create_successor())

    def age(self) -> bool:
        """Have everything drawn anew that changes with time; answers whether there is any such thing."""
        if self._pen is not None and self._pen.palette.screen_reader:
            return False  # a screen reader would read out each tick
        live = self.transcript.live
        for entry in live:
            entry.version += 1
        return bool(live)

    def use(self, width: int, palette: Palette) -> None:
        """Draw at this width and in these styles from now on. The line at the top keeps its entry there."""
        if self._pen is not None and (self._pen.width, self._pen.palette) == (width, palette):
            return
        top = self._heights.find_entry(self.scroll) if self.scroll < self.lines else None
        self._pen = EntryRenderer(width, palette)
        self._drawn.clear()
        self._lines_kept = 0
        if top is not None:
            entry, offset = top
            before = self._heights[entry]
            self._draw(entry)
            self.scroll = self._heights.before(entry) + offset * self._heights[entry] // before
            self._anchor = entry

    def settle(self, height: int, *, pinned: bool) -> None:
        """Draw what `height` lines from `scroll` on show (the last ones if pinned), and correct the place."""
        self._admit()
        if pinned:
            entry, room = len(self._heights), height
            while entry and room > 0:
                entry -= 1
                self._draw(entry)
                room -= self._heights[entry]
            self.scroll = max(0, self.lines - height)
        else:
            self._settle_from_above(height)
        if self.scroll < self.lines:
            self._anchor = self._heights.find_entry(self.scroll)[0]

    def render_strips(self, height: int) -> list[Strip]:
        """The lines in sight after `settle`; fewer than `height` where the transcript is shorter."""
        return self.render_between(self.scroll, self.scroll + height)

    def select_text(self, selection: Selection) -> str:
        """The selected text, without decoration and as it was before it was broken to fit.

        Only the lines selected are drawn for it.
        """
        first = selection.start.y if selection.start else 0
        last = selection.end.y if selection.end else self.lines - 1
        return Flow(self.render_between(first, last + 1), first, selection.get_span).text

    def render_between(self, first: int, end: int) -> list[Strip]:
        """The lines from `first` up to, not including, `end`, as far as there are such lines."""
        strips: list[Strip] = []
        if not 0 <= first < self.lines:
            return strips
        entry, offset = self._heights.find_entry(first)
        while entry < len(self._heights) and len(strips) < end - first:
            strips += self._draw(entry).strips[offset : offset + end - first - len(strips)]
            entry, offset = entry + 1, 0
        return strips

    def find_entry(self, line: int) -> tuple[int, int]:
        """The entry of a line, and the line's number within that. Raises IndexError beyond the end."""
        return self._heights.find_entry(line)

    def find_line(self, entry: int, offset: int = 0) -> int:
        """The line at which an entry begins, and so many below it, as far as heights are known."""
        return self._heights.before(entry) + offset

    def count_lines_from_answer(self, text: str) -> int | None:
        """How many lines there are from the beginning of the last answer on; None unless it is this text."""
        for place in reversed(range(len(self._heights))):
            if isinstance(entry := self.transcript.entries[place], AnswerEntry):
                return self.lines - self.find_line(place) if entry.text.strip() == text.strip() else None
        return None

    def get_drawing(self, entry: int) -> Drawing:
        return self._draw(entry)

    def find_line_position(self, line: int) -> LinePosition:
        """What stands at a line. Raises IndexError beyond the end."""
        return self.find_position(*self._heights.find_entry(line), line - self.scroll)

    def find_position(self, entry: int, offset: int, below_top: int) -> LinePosition:
        """A line of an entry, wanted so far below the top."""
        parts = self._find_parts(entry)
        offset = min(offset, len(parts) - 1)
        return LinePosition(entry, parts[offset], offset - parts.index(parts[offset]), below_top)

    def hold(self, spot: LinePosition) -> None:
        """Go to where this spot stands as far below the top as it did, whatever was folded since."""
        self._admit()
        entry = self.find_drawn(spot.entry)
        parts, first = self._find_parts(entry), self.find_first_line(entry, spot.part)
        offset = first + min(spot.rank, max(parts.count(spot.part) - 1, 0))
        self.scroll = max(0, self.find_line(entry, offset) - max(spot.below_top, 0))
        self._anchor = entry

    def find_drawn(self, entry: int) -> int:
        """The entry that a row for this one is drawn with: itself, or the one that begins its run."""
        segment = find_folded(self.transcript.entries[entry])
        if not segment or self._draw(entry).strips:
            return entry
        return next(place for place in range(entry, -1, -1) if self.transcript.entries[place] is segment[0])

    @property
    def has_width(self) -> bool:
        """Whether entries can be drawn: a page gets its width with the first frame."""
        return self._pen is not None

    def find_first_line(self, entry: int, part: int | None) -> int:
        """The first line of a part of an entry, counted from the entry's; 0 where there is no such part.

        A call that a row stands for together with others has its line there.
        """
        parts = self._find_parts(entry)
        if part not in parts and LOOKS in parts:
            part = LOOKS
        return parts.index(part) if part in parts else 0

    def _find_parts(self, entry: int) -> list[int | None]:
        """For each line of an entry, the part of it that the line belongs to; the first is the one above it."""
        targets = self._draw(entry).targets
        return [_ABOVE, *(target.place if target is not None else None for target in targets[1:])]

    def scroll_to_start(self) -> None:
        """Go to the first line, giving up the place read so far."""
        self.scroll = self._anchor = 0

    def _admit(self) -> None:
        """Give entries that are new an estimated height."""
        assert self._pen is not None, "a page must be given a width before it is laid out"
        for entry in self.transcript.entries[len(self._heights) :]:
            self._heights.append(_estimate_height(entry, self._pen.width))

    def _settle_from_above(self, height: int) -> None:
        """Entries above the anchor push the place along when their real height is not the estimated one."""
        anchor = self._anchor
        while True:
            self.scroll = max(0, min(self.scroll, self.lines - height))
            if self.scroll >= self.lines:
                return
            moved = False
            entry, offset = self._heights.find_entry(self.scroll)
            filled = -offset
            while entry < len(self._heights) and filled < height:
                before = self._heights[entry]
                self._draw(entry)
                delta = self._heights[entry] - before
                if delta and entry < anchor:
                    self.scroll += delta
                moved = moved or bool(delta)
                filled += self._heights[entry]
                entry += 1
            if not moved:
                return

    def _draw(self, place: int) -> Drawing:
        """The drawing of an entry, made only if there is none of its present version."""
        entry = self.transcript.entries[place]
        drawn = self._drawn.get(place)
        if drawn is not None and drawn.version == entry.version:
            self._drawn.move_to_end(place)
            return drawn.drawing
        assert self._pen is not None, "a page must be given a width before it is drawn"
        drawing = self._pen.draw(entry, self.transcript.clock())
        self.drawings += 1
        self._lines_kept += len(drawing.strips) - (len(drawn.drawing.strips) if drawn else 0)
        self._drawn[place] = _Drawn(entry.version, drawing)
        self._drawn.move_to_end(place)
        self._heights.set(place, len(drawing.strips))
        while self._lines_kept > _LINES_KEPT and len(self._drawn) > 1:
            _, oldest = self._drawn.popitem(last=False)
            self._lines_kept -= len(oldest.drawing.strips)
        return drawing


def _estimate_height(entry: Entry, width: int) -> int:
    match entry:
        case PromptEntry() | Notice():
            text = entry.text
        case AnswerEntry():
            text = entry.text
        case Batch():
            return 2 + len(entry.calls)
        case Restoration():
            return 2
        case PanelEntry():
            return 2 + len(entry.members)
        case _:
            assert_never(entry)
    # Cells are not counted: a long record is applied all at once, and what is seen is measured anyway.
    return 2 + text.count("\n", 0, 10_000) + min(len(text), 10_000) // max(width, 1)
