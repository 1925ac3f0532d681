"""Finding in the transcript: the line below it to type in, and the way from hit to hit."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import ClassVar, NamedTuple, assert_never

from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import HorizontalGroup
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import Input, Static

from quorum.application.view.entries import (
    AnswerEntry,
    Batch,
    Call,
    Entry,
    Notice,
    PanelEntry,
    PromptEntry,
    Restoration,
)
from quorum.domain.calls.server_tools import format_tool_name
from quorum.tui.transcript.cells.lines import Flow, TextSpan, clean_program_text, is_continued
from quorum.tui.transcript.draw.cards import Drawing
from quorum.tui.transcript.draw.panels import render_panel
from quorum.tui.transcript.layout.folds import set_open
from quorum.tui.transcript.layout.pane import Patch
from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout
from quorum.tui.transcript.layout.view import TranscriptView
from quorum.tui.widgets.dialog_parts import LineInput

_GAP = r"[^\S\n]+"
_GAP_IN_MARKDOWN = r"(?:[^\S\n]+\n?[^\S\n]*|\n[^\S\n]*)"
_MARKUP = "*_`~\\"
_MAYBE_MARKUP = r"[*_`~\\]*"

_AT_ONCE = 100_000
_LONGEST_HIT = 2_000
_NOT_YET = -1


class Needle:
    """Text to look for, literally. Capitals count only where there are some in it; a space is any blank.

    `shown` finds it in what is drawn or was drawn as it is, `written` in Markdown: there emphasis may stand
    within it, and a line may end where a space is.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        flags = re.NOFLAG if any(map(str.isupper, text)) else re.IGNORECASE
        words = re.split(r"\s+", text)
        self.shown = re.compile(_GAP.join(map(re.escape, words)), flags)
        # Optional markup between its own characters would be matched in endless ways.
        between = "" if set(text) & set(_MARKUP) else _MAYBE_MARKUP
        loose = [between.join(map(re.escape, word)) for word in words]
        self.written = re.compile(f"{between}{_GAP_IN_MARKDOWN}{between}".join(loose), flags)

    def __bool__(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self.text)


class Hit(NamedTuple):
    """The how manieth time the needle is in the how manieth passage of which entry, each from 0 on."""

    entry: int
    passage: int
    nth: int


