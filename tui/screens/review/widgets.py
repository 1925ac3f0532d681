"""The parts of the review dialog: text that scrolls, a line to type into, and the choices below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Self

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import TextArea

from quorum.domain.text.printable import make_printable
from quorum.tui.screens.review.text.rows import LineKind, Row, StyledPart
from quorum.tui.transcript.kinds.code import put_on_tint
from quorum.tui.widgets.dialog_parts import LineInput

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

    @property
    def above(self) -> int:
        """How many rows are out of sight above."""
        return min(self.scroll_offset.y, len(self._rows))

    @property
    def below(self) -> int:
        """How many rows are out of sight below."""
        return max(0, len(self._rows) - self.above - self.lines_shown)

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
        if part.is_objected:
            yield Segment(part.text, style + self._look(_OBJECTED, partial=True))
            return
        left = part.text
        if part.code is not None and not self._is_marked_by_text(part.kind, style):
            code, number, skip = part.code
            for text, colour in code.lex_line(number, dark=self.app.current_theme.dark) or ():
                if skip < len(text) and left:
                    colour = put_on_tint(colour) if part.kind in _CHANGED else colour
                    yield Segment(left[: len(text) - skip], style + colour)
                    left = left[len(text) - skip :]
                skip = max(0, skip - len(text))
        if left or not part.text:
            yield Segment(left, style)

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
