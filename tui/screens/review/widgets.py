"""The parts of the review dialog: text that scrolls, a line to type into, and what stays while it changes.

Where the window is too small to read a question in, words stand in its place. Which rows of what is approved
have been on the screen is remembered. An answered question stays a moment for the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.await_complete import AwaitComplete
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static, TextArea

from quorum.domain.review.questions import ApproveRest, Edit, RejectAndInterrupt, ReviewAnswer, ReviewRequest
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyboard_guard import CRAMPED_CLASS
from quorum.tui.keys.keyed_app import READER
from quorum.tui.transcript.cells.palette import EMPHASIS
from quorum.tui.transcript.kinds.rows import LineKind, Row, StyledPart
from quorum.tui.transcript.kinds.source import put_on_tint
from quorum.tui.widgets.dialog_parts import ClosesItself, LineInput, SeeThroughScreen

_LEAST_WIDTH, _LEAST_HEIGHT = 36, 9


class Cramped(Static):
    """Says what to do. It is seen in place of everything else as long as its screen is too small."""

    SCOPED_CSS = False  # it is about its neighbours
    DEFAULT_CSS = """
    Cramped { display: none; width: 100%; background: $surface; color: $text-warning; }
    ModalScreen.-cramped > * { display: none; }
    ModalScreen.-cramped > Cramped { display: block; }
    """

    def __init__(self) -> None:
        super().__init__("! too small a window for this question: enlarge it, or esc", markup=False)
        self.focused_before: Widget | None = None
        """What had the focus of the screen as it became too small, and loses it where it is not drawn."""


def is_cramped(screen: Screen[Any]) -> bool:
    """Whether the question cannot be read, and no answer but to leave it may be given."""
    return screen.has_class(CRAMPED_CLASS)


def fit_to_screen(screen: Screen[Any]) -> bool:
    """Go by the size there is now; whether the question has come into sight by that."""
    width, height = screen.app.size
    was, now = is_cramped(screen), width < _LEAST_WIDTH or height < _LEAST_HEIGHT
    words = screen.query_one(Cramped)
    if now and not was:
        words.focused_before = screen.focused
    screen.set_class(now, CRAMPED_CLASS)
    if was and not now:
        screen.call_after_refresh(_give_back_focus, screen, words)
    return was and not now


def _give_back_focus(screen: Screen[Any], words: Cramped) -> None:
    widget, words.focused_before = words.focused_before, None
    if screen.focused is None and widget is not None and widget.is_attached:
        screen.set_focus(widget)


_NOT_APPROVED = frozenset({LineKind.CONTEXT, LineKind.QUIET, LineKind.HUNK})
"""Lines around a change, names of files and headings: seeing them is not what approving is about."""


def find_first_approved(rows: Sequence[Row]) -> int:
    """The first row that is part of what would run or change; 0 where there is none."""
    return next((place for place, row in enumerate(rows) if _is_approved(row)), 0)


def find_last_approved(rows: Sequence[Row]) -> int:
    """The last row that is part of what would run or change; 0 where there is none."""
    return next((place for place in reversed(range(len(rows))) if _is_approved(rows[place])), 0)


def _is_approved(row: Row) -> bool:
    return any(part.kind not in _NOT_APPROVED and part.text.strip() for part in row)


class SeenRows:
    """Remembers them for one text at one width; another text, or the same folded anew, is unseen."""

    def __init__(self) -> None:
        self._texts: tuple[str, ...] = ()
        self._unseen: set[int] = set()

    def show(self, rows: Sequence[Row]) -> bool:
        """These rows are what is approved now; whether they are others than before."""
        texts = tuple("".join(part.text for part in row) for row in rows)
        if texts == self._texts:
            return False
        self._texts = texts
        self._unseen = {place for place, row in enumerate(rows) if _is_approved(row)}
        return True

    def note(self, places: Iterable[int]) -> None:
        """These rows are on the screen."""
        self._unseen.difference_update(places)

    @property
    def unseen(self) -> int:
        """How many rows of what is approved have not been on the screen yet."""
        return len(self._unseen)


_PATIENCE_SECS = 0.3
"""How long it stays for the next question of the batch: longer than an edit takes."""

_MOVES = frozenset(
    ("enter", "space", "tab", "shift+tab", "up", "down", "left", "right", "pageup", "pagedown", "home", "end")
)
"""Keys of the choices, of which a late one may still be meant for the question that was there."""


def can_be_followed(request: ReviewRequest, answer: ReviewAnswer) -> bool:
    """Whether another question may come at once: of the same batch, or about the edited call."""
    is_last = request.packet.context.call_index + 1 >= request.batch_size
    return isinstance(answer, Edit) or not (is_last or isinstance(answer, ApproveRest | RejectAndInterrupt))


class KeepsPlace(ClosesItself, SeeThroughScreen[ReviewAnswer]):
    """Gives one answer for each request. `on_answer` is called with it, if there is one.

    A subclass says in `request` what is asked, and sleeps in `fall_asleep`.
    """

    def __init__(self, on_answer: Callable[[ReviewAnswer], None]) -> None:
        super().__init__()
        self._on_answer = on_answer
        self._is_answered = False
        self._patience: Timer | None = None

    @property
    def request(self) -> ReviewRequest:
        raise NotImplementedError

    def fall_asleep(self) -> None:
        """Take no key for an answer until the next request has been seen."""
        raise NotImplementedError

    @property
    def is_waiting(self) -> bool:
        """Whether it is answered and stays for the next request."""
        return self._patience is not None

    def dismiss(self, result: ReviewAnswer | None = None) -> AwaitComplete:
        """Give the answer, unless one was given; close, unless another request may follow at once."""
        if result is not None:
            if self._is_answered:
                return AwaitComplete()
            self._is_answered = True
            self.fall_asleep()
            self._on_answer(result)
            if can_be_followed(self.request, result):
                self._patience = self.set_timer(_PATIENCE_SECS, self._stop_waiting)
                return AwaitComplete()
        self._end_patience()
        return super().dismiss()

    def _stop_waiting(self) -> None:
        if self.is_waiting:  # else the next request came while the timer's event was on its way
            self.dismiss()

    def _end_patience(self) -> None:
        if self._patience is not None:
            self._patience.stop()
            self._patience = None

    def stay(self, on_answer: Callable[[ReviewAnswer], None]) -> None:
        """Be there for another request, whose answer goes to `on_answer`."""
        self._end_patience()
        self._closes_in_sight = None
        self._on_answer, self._is_answered = on_answer, False

    def gives_way(self, event: events.Event) -> bool:
        """Whether this is for the chat behind: after the answer, whatever neither types nor moves."""
        if not self.is_waiting:
            return False
        if isinstance(event, events.Key):
            return not event.is_printable and event.key not in _MOVES
        return isinstance(event, events.Paste)


_KINDS_OF_WORDS = (LineKind.STRONG, LineKind.QUIET, LineKind.WARNING, LineKind.GOOD, LineKind.BAD)
_KINDS_OF_CHANGES = (LineKind.ADDED, LineKind.REMOVED, LineKind.HUNK)
_CHANGED = (LineKind.ADDED, LineKind.REMOVED)


_OBJECTED = "objected"


def _list_component_classes(looks: Iterable[str]) -> set[str]:
    """Each of them is styled again whenever its widget is, so that a widget has those it draws, and no more."""
    return {f"rows--{look}" for look in looks}


class Rows(ScrollView, can_focus=False):
    """Rows of text, of which it draws those in sight. They have the kinds that text in words has."""

    COMPONENT_CLASSES: ClassVar[set[str]] = _list_component_classes(_KINDS_OF_WORDS)
    DEFAULT_CSS = """
    Rows {
        height: auto;
        scrollbar-size-vertical: 1;
        scrollbar-background: $surface;
        & > .rows--strong { text-style: bold; }
        & > .rows--quiet { color: $text-muted; }
        & > .rows--warning { color: $text-warning; }
        & > .rows--good { color: $text-success; }
        & > .rows--bad { color: $text-error; text-style: bold; }
    }
    """

    class RowsResized(Message):
        """Other rows may be in sight: it was given another size by those around it."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: list[Row] = []
        self._styles: dict[str, Style] = {}

    def show(self, rows: list[Row], *, height: int) -> None:
        """Show these rows in that many lines of the screen."""
        self._rows = rows
        self.styles.height = height
        self.display = bool(rows)
        self.virtual_size = Size(0, len(rows))
        self.refresh()

    def on_resize(self) -> None:
        """Tell who counts the rows that were in sight."""
        self.post_message(self.RowsResized())

    @property
    def above(self) -> int:
        """How many rows are out of sight above."""
        return min(self.scroll_offset.y, len(self._rows))

    @property
    def below(self) -> int:
        """How many rows are out of sight below."""
        return max(0, len(self._rows) - self.above - self.lines_shown)

    def describe_hidden(self) -> list[str]:
        """How many rows are out of sight above and below, where some are."""
        is_spoken = self.app.has_class(READER)
        up, down = ("", "") if is_spoken else ("↑ ", "↓ ")
        parts = [f"{up}{format_amount(self.above, 'line') if is_spoken else self.above} above"]
        parts += [f"{down}{self.below} more {'line' if self.below == 1 else 'lines'}"]
        return [part for part, count in zip(parts, (self.above, self.below), strict=True) if count]

    @property
    def lines_shown(self) -> int:
        """How many lines of the screen it was given."""
        return int(self.styles.height.value) if self.styles.height else 0

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles.clear()

    def render_line(self, y: int) -> Strip:
        """One line of the screen; the tint of a changed line reaches to the right edge."""
        place = y + self.scroll_offset.y
        if place >= len(self._rows):
            return Strip.blank(self.size.width, self.rich_style)
        row = self._rows[place]
        strip = Strip([segment for part in row for segment in self._draw_part(part)])
        last = row[-1] if row else StyledPart("", LineKind.PLAIN)
        tinted = last.kind in _CHANGED
        edge = self._choose_style(last.kind) if tinted else self.rich_style
        return strip.extend_cell_length(self.size.width, edge).crop(0, self.size.width)

    def _draw_part(self, part: StyledPart) -> Iterator[Segment]:
        style = self._choose_style(part.kind)
        emphasis = EMPHASIS if part.is_changed else Style()
        if part.is_objected:
            yield Segment(part.text, style + self._look(_OBJECTED, partial=True))
            return
        left = part.text
        if part.code is not None and not self._is_marked_by_text(part.kind, style):
            code, number, skip = part.code
            for text, colour in code.lex_line(number, dark=self.app.current_theme.dark) or ():
                if skip < len(text) and left:
                    colour = put_on_tint(colour) if part.kind in _CHANGED else colour
                    yield Segment(left[: len(text) - skip], style + colour + emphasis)
                    left = left[len(text) - skip :]
                skip = max(0, skip - len(text))
        if left or not part.text:
            yield Segment(left, style + emphasis)

    def _is_marked_by_text(self, kind: LineKind, style: Style) -> bool:
        """Whether only the text of a changed line has a colour, as in the ansi themes."""
        return kind in _CHANGED and (style.bgcolor is None or style.bgcolor.is_default)

    def _choose_style(self, kind: LineKind) -> Style:
        if kind in (LineKind.PLAIN, LineKind.CONTEXT):
            return self.rich_style
        return self._look(kind.value, partial=False)

    def _look(self, look: str, *, partial: bool) -> Style:
        if (style := self._styles.get(look)) is None:
            style = self.get_component_rich_style(f"rows--{look}", partial=partial)
            self._styles[look] = style
        return style


