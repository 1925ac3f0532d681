"""What dialogs are made of: the frame, a line to type in, the line that filters a list, and the list."""

from __future__ import annotations

from typing import Self

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.containers import Vertical
from textual.content import Content
from textual.strip import Strip
from textual.widgets import Input, OptionList

from quorum.tui.keys.hints import fill_in_keys
from quorum.tui.keys.line_fields import run_binding_around

_SIGN = "›"
_BETWEEN_KEYS = " · "


_LOW = 20
"""The height of a screen, in cells, below which lines are for what is listed."""


class DialogFrame(Vertical):
    """The box of a dialog, with its title in the border. On a low screen it has all lines, and no blank one."""

    DEFAULT_CSS = """
    DialogFrame {
        width: 120;
        max-width: 100%;
        height: 90%;
        padding: 0 1;
        border: round $primary;
        border-title-style: bold;
        background: $surface;

        &.-low {
            height: 100%;
        }
        &.-low > * {
            margin: 0 !important;
        }
    }
    """

    _keys = ""

    def name_keys(self, keys: str) -> None:
        """Name keys in the lower border, as `{jobs_stop=s} stops it · esc closes`; where there is too little
        room for all, the first ones.
        """
        self._keys = keys
        if self.is_mounted:
            self._show_keys()

    def on_mount(self) -> None:
        """Go by the lines there are before anything is laid out."""
        self._fit_to_screen()

    def on_resize(self) -> None:
        """Go by the room there is now."""
        self._fit_to_screen()

    def _fit_to_screen(self) -> None:
        self.set_class(self.app.size.height < _LOW, "-low")
        self._show_keys()

    def _show_keys(self) -> None:
        room = self.size.width or self.app.size.width
        first, *others = fill_in_keys(self._keys, self.app).split(_BETWEEN_KEYS)
        shown = first
        for hint in others:
            if cell_len(longer := f"{shown}{_BETWEEN_KEYS}{hint}") > room:
                break
            shown = longer
        self.border_subtitle = Content(shown)


class LineInput(Input):
    """One line to type in, whose own keys act at once.

    Its cursor keeps still: a blinking one would wake an idle program twice a second.
    """

    def __init__(
        self, value: str = "", *, placeholder: str = "", id: str | None = None, select_on_focus: bool = True
    ) -> None:
        super().__init__(value, placeholder=placeholder, id=id, compact=True, select_on_focus=select_on_focus)
        self.cursor_blink = False

    def focus(self, scroll_visible: bool = True) -> Self:
        """Take the focus at once, not when the app gets to it: what is typed next is meant for it."""
        self.screen.set_focus(self, scroll_visible)
        return self

    async def _on_key(self, event: events.Key) -> None:
        event.prevent_default()
        if await run_binding_around(self, event):
            event.stop()
        else:
            await super()._on_key(event)


class QueryInput(LineInput):
    """What is searched for, above what fits it."""

    DEFAULT_CSS = """
    QueryInput {
        border: none;
        height: 1;
        padding: 0;
        margin-bottom: 1;
        background: $surface;
    }
    """


class MarkedOptions(OptionList):
    """Options whose marked one has a sign before it: no terminal without colours shows which one it is else.

    Each option begins with a blank, in whose place the sign is.
    """

    def render_line(self, y: int) -> Strip:
        """Draw the sign where the marked option begins."""
        strip = super().render_line(y)
        line = self.scroll_offset.y + y
        if self.highlighted is None or line >= len(self._lines) or self._lines[line] != (self.highlighted, 0):
            return strip
        first, *_ = strip.crop(0, 1)
        return Strip.join([Strip([Segment(_SIGN, first.style)]), strip.crop(1)]) if first.text == " " else strip


class ChoiceList(MarkedOptions, can_focus=False):
    """What there is to choose from. The keys are those of the screen: of what is typed there."""

    DEFAULT_CSS = """
    ChoiceList {
        height: 1fr;
        border: none;
        padding: 0;
        background: $surface;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        scrollbar-size-vertical: 1;
        scrollbar-background: $surface;
    }
    """

    def __init__(self) -> None:
        super().__init__(markup=False, compact=True)

    def move(self, how: str) -> None:
        """Mark another choice: the one "up" or "down", or that a "page_up" or "page_down"."""
        getattr(self, f"action_{ {'up': 'cursor_up', 'down': 'cursor_down'}.get(how, how) }")()
