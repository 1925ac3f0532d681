"""The transcript of a session: what happens is fed to it, and the mouse folds, selects and follows links in it.

The events of a record are shown in pieces: keys are handled in between.

It is loaded before the first frame, so the model and all drawing are imported with the first event.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.message import Message
from textual.timer import Timer

from quorum.tui.transcript.cells.lines import find_target
from quorum.tui.transcript.cells.palette import GROUND, Palette, name_component_class, render_role_styles
from quorum.tui.transcript.layout.pane import Pane

if TYPE_CHECKING:
    from quorum.application.view.entries import Call, Entry
    from quorum.application.view.session_view import SessionView
    from quorum.domain.events.event import Event
    from quorum.tui.transcript.layout.selected import Place
    from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout


_PIECE_SECS = 0.008
_LOOK_AT_THE_TIME_AFTER = 16


async def replay_events(
    past: Sequence[Event], past_at: Sequence[int], transcript: TranscriptView, *, cut: str
) -> None:
    """Apply these events, which happened at these times in milliseconds. A turn without an end is shown as
    `cut`. Where the times are not known, none are made up.
    """
    await asyncio.to_thread(transcript.warm_up)
    transcript.begin_past()
    began = time.perf_counter()
    # What happened before goes by the clock that continues now, so that waiting across processes has a length.
    ahead = time.monotonic() - time.time()
    moments = [at_ms / 1000 + ahead for at_ms in past_at] if len(past_at) == len(past) else [None] * len(past)
    for number, (event, at) in enumerate(zip(past, moments, strict=True)):
        transcript.apply(event, at)
        if number % _LOOK_AT_THE_TIME_AFTER == 0 and time.perf_counter() - began > _PIECE_SECS:
            await asyncio.sleep(0)
            began = time.perf_counter()
    transcript.end_past(cut)


_DRAG_SECS = 1 / 20
_HITS = """
TranscriptView > .transcript--hit { text-style: underline; background: $warning-muted; color: $text; }
TranscriptView > .transcript--present-hit { text-style: bold reverse; }
"""


class TranscriptView(Pane):
    """Shows what happened in a session. Feed it with `apply`.

    `tell_filled` is called once there is more than remarks, and with False once there is nothing again: before
    any of it is drawn, so that it can have the room.
    """

    DEFAULT_CSS = GROUND + render_role_styles("TranscriptView") + _HITS
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(name_component_class(role) for role in Palette.list_roles()),
        "transcript--hit",
        "transcript--present-hit",
    }
    ALLOW_SELECT = False  # Textual selects by widgets on the screen; here it goes by lines, in sight or not

    class OutputWanted(Message):
        """The person wants to read the whole output of a call."""

        def __init__(self, call: Call) -> None:
            super().__init__()
            self.call = call

    class LinkPressed(Message):
        """The person clicked on something that leads to this target."""

        def __init__(self, target: str) -> None:
            super().__init__()
            self.target = target

    def __init__(
        self,
        *,
        id: str | None = None,
        classes: str | None = None,
        tell_filled: Callable[[bool], None] = lambda _is_filled: None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._tell_filled = tell_filled
        self._is_filled = False
        self._session_view: SessionView | None = None  # until there are lines
        self._pressed: Place | None = None
        self._dragged = False
        self._mouse = (0, 0)
        self._dragging: Timer | None = None

    @staticmethod
    def warm_up() -> None:
        """Load what the first events need (a third of a second): for a thread, after the first frame."""
        for name in ("quorum.tui.transcript.layout.transcript_layout", "quorum.tui.transcript.draw.painter"):
            import_module(name)

    # -- what the application calls ----------------------------------------------------------------------

    def apply(self, event: Event, at: float | None = None) -> None:
        """Take an event in; it is seen with the next frame. `at` is when it happened, if it is of the past."""
        self._open_page().apply(event, at)
        self._note_news()

    def warn(self, sentence: str) -> None:
        """Show a warning that no event says."""
        self._open_page().transcript.warn(sentence)
        self._note_news()

    def _note_news(self) -> None:
        if not self._is_filled:
            self._look_whether_filled()
        self._news = True
        self._want_frame()

    def _look_whether_filled(self) -> None:
        from quorum.application.view.entries import Notice

        if self.is_mounted and self.entries and not isinstance(self.entries[-1], Notice):
            self._is_filled = True
            self._tell_filled(True)

    def begin_past(self) -> None:
        """What is applied from now on comes from a record; nothing of it is drawn before `end_past`."""
        self._open_page().transcript.begin_past()
        self._in_past = True

    def end_past(self, cut: str) -> None:
        """The record is applied, its end is in sight. A turn without an end is shown as `cut`."""
        self._open_page().transcript.end_past(cut)
        self._in_past = False
        self._want_frame()

    def _open_page(self) -> TranscriptLayout:
        if self._page is None:
            from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout

            self._page = TranscriptLayout(self._session_view)
        return self._page

    def clear(self) -> None:
        """Empty the screen; the session continues."""
        self._show_page(self._page.create_successor() if self._page is not None else None)

    def forget(self) -> None:
        """Empty the screen for another session."""
        self._session_view = None
        self._is_filled = False
        self._tell_filled(False)
        self._show_page(None)

    def toggle_fold_all(self) -> None:
        """Unfold all cards and thoughts, or fold them again; what stands at the top stays there."""
        if (page := self._page) is None:
            return
        from quorum.tui.transcript.layout.folds import set_all_open

        spot = page.find_line_position(page.scroll) if page.scroll < page.lines else None
        page.unfolded = not page.unfolded
        set_all_open(self.entries, page.unfolded)
        if spot is not None and not self._pinned:
            page.hold(spot)
        self._want_frame()

    def find_latest_output(self, nth: int) -> Call | None:
        """The call with the nth latest output of a command, or stored one; None where there are fewer."""
        from quorum.tui.transcript.layout.folds import find_latest_output

        return find_latest_output(self.entries, nth)

    @property
    def entries(self) -> Sequence[Entry]:
        """What it consists of, oldest first."""
        return self._page.transcript.entries if self._page is not None else ()

    @property
    def page(self) -> TranscriptLayout | None:
        """The lines, once there are any."""
        return self._page

    @property
    def session_view(self) -> SessionView:
        """What it shows, as data."""
        if self._page is not None:
            return self._page.transcript
        if self._session_view is None:
            from quorum.application.view.session_view import SessionView

            self._session_view = SessionView()
        return self._session_view

    def reveal(self, entry: Entry, call: Call | None = None) -> bool:
        """Have an entry in sight, and the call unfolded; whether it is there: `clear` takes entries away."""
        from quorum.tui.transcript.layout.folds import unfold

        place = next((n for n, each in enumerate(self.entries) if each is entry), None)
        if place is None or self._page is None:
            return False
        self.go_to(place, 1)
        if call is not None:
            self.go_to(place, unfold(self._page, place, call))
        return True

    def go_to(self, entry: int, offset: int) -> None:
        """Have a line of an entry in sight, a third of the way down if it was not."""
        page, height = self._page, self.size.height
        if page is None or not height:
            return
        page.use(self.size.width, self._build_palette())
        page.settle(height, pinned=self._pinned)
        if (drawn := page.find_drawn(entry)) != entry:
            entry, offset = drawn, 1
        if not page.scroll <= page.find_line(entry, offset) < page.scroll + height:
            self._pinned = False
            page.hold(page.find_position(entry, offset, height // 3))
        self.flush()
        self._pin_at_end()

    # -- the mouse ---------------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Where a selection begins, should the mouse be moved."""
        self._dragged = False
        self._pressed = self._find_place(event.x, event.y) if event.button == 1 else None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Select from where the button was pressed; beyond the edges, scroll."""
        if self._pressed is None:
            return
        if not event.button:  # it was released where no event reaches us
            self._end_drag()
            return
        self._mouse = (event.x, event.y)
        if not self._dragged:
            self._dragged = True
            self.capture_mouse()
            self._dragging = self.set_interval(_DRAG_SECS, self._scroll_while_dragging)
        self._select_to_mouse()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """The selection is made."""
        self._end_drag()

    def _end_drag(self) -> None:
        self._pressed = None
        self.release_mouse()
        if self._dragging is not None:
            self._dragging.stop()
            self._dragging = None

    def _scroll_while_dragging(self) -> None:
        y, last = self._mouse[1], self.size.height - 1
        beyond = y - 1 if y <= 0 else max(y - last + 1, 0)  # on the outermost lines it scrolls by one
        if beyond and self._pressed is not None:
            self.scroll_to(y=self.scroll_y + beyond, animate=False)
            self._select_to_mouse()

    def _select_to_mouse(self) -> None:
        from quorum.tui.transcript.layout.selected import Ends

        x, y = self._mouse
        place = self._find_place(x, max(0, min(y, self.size.height - 1)))
        if self._pressed is not None and place is not None:
            self.select(Ends.between(self._pressed, place))

    def _find_place(self, x: int, y: int) -> Place | None:
        from quorum.tui.transcript.layout.selected import Place, find_column

        if self._page is None:
            return None
        return Place.at(self._page, self._page.scroll + y, find_column(self.render_line(y), max(x, 0)))

    def on_click(self, event: events.Click) -> None:
        """Once: fold or unfold, open an output, follow a link. Twice selects a word, three times a line."""
        from quorum.tui.transcript.layout.folds import find_output, toggle_line

        event.prevent_default()
        page = self._page
        if page is None or self._dragged:
            return
        line = page.scroll + event.y
        if event.chain > 1:
            self._select_at(page, event)
        elif target := find_target(event.style):
            self.post_message(self.LinkPressed(target))
        elif (call := find_output(page, line)) is not None:
            self.post_message(self.OutputWanted(call))
        elif toggle_line(page, line):
            self._pinned = False  # the row clicked on stays under the mouse
            self.flush()
            self._pin_at_end()

    def _select_at(self, page: TranscriptLayout, event: events.Click) -> None:
        from quorum.tui.transcript.layout.selected import select_line, select_word

        line = page.scroll + event.y
        if line < page.lines:
            place = self._find_place(event.x, event.y)
            self.select(
                select_word(page, line, place.column) if event.chain == 2 and place else select_line(page, line)
            )
