"""Goes through the hits of a search in a transcript and shows them there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.style import Style
from textual.strip import Strip

from quorum.tui.finding.search import Hit, Needle, Search, list_passages
from quorum.tui.transcript.cells.flow import Flow, TextSpan, is_continued
from quorum.tui.transcript.draw.cards import Drawing
from quorum.tui.transcript.layout.folds import set_open
from quorum.tui.transcript.layout.surface import Patch
from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout
from quorum.tui.transcript.layout.view import TranscriptView

_PIECE_SECS = 0.008
_FURTHEST = 50
"""So many lines out of sight are looked at for the beginning of a hit that reaches into sight."""


class _Seen(NamedTuple):
    """Where a hit is drawn, in lines of its entry, and the drawing that holds for."""

    hit: Hit
    drawing: Drawing
    spans: list[TextSpan]


class Finder:
    """Finds in one transcript, from what is in sight on. `hit_style` and `present_style` are how hits look."""

    def __init__(self, view: TranscriptView, hit_style: Style, present_style: Style) -> None:
        self._view = view
        self._hit_style, self._present_style = hit_style, present_style
        page = view.page
        self._start = page.find_entry(page.scroll)[0] if page is not None and page.scroll < page.lines else 0
        self.needle = Needle("")
        self._search: Search | None = None
        self._page: TranscriptLayout | None = None
        self._complete = True
        self._seen: _Seen | None = None
        self._opened: tuple[int, int | None] | None = None

    # -- looking ------------------------------------------------------------------------------------------

    def look_for(self, text: str) -> None:
        """Look for something else, from the same place on."""
        self.needle = Needle(text)
        self._begin()

    def _begin(self) -> None:
        self._page, self._seen = self._view.page, None
        self._search = Search(self._view.entries, self.needle, self._start) if self.needle else None
        self._complete = self._search is None
        self._view.show_patched(self._list_patches if self._search is not None else None)

    def search_further(self) -> bool:
        """Look further for a moment, and take in what is new; whether all has been looked at.

        The first hit that turns up is gone to.
        """
        if self._page is not self._view.page:  # the screen was cleared, or is another session's
            self._start, self._opened = 0, None
            self._begin()
        if self._search is None:
            return True
        before = self._search.total
        self._complete = self._search.search_further(_PIECE_SECS)
        if self._seen is None and (hit := self._search.find_nearest()) is not None:
            if self._page is None or not self._page.has_width:
                self._complete = False  # nothing can be drawn before the first frame: a later look goes there
                return False
            self._go_to(hit)
        elif before != self._search.total:
            self._view.show_patched(self._list_patches)
        return self._complete

    @property
    def status(self) -> str:
        """What has been found, in words."""
        if self._search is None:
            return ""
        total = f"{self._search.total:,}"
        if not self._complete:
            return f"{total} so far…"
        if self._seen is None:
            return "nothing found"
        return f"{self._search.get_ordinal(self._seen.hit):,} of {total}"

    # -- going --------------------------------------------------------------------------------------------

    def find_next(self, *, backwards: bool) -> None:
        """To the next hit, or the one before; at the end it goes round."""
        if self._search is None or self._seen is None:
            return
        hit = self._seen.hit
        following = self._search.before(hit) if backwards else self._search.after(hit)
        if following is not None:
            self._go_to(following)

    def _go_to(self, hit: Hit) -> None:
        """Show a hit, unfolding what hides it, and folding again what was unfolded for the one before."""
        page, search = self._page, self._search
        if page is None or search is None:
            return
        part = list_passages(page.transcript.entries[hit.entry])[hit.passage].part
        if self._opened is not None and self._opened != (hit.entry, part):
            set_open(page.transcript.entries[self._opened[0]], self._opened[1], False)
            self._opened = None
        wanted = search.count(hit)
        places = self._find_places(page, hit.entry, part)
        if len(places) < wanted and set_open(page.transcript.entries[hit.entry], part, True):
            self._opened = (hit.entry, part)
            places = self._find_places(page, hit.entry, part)
        is_last = hit.nth == wanted - 1
        search.correct(hit, max(len(places), 1))
        nth = search.count(hit) - 1 if is_last else min(hit.nth, search.count(hit) - 1)
        spans = places[nth] if places else self._mark_first_line(page, hit.entry, part)
        self._seen = _Seen(hit._replace(nth=nth), page.get_drawing(hit.entry), spans)
        self._view.go_to(hit.entry, spans[0].line if spans else 0)

    def close(self) -> None:
        """Show nothing any more. What was unfolded for the present hit stays so."""
        self._view.show_patched(None)

    # -- where hits are drawn -----------------------------------------------------------------------------

    def _find_places(self, page: TranscriptLayout, entry: int, part: int | None) -> list[list[TextSpan]]:
        """Where the needle is seen in a part of an entry, in lines of the entry."""
        drawing = page.get_drawing(entry)
        targets = enumerate(target and target.place for target in drawing.targets)
        places: list[list[TextSpan]] = []
        for of_part, lines in groupby(targets, key=lambda each: each[1]):
            if of_part == part:
                numbers = [number for number, _ in lines]
                flow = Flow(drawing.strips[numbers[0] : numbers[-1] + 1], numbers[0])
                places += [flow.find_spans(*match.span()) for match in self.needle.shown.finditer(flow.text)]
        return [spans for spans in places if spans]

    def _mark_first_line(self, page: TranscriptLayout, entry: int, part: int | None) -> list[TextSpan]:
        """All of a part's first line, for a hit that is not drawn: in markup, or in what is left out."""
        drawing = page.get_drawing(entry)
        first = max(page.find_first_line(entry, part), 1)  # above the first there is nothing but an empty line
        flow = Flow(drawing.strips[first : first + 1], first)
        return flow.find_spans(0, len(flow.text))

    def _list_patches(self, page: TranscriptLayout, height: int) -> Iterator[tuple[int, Patch]]:
        """How the hits in sight look, the present one last."""
        search = self._search
        if search is None or page is not self._page:
            return
        line, end = page.scroll, min(page.scroll + height, page.lines)
        while line < end:
            entry, offset = page.find_entry(line)
            first = page.find_line(entry)
            strips = page.get_drawing(entry).strips
            last = min(len(strips), offset + end - line)
            if search.has_hits(entry):
                for span in self._find_spans(strips, offset, last):
                    yield first + span.line, Patch(span.start, span.end, self._hit_style)
            line = first + max(len(strips), offset + 1)
        if self._seen is not None and self._is_in_sight(page, self._seen.hit.entry, height):
            first = page.find_line(self._seen.hit.entry)
            for span in self._present_spans(page, self._seen):
                yield first + span.line, Patch(span.start, span.end, self._present_style)

    def _is_in_sight(self, page: TranscriptLayout, entry: int, height: int) -> bool:
        return page.find_line(entry) < page.scroll + height and page.find_line(entry + 1) > page.scroll

    def _find_spans(self, strips: Sequence[Strip], first: int, end: int) -> list[TextSpan]:
        """The hits in some lines of an entry; those that run over lines are seen whole."""
        begin = first
        while begin > 0 and first - begin < _FURTHEST and is_continued(strips[begin]):
            begin -= 1
        flow = Flow(strips[begin:end], begin)
        return [
            span for match in self.needle.shown.finditer(flow.text) for span in flow.find_spans(*match.span())
        ]

    def _present_spans(self, page: TranscriptLayout, seen: _Seen) -> list[TextSpan]:
        """Where the present hit is drawn now."""
        drawing = page.get_drawing(seen.hit.entry)
        if drawing is not seen.drawing:
            spans = seen.spans
            if not _are_unchanged(spans, seen.drawing, drawing):
                part = list_passages(page.transcript.entries[seen.hit.entry])[seen.hit.passage].part
                places = self._find_places(page, seen.hit.entry, part)
                spans = places[min(seen.hit.nth, len(places) - 1)] if places else []
            self._seen = seen = _Seen(seen.hit, drawing, spans)
        return seen.spans


def _are_unchanged(spans: list[TextSpan], before: Drawing, after: Drawing) -> bool:
    """Whether the lines of some spans are still the same."""
    return all(
        span.line < len(after.strips)
        and span.line < len(before.strips)
        and before.strips[span.line].text == after.strips[span.line].text
        for span in spans
    )