class ScrollableText(Rows):
    """Rows that may be code and changes of it, whose syntax has the colours that the transcript gives it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = _list_component_classes((*_KINDS_OF_CHANGES, _OBJECTED))
    DEFAULT_CSS = """
    ScrollableText {
        & > .rows--added { color: $text-success; background: $success-muted; }
        & > .rows--removed { color: $text-error; background: $error-muted; }
        & > .rows--hunk { color: $text-accent; }
        & > .rows--objected { color: $text-error; text-style: bold underline reverse; }
    }
    """


class TypedLine(LineInput):
    """One line that is typed or pasted; what could act on the terminal is pasted as its visible stand-in."""

    def replace(self, text: str, start: int, end: int) -> None:
        """Put text in the place of what is there."""
        super().replace(make_printable(text, newlines=False), start, end)


class ReasonLine(TypedLine):
    """Where the reason of a rejection is typed."""

    def __init__(self) -> None:
        super().__init__(placeholder="reason (the model reads it)", id="reason")


class CallEditor(TextArea):
    """Where what would run is edited."""

    def __init__(self) -> None:
        super().__init__(id="editor", compact=True, highlight_cursor_line=False)
        self.cursor_blink = False

    def focus(self, scroll_visible: bool = True) -> Self:
        """Take the focus at once, not when the app gets to it: what is typed next is meant for it."""
        self.screen.set_focus(self, scroll_visible)
        return self
