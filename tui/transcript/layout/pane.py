"""The widget that shows a page line by line: its frames, its scrolling, and what of it is selected.

Frames are drawn soon after something changed, never faster than the machine bears, not at all idle.

It is loaded before the first frame, so the model and all drawing are imported with the first event.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.color import Color
from textual.filter import LineFilter
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from quorum.tui.transcript.cells.lines import Links, link_style, strip_marks
from quorum.tui.transcript.cells.palette import Palette, read_palette

if TYPE_CHECKING:
    from quorum.tui.transcript.layout.selected import Ends
    from quorum.tui.transcript.layout.transcript_layout import LinePosition, TranscriptLayout


_FRAME_SECS = 1 / 20
_SCROLLBAR_SECS = 1 / 2
# A frame that took long is followed by a pause of this many times its cost, so that typing never waits.
_PAUSE_PER_COST = 4


class Pace:
    """Calls `draw` for frames that were asked for, and `trail` now and then and after the last of them."""

    def __init__(self, widget: Widget, draw: Callable[[], None], trail: Callable[[], None]) -> None:
        self._draw = draw
        self._trail = trail
        self._wanted = False
        self._resting_until = 0.0
        self._trail_due = 0.0
        self._timer: Timer = widget.set_interval(_FRAME_SECS, self._tick, pause=True)

    def want(self) -> None:
        """Ask for a frame. Wakes the timer, which sleeps while nobody asks."""
        self._wanted = True
        self._timer.resume()

    def note_drawn(self) -> None:
        """The frame asked for was drawn by somebody else."""
        self._wanted = False

    def _tick(self) -> None:
        begun = time.perf_counter()
        if not self._wanted:
            self._trail()
            self._timer.pause()
        elif begun >= self._resting_until:
            self._wanted = False
            self._draw()
            ended = time.perf_counter()
            self._resting_until = ended + _PAUSE_PER_COST * (ended - begun)
            if ended >= self._trail_due:
                self._trail_due = ended + _SCROLLBAR_SECS
                self._trail()


class Patch(NamedTuple):
    """Characters of a line, from `start` up to `end` (-1: its end), that are to be shown in another style."""

    start: int
    end: int
    style: Style


class LineView:
    """What a widget is like until its size or style changes. `selected` is the style of selected text."""

    def __init__(
        self, *, size: Size, style: Style, background: Color, filters: Sequence[LineFilter], selected: Style
    ) -> None:
        self.size = size
        self._style = style
        self._background = background
        self._filters = tuple(filters)
        self._selected = selected
        self._blank = self._apply_filters([Segment(" " * size.width, style)])
        self._links = Links()
        # Finished strips of the last frame, each with the strip it was made from, which keeps its id its own.
        self._known: dict[int, tuple[Strip, Strip]] = {}

    def finish_strips(
        self,
        strips: Sequence[Strip],
        first: int,
        selection: Selection | None,
        patches: Iterable[tuple[int, Patch]] = (),
    ) -> list[Strip]:
        """As many strips as the widget is high, ready for the terminal; `first` is the first one's line.

        A line that was in sight in the last frame gives the very same strip again, with its terminal codes.
        `patches` come with the numbers of their lines.
        """
        strips = self._links.link_addresses(strips)
        known = {
            id(strip): self._known.get(id(strip)) or (strip, self._finish_strip(strip)) for strip in strips
        }
        self._known = known
        lines = [known[id(strip)][1] for strip in strips]
        for line, patch in patches:
            if first <= line < first + len(lines):
                lines[line - first] = self._apply_patch(lines[line - first], patch)
        if selection is not None:
            lines = [
                self._apply_patch(line, Patch(*span, self._selected))
                if (span := selection.get_span(y))
                else line
                for y, line in enumerate(lines, first)
            ]
        return lines + [self._blank] * (self.size.height - len(lines))

    def _finish_strip(self, strip: Strip) -> Strip:
        width = self.size.width
        segments = [Segment(text, self._look(style)) for text, style, _ in strip]
        if (missing := width - strip.cell_length) > 0:
            segments.append(Segment(" " * missing, self._style))
        elif missing < 0:
            segments = list(Strip(segments).crop(0, width))
        return self._apply_filters(segments)

    def _look(self, style: Style | None) -> Style:
        if style is None:
            return self._style
        look = self._style + strip_marks(style)
        return link_style(look, style.link) if style.link else look

    def _apply_filters(self, segments: list[Segment]) -> Strip:
        for line_filter in self._filters:
            segments = line_filter.apply(segments, self._background)
        return Strip(segments, self.size.width)

    def _apply_patch(self, strip: Strip, patch: Patch) -> Strip:
        first = strip.index_to_cell_position(patch.start)
        last = strip.cell_length if patch.end < 0 else strip.index_to_cell_position(patch.end)
        inside = [Segment(text, (style or Style()) + patch.style) for text, style, _ in strip.crop(first, last)]
        return Strip.join([strip.crop(0, first), Strip(self._apply_filters(inside)), strip.crop(last)])


_LIVE_SECS = 1 / 4

Patching = Callable[["TranscriptLayout", int], Iterable[tuple[int, Patch]]]
"""Answers for a page, and so many lines of it in sight, which cells are to look different, by their lines."""


class Pane(ScrollView, can_focus=False):
    """Draws at most 25 times a second. Drawn lines are kept in sight where they are while others change."""

    class NewBelow(Message):
        """What `new_below` says has changed."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._page: TranscriptLayout | None = None
        self._palette: Palette | None = None
        self._surface: LineView | None = None
        self._pace: Pace | None = None
        self._live: Timer | None = None
        self._news = self._unseen = self._settling = self._in_past = False
        self._pinned = True
        self._wanted: LinePosition | None = None
        self._shown: list[Strip] = []
        self._ends: Ends | None = None
        self._patching: Patching | None = None

    @property
    def new_below(self) -> str:
        """What a status bar may say while something new stands below what is in sight; else empty."""
        return "↓ new" if self._unseen else ""

    @property
    def is_at_end(self) -> bool:
        """Whether the end is in sight and stays so as the transcript grows."""
        return self._pinned

    @property
    def top_line(self) -> LinePosition | None:
        """What stands at the top; None where the end is in sight."""
        page = self._page
        if page is None or self._pinned or page.scroll >= page.lines:
            return None
        return page.find_line_position(page.scroll)

    def go_to_line(self, line: LinePosition) -> None:
        """Have this stand where it did, as soon as there is room for lines."""
        if self._page is not None and line.entry < len(self._page.transcript.entries):
            self._pinned, self._wanted = False, line
            self.flush()
            self._sync_scrollbar()

    def action_page_up(self) -> None:
        """Scroll back by a page, keeping two lines in sight."""
        self.scroll_to(y=self.scroll_y + 2 - self.size.height, animate=False)

    def action_page_down(self) -> None:
        """Scroll on by a page, keeping two lines in sight."""
        self.scroll_to(y=self.scroll_y - 2 + self.size.height, animate=False)

    def action_scroll_home(self) -> None:
        """Show the beginning."""
        if self._page is not None:
            self._pinned = False
            self._page.scroll_to_start()
            self.flush()
            self._sync_scrollbar()

    def action_scroll_end(self) -> None:
        """Show the end, and keep showing it as it grows."""
        self._pinned = True
        self.flush()
        self._sync_scrollbar()

    # -- frames ------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Both timers sleep until there is something to draw."""
        self._pace = Pace(self, self.flush, self._sync_scrollbar)
        self._live = self.set_interval(_LIVE_SECS, self._age, pause=True)
        self._want_frame()

    def flush(self) -> None:
        """Bring the lines up to date now; the frame timer does it otherwise."""
        page, height = self._page, self.size.height
        if page is None or not height or self._pace is None or self._in_past:
            return
        self._pace.note_drawn()
        page.use(self.size.width, self._build_palette())
        if self._wanted is not None:
            page.hold(self._wanted)
            self._wanted = None
        page.settle(height, pinned=self._pinned)
        self._place(page.scroll, page.lines)
        self._tell_unseen(not self._pinned and (self._unseen or self._news))
        self._news = False
        self._keep_selected()
        self._repaint_changed()
        if self._live is not None and page.transcript.live:
            self._live.resume()

    def shows_answer(self, text: str, height: int) -> bool:
        """Whether this text is the last answer, and all of it is in sight in `height` lines."""
        self.flush()
        if self._page is None or not self._pinned or self._in_past:
            return False
        lines = self._page.count_lines_from_answer(text)
        return lines is not None and lines <= height

    def show_patched(self, patching: Patching | None) -> None:
        """Have cells look different from now on, or as they are."""
        self._patching = patching
        self._repaint_changed()

    def _show_page(self, page: TranscriptLayout | None) -> None:
        self._page, self._shown, self._pinned = page, [], True
        self.select(None)
        self._tell_unseen(False)
        self._place(0, 0)
        self.refresh()

    def _want_frame(self) -> None:
        """Ask for one, unless nobody sees it: behind another tab, and once the app ends, nothing is drawn."""
        if self._pace is None or self._in_past or not self.is_attached:
            return
        if self.screen in self.app.screen_stack:
            self._pace.want()

    def _age(self) -> None:
        """Time passed for a running call or a countdown."""
        if self._page is not None and self._page.age():
            self._want_frame()
        elif self._live is not None:
            self._live.pause()

    def _place(self, scroll: int, lines: int) -> None:
        """Move to a line of so many. A change of the virtual size needs no new layout of the screen."""
        self._settling = True
        size = Size(self.size.width, lines)
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)
        if scroll != self.scroll_y:
            self.scroll_to(y=scroll, animate=False, force=True)
        self._settling = False

    def _pin_at_end(self) -> None:
        if self.scroll_y >= self.max_scroll_y:
            self._pinned = True
            self._tell_unseen(False)
        self._sync_scrollbar()

    def _sync_scrollbar(self) -> None:
        """Painting the scrollbar costs as much as all the text, so a stream moves it only now and then."""
        self.vertical_scrollbar.window_virtual_size = self.virtual_size.height
        self.vertical_scrollbar.position = self.scroll_y

    def _repaint_changed(self) -> None:
        before, self._shown = self._shown, self._finish_lines()
        if len(before) != len(self._shown):
            self.refresh()
            return
        changed = [y for y, strip in enumerate(self._shown) if strip is not before[y]]
        if changed:
            self.refresh(Region(0, changed[0], self.size.width, changed[-1] + 1 - changed[0]))

    def _tell_unseen(self, unseen: bool) -> None:
        if unseen != self._unseen:
            self._unseen = unseen
            self.post_message(self.NewBelow())

    # -- what is selected --------------------------------------------------------------------------------

    def select(self, ends: Ends | None) -> None:
        """Select the text between two places, which stay what they are while lines around them change."""
        self._ends = ends
        if ends is None:
            if self.text_selection is not None:
                self.screen.clear_selection()
        else:
            self._keep_selected()

    def _keep_selected(self) -> None:
        if self._page is not None and self._ends is not None:
            selection = self._ends.on(self._page)
            if selection != self.text_selection:
                self.screen.selections = {self: selection}

    def selection_updated(self, selection: Selection | None) -> None:
        """What is selected is drawn selected."""
        if selection is None:
            self._ends = None
        self._repaint_changed()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text; only the lines selected are drawn for it."""
        return (self._page.select_text(selection), "\n") if self._page is not None else None

    # -- what Textual calls ------------------------------------------------------------------------------

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The person scrolled, unless it is we who do."""
        if self._settling or self._page is None:
            return
        self._page.scroll = round(new_value)
        # At the end of what was drawn last: the person went there, or a grown view was pulled back to it.
        self._pinned = new_value >= self.max_scroll_y
        self.flush()
        self._pin_at_end()

    def on_resize(self, event: events.Resize) -> None:
        """Lines are drawn for the new width in the same frame."""
        self.flush()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._palette = self._surface = None
        if self._page is not None:
            self._want_frame()
        else:
            self._shown = []  # an empty page gets no frame, and its blank lines have the old ground

    def render_line(self, y: int) -> Strip:
        """The line at `y` cells from the top of what is in sight."""
        return self._get_shown_lines()[y]

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a region. They are finished strips, so that what was drawn before is not drawn again."""
        strips = self._get_shown_lines()[crop.y : crop.bottom]
        if crop.column_span != (0, self.size.width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def _get_shown_lines(self) -> list[Strip]:
        """The strips last put on the screen, or those of a size that no frame was made for yet."""
        if len(self._shown) != self.size.height:
            self._shown = self._finish_lines()
        return self._shown

    def _finish_lines(self) -> list[Strip]:
        if self._surface is None or self._surface.size != self.size:
            self._surface = LineView(
                size=self.size,
                style=self.rich_style,
                background=self.background_colors[1],
                filters=self.get_line_filters(),
                selected=self.screen.get_component_rich_style("screen--selection"),
            )
        page, height = self._page, self.size.height
        if page is None:
            return self._surface.finish_strips([], 0, None)
        strips = page.render_strips(height)
        patches = self._patching(page, height) if self._patching is not None else ()
        return self._surface.finish_strips(strips, page.scroll, self.text_selection, patches)

    def _build_palette(self) -> Palette:
        if self._palette is None:
            self._palette = read_palette(self)
        return self._palette