class Search:
    """Counts of a needle in entries, which may grow and change meanwhile: `work` takes that in.

    It begins with the entry `start` and goes to the last one, then from there back to the first.
    """

    def __init__(self, entries: Sequence[Entry], needle: Needle, start: int) -> None:
        self._entries = entries
        self._needle = needle
        self._start = start
        self._counts: list[list[int]] = []
        self._sums: list[int] = []
        self._versions: list[int] = []
        self._drawn: dict[tuple[int, int], tuple[int, int]] = {}
        self._way = self._walk()
        self.total = 0

    def search_further(self, secs: float) -> bool:
        """Continue for about so many seconds; whether all has been looked at as it is now."""
        until = time.perf_counter() + secs
        for _ in self._way:
            if time.perf_counter() >= until:
                return False
        self._way = self._walk()
        return True

    def _walk(self) -> Iterator[None]:
        for entry in self._list_stale():
            yield from self._look_at(entry)

    def _list_stale(self) -> Iterator[int]:
        """Entries not yet looked at as they are."""
        missing = len(self._entries) - len(self._counts)
        self._counts += [[] for _ in range(missing)]
        self._sums += [0] * missing
        self._versions += [_NOT_YET] * missing
        behind = min(self._start, len(self._counts))
        places = chain(range(self._start, len(self._counts)), range(behind - 1, -1, -1))
        return (place for place in places if self._versions[place] != self._entries[place].version)

    def _look_at(self, entry: int) -> Iterator[None]:
        """Stops for others to have their turn; what changes meanwhile is looked at again another time."""
        self._versions[entry] = self._entries[entry].version
        counts: list[int] = []
        for place, passage in enumerate(list_passages(self._entries[entry])):
            pattern = self._needle.written if passage.is_written else self._needle.shown
            count = 0
            for found in _count_matches(pattern, passage.text):
                count += found
                yield
            before, drawn = self._drawn.get((entry, place), (_NOT_YET, 0))
            counts.append(drawn if before == count else count)
        self._add_hits(entry, counts)

    def _add_hits(self, entry: int, counts: list[int]) -> None:
        self._counts[entry] = counts
        self.total += sum(counts) - self._sums[entry]
        self._sums[entry] = sum(counts)

    def has_hits(self, entry: int) -> bool:
        """Whether anything was found in an entry."""
        return entry < len(self._sums) and self._sums[entry] > 0

    def count(self, hit: Hit) -> int:
        """How often the needle is in the hit's passage."""
        return self._counts[hit.entry][hit.passage]

    def correct(self, hit: Hit, drawn: int) -> None:
        """So often it is seen in the hit's passage, which markup and cuts may have hidden."""
        counts = list(self._counts[hit.entry])
        if counts[hit.passage] != drawn:
            self._drawn[hit.entry, hit.passage] = (counts[hit.passage], drawn)
            counts[hit.passage] = drawn
            self._add_hits(hit.entry, counts)

    def get_ordinal(self, hit: Hit) -> int:
        """The how manieth of all it is, from 1 on."""
        before = sum(self._sums[: hit.entry]) + sum(self._counts[hit.entry][: hit.passage])
        return before + hit.nth + 1

    def find_nearest(self) -> Hit | None:
        """The first hit from where the search began; the last one before it where there is none."""
        return self._find_first(range(self._start, len(self._sums))) or self._find_last(
            range(min(self._start, len(self._sums)) - 1, -1, -1)
        )

    def after(self, hit: Hit) -> Hit | None:
        """The next hit; after the last one the first."""
        if hit.nth + 1 < self.count(hit):
            return hit._replace(nth=hit.nth + 1)
        for passage in range(hit.passage + 1, len(self._counts[hit.entry])):
            if self._counts[hit.entry][passage]:
                return Hit(hit.entry, passage, 0)
        return self._find_first(chain(range(hit.entry + 1, len(self._sums)), range(hit.entry + 1)))

    def before(self, hit: Hit) -> Hit | None:
        """The hit before; before the first one the last."""
        if hit.nth > 0:
            return hit._replace(nth=min(hit.nth, self.count(hit)) - 1)
        for passage in range(hit.passage - 1, -1, -1):
            if count := self._counts[hit.entry][passage]:
                return Hit(hit.entry, passage, count - 1)
        return self._find_last(
            chain(range(hit.entry - 1, -1, -1), range(len(self._sums) - 1, hit.entry - 1, -1))
        )

    def _find_first(self, entries: Iterator[int] | range) -> Hit | None:
        entry = next((place for place in entries if self._sums[place]), None)
        if entry is None:
            return None
        return Hit(entry, next(p for p, count in enumerate(self._counts[entry]) if count), 0)

    def _find_last(self, entries: Iterator[int] | range) -> Hit | None:
        entry = next((place for place in entries if self._sums[place]), None)
        if entry is None:
            return None
        counts = self._counts[entry]
        passage = next(p for p in range(len(counts) - 1, -1, -1) if counts[p])
        return Hit(entry, passage, counts[passage] - 1)


