"""What dialogs are made of: the frame, a line to type in, the line that filters a list, and the list.

Screens close once, and no other than themselves; a transparent one draws what shows through it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self, TypeVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual._context import visible_screen_stack
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Offset, Region
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static

from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyed_app import choose_sign, fill_in_keys
from quorum.tui.keys.line_fields import run_binding_around


class ClosesItself:
    """A screen that can be closed at any time, also twice and also while another covers it."""

    _closes_in_sight: tuple[Any] | None = None

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Close, if it is on top: Textual would close what is on top instead.

        In a tab behind it closes when it is on top there again; covered in the one in front it stays.
        """
        assert isinstance(self, Screen)
        if self.app.screen is self:
            return Screen.dismiss(self, result)
        behind = (stack for stack in self.app._screen_stacks.values() if self.app.screen not in stack)
        if any(self in stack for stack in behind):
            self._closes_in_sight = (result,)
        return AwaitComplete()

    def on_screen_resume(self) -> None:
        """Come into sight: close, if that was to be."""
        if self._closes_in_sight is not None:
            (result,), self._closes_in_sight = self._closes_in_sight, None
            self.dismiss(result)


class DrawnOnce(Screen[None]):
    """While an app starts, Textual draws each layout and throws it away; what is seen first are the parts that
    changed after the last of them."""

    def _compositor_refresh(self) -> None:
        """Draw nothing that would not be shown; all of it is still to be drawn then."""
        if not self.app._batch_count:
            super()._compositor_refresh()


_Result = TypeVar("_Result")


class SeeThroughScreen(ModalScreen[_Result]):
    """A dialog with a transparent ground. It draws of the screen behind it the lines that are in sight.

    Textual's own way draws all of them whenever one has changed, and sends each through a console of Rich.
    """

    cover: Widget | None = None
    """A child as wide as the screen, through which nothing is to be seen."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """These lines of the screen behind, without what could be clicked in them."""
        try:
            compositor = visible_screen_stack.get().pop()._compositor
        except LookupError:  # none is drawn behind it
            return super().render_lines(crop)
        covered = range(self.cover.region.y, self.cover.region.bottom) if self.cover is not None else ()
        chops = compositor._render_chops(crop, lambda y: y not in covered)
        blank = Strip.blank(crop.width, self.rich_style)
        return [
            blank if y in covered or y >= len(chops) else self._crop_line(chops[y].values(), crop)
            for y in crop.line_range
        ]

    def _crop_line(self, chops: Iterable[Strip | None], crop: Region) -> Strip:
        """A line as wide as the crop: the screen behind may have the size of a moment ago."""
        drawn = Strip.join(chop for chop in chops if chop is not None)
        return drawn.crop(*crop.column_span).discard_meta().adjust_cell_length(crop.width, self.rich_style)


_SIGN = "›"
_BETWEEN_KEYS = " · "


_LOW = 20
"""The height of a screen, in cells, below which lines are for what is listed."""


def fit_keys(keys: str, app: App[object], room: int) -> str:
    """The first of the keys that a line names, as many as it has room for."""
    shown, *others = fill_in_keys(keys, app).split(_BETWEEN_KEYS)
    for hint in others:
        if cell_len(longer := f"{shown}{_BETWEEN_KEYS}{hint}") > room:
            break
        shown = longer
    return shown


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
        border-title-color: $text-primary;
        border-subtitle-color: $text-primary;
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
        self.border_subtitle = Content(fit_keys(self._keys, self.app, self.size.width or self.app.size.width))


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


class NoteLines(Static):
    """Lines below what a dialog lists, which take no room while there is nothing to say."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, markup=False)
        self.display = False

    def tell(self, text: str) -> None:
        """Say this; nothing where it is empty."""
        self.update(Content(make_printable(text)))
        self.display = bool(text)


class MarkedOptions(OptionList):
    """Options whose marked one has a sign before it: no terminal without colours shows which one it is else.

    Each option begins with a blank, in whose place the sign is.
    """

    @property
    def marked_offset(self) -> Offset:
        """Where the marked option begins."""
        marked = (self.highlighted, 0)
        return Offset(0, self._lines.index(marked) - self.scroll_offset.y if marked in self._lines else 0)

    def watch_highlighted(self, highlighted: int | None) -> None:
        """The cursor of a screen reader goes where the mark is."""
        super().watch_highlighted(highlighted)
        if self.has_focus:
            self.app.post_message(events.DescendantFocus(self))

    def render_line(self, y: int) -> Strip:
        """Draw the sign where the marked option begins."""
        strip = super().render_line(y)
        line = self.scroll_offset.y + y
        if self.highlighted is None or line >= len(self._lines) or self._lines[line] != (self.highlighted, 0):
            return strip
        first, *_ = strip.crop(0, 1)
        sign = choose_sign(self.app, _SIGN, " ")
        return Strip.join([Strip([Segment(sign, first.style)]), strip.crop(1)]) if first.text == " " else strip


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
        self.app.post_message(events.DescendantFocus(self))  # a reader's cursor goes where the mark is
