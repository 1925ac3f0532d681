"""The lines of a transcript: which entry stands where, and drawings only of what has been in sight.

Heights of entries never seen at the present width are estimates. They are put right on sight, and the place
scrolled to moves along with them, so that what the person reads stays where it is.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from itertools import islice
from typing import assert_never

from rich.cells import cell_len
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from domain.events import Event
from tui.transcript.cards import Drawing
from tui.transcript.drawing import Pen
from tui.transcript.entries import Answer, Batch, Call, Entry, Notice, Prompt
from tui.transcript.heights import Heights
from tui.transcript.model import Transcript
from tui.transcript.palette import Palette

_LINES_KEPT = 20_000
_INDENT = re.compile("^ {1,3}")


@dataclass(slots=True)
class _Drawn:
    version: int
    drawing: Drawing


class Page:
    """Entries laid out one below the other at one width."""

    def __init__(self, transcript: Transcript | None = None) -> None:
        self.transcript = transcript or Transcript()
        self.scroll = 0
        self.drawings = 0
        self._anchor = 0
        self._heights = Heights()
        self._drawn: OrderedDict[int, _Drawn] = OrderedDict()
        self._lines_kept = 0
        self._pen: Pen | None = None
        self._expanded = False

    @property
    def lines(self) -> int:
        """How many lines there are, as far as known."""
        return self._heights.total

    def apply(self, event: Event) -> None:
        """Take an event in; nothing is drawn."""
        self.transcript.apply(event)

    def age(self) -> bool:
        """Have everything drawn anew that changes with time; answers whether there is any such thing."""
        live = self.transcript.live
        for entry in live:
            entry.version += 1
        return bool(live)

    def use(self, width: int, palette: Palette) -> None:
        """Draw at this width and in these styles from now on. The line at the top keeps its entry there."""
        if self._pen is not None and (self._pen.width, self._pen.palette) == (width, palette):
            return
        top = self._heights.at(self.scroll) if self.scroll < self.lines else None
        self._pen = Pen(width, palette)
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
            self._anchor = self._heights.at(self.scroll)[0]

    def strips(self, height: int) -> list[Strip]:
        """The lines in sight after `settle`; fewer than `height` where the transcript is shorter."""
        strips: list[Strip] = []
        if self.scroll >= self.lines:
            return strips
        entry, offset = self._heights.at(self.scroll)
        while entry < len(self._heights) and len(strips) < height:
            strips += self._draw(entry).strips[offset : offset + height - len(strips)]
            entry, offset = entry + 1, 0
        return strips

    def text(self, selection: Selection) -> str:
        """The selected text, without the indentation of the transcript; only its own lines are drawn for it."""
        if not self.lines:
            return ""
        first = min(selection.start.y, self.lines - 1) if selection.start else 0
        last = selection.end.y if selection.end else self.lines - 1
        lines: list[str] = []
        place, offset = self._heights.at(first)
        while place < len(self._heights) and len(lines) < last - first + 1:
            lines += [strip.text.rstrip() for strip in self._draw(place).strips[offset:]]
            place, offset = place + 1, 0
        start = selection.start and Offset(selection.start.x, 0)
        end = selection.end and Offset(selection.end.x, last - first)
        chosen = Selection(start, end).extract("\n".join(lines[: last - first + 1]))
        return "\n".join(_INDENT.sub("", line) for line in chosen.split("\n"))

    def toggle_at(self, line: int) -> bool:
        """Fold or unfold what the line belongs to; answers whether it belongs to anything of the kind."""
        if not 0 <= line < self.lines:
            return False
        place, offset = self._heights.at(line)
        target = self._draw(place).targets[offset]
        entry = self.transcript.entries[place]
        if target is None or not isinstance(entry, Batch | Answer):
            return False
        foldable = entry.calls[target.place] if isinstance(entry, Batch) else entry
        foldable.expanded = not foldable.expanded
        entry.version += 1
        return True

    def output_at(self, line: int) -> Call | None:
        """The call whose whole output a click on this line is meant to open, if it is such a line."""
        if not 0 <= line < self.lines:
            return None
        place, offset = self._heights.at(line)
        target = self._draw(place).targets[offset]
        entry = self.transcript.entries[place]
        return entry.calls[target.place] if isinstance(entry, Batch) and target and target.opens else None

    def stored_output(self, nth: int) -> Call | None:
        """The call with the nth latest stored output (1: the latest), or None where there are fewer."""
        batches = (entry for entry in reversed(self.transcript.entries) if isinstance(entry, Batch))
        stored = (call for batch in batches for call in reversed(batch.calls) if call.stored is not None)
        return next(islice(stored, nth - 1, None), None)

    def toggle_all(self) -> None:
        """Unfold everything, or fold everything where that was done last."""
        self._expanded = not self._expanded
        for entry in self.transcript.entries:
            if isinstance(entry, Answer):
                entry.expanded = self._expanded
            elif isinstance(entry, Batch):
                for call in entry.calls:
                    call.expanded = self._expanded
            entry.version += 1

    def to_start(self) -> None:
        """Go to the first line, giving up the place read so far."""
        self.scroll = self._anchor = 0

    def _admit(self) -> None:
        """Give entries that are new an estimated height."""
        assert self._pen is not None, "a page must be given a width before it is laid out"
        for entry in self.transcript.entries[len(self._heights) :]:
            self._heights.append(_estimated_height(entry, self._pen.width))

    def _settle_from_above(self, height: int) -> None:
        """Entries above the anchor push the place along when their real height is not the estimated one."""
        anchor = self._anchor
        while True:
            self.scroll = max(0, min(self.scroll, self.lines - height))
            if self.scroll >= self.lines:
                return
            moved = False
            entry, offset = self._heights.at(self.scroll)
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


def _estimated_height(entry: Entry, width: int) -> int:
    match entry:
        case Prompt() | Notice():
            text = entry.text
        case Answer():
            text = entry.text
        case Batch():
            return 2 + len(entry.calls)
        case _:
            assert_never(entry)
    return 1 + sum(1 + cell_len(line) // max(width, 1) for line in text[:10_000].split("\n"))