def _count_matches(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    """How often the pattern is in the text, one piece of it after the other."""
    at = 0
    while at < len(text):
        end, count = min(at + _AT_ONCE, len(text)), 0
        for match in pattern.finditer(text, at, end + _LONGEST_HIT):
            if match.start() >= end:
                break
            count, at = count + 1, match.end()
        at = max(at, end)
        yield count


class Passage(NamedTuple):
    """One text. `part` is what lines of it are targets for in the entry's drawing, None where they are none;
    `is_written`: it is Markdown.
    """

    part: int | None
    text: str
    is_written: bool = False


def list_passages(entry: Entry) -> list[Passage]:
    """What can be found in an entry, folded parts included."""
    match entry:
        case PromptEntry():
            return [Passage(0, entry.text)]
        case Notice():
            return [Passage(None, entry.text)]
        case AnswerEntry():
            return [Passage(0, "".join(entry.reasoning)), Passage(None, entry.text, is_written=True)]
        case Batch():
            return [Passage(place, _render_text(call)) for place, call in enumerate(entry.calls)]
        case PanelEntry():
            return [Passage(0, render_panel(entry))]
        case Restoration():
            return [Passage(0, "\n".join(change.path for change in entry.changes))]
        case _:
            assert_never(entry)


def _render_text(call: Call) -> str:
    arguments = (value if isinstance(value, str) else json.dumps(value) for value in call.arguments.values())
    remarks = (remark.text for remark in call.remarks)
    output = (call.output.head, call.output.tail) if call.output is not None else call.progress.list_lines()
    texts = [
        call.tool,
        format_tool_name(call.tool),
        *arguments,
        call.reason or "",
        *remarks,
        call.diff or "",
        *map(_strip_sequences, output),
    ]
    return "\n".join(text for text in texts if text)


def _strip_sequences(text: str) -> str:
    """Output without terminal sequences, which most has none of."""
    return clean_program_text(text) if "\x1b" in text else text


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


_AT_WORK_SECS = 1 / 200
_AT_REST_SECS = 1 / 4


class FindBar(HorizontalGroup):
    """Finds in a transcript while it is there. Posts `SearchEnded` when the person is done with it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,down", "find_next(False)", "Find: next match", priority=True, id="find_next"),
        Binding(
            "shift+enter,up,shift+f3",
            "find_next(True)",
            "Find: previous match",
            priority=True,
            id="find_previous",
        ),
        Binding("escape", "close", "Find: close", priority=True, id="find_close"),
    ]
    DEFAULT_CSS = """
    FindBar {
        height: 1;
        background: $surface;
        #find-sign, #find-status { width: auto; padding: 0 1; }
        #find-sign { color: $text-primary; text-style: bold; }
        #find-status { color: $text-muted; }
        #find-text {
            width: 1fr;
            height: 1;
            border: none;
            padding: 0;
            background: $surface;
        }
    }
    """

    class SearchEnded(Message):
        """The person is done; `text` is what they looked for last."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, view: TranscriptView, text: str) -> None:
        super().__init__(id="find")
        self._view = view
        self._input = LineInput(text, id="find-text", placeholder="find in the transcript")
        self._status = Static(id="find-status", markup=False)
        self._finder = Finder(
            view,
            view.get_component_rich_style("transcript--hit", partial=True),
            view.get_component_rich_style("transcript--present-hit", partial=True),
        )
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static("find", id="find-sign", markup=False)
        yield self._input
        yield self._status

    def on_mount(self) -> None:
        """Typing goes here from now on; what was looked for last is there to be typed over."""
        self.take_focus()
        self._look()

    def take_focus(self) -> None:
        """Have what is typed come here."""
        self._input.focus()
        self._input.select_all()

    @on(Input.Changed)
    def _on_changed(self, message: Input.Changed) -> None:
        message.stop()
        if message.value != self._finder.needle.text:
            self._look()

    def look_for(self, text: str) -> None:
        """Find this instead of what is typed."""
        self._input.value = text
        self.take_focus()

    def _look(self) -> None:
        self._finder.look_for(self._input.value)
        self._search_further()

    def _search_further(self) -> None:
        """Look further, often while there is more to look at; else now and then, for what is new."""
        complete = self._finder.search_further()
        self._tell()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_AT_REST_SECS if complete else _AT_WORK_SECS, self._search_further)

    def _tell(self) -> None:
        status = self._finder.status
        if status != str(self._status.content):
            self._status.update(status)

    def action_find_next(self, backwards: bool) -> None:
        """To the next place, or the one before."""
        self._finder.find_next(backwards=backwards)
        self._tell()

    def action_close(self) -> None:
        """Back to the prompt; the transcript stays where it is."""
        if self._timer is not None:
            self._timer.stop()
        self._finder.close()
        self.post_message(self.SearchEnded(self._input.value))
