"""A screen of lines about what a session uses, which only scroll."""

from __future__ import annotations

import textwrap
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyed_app import fill_in_keys
from quorum.tui.widgets.dialog_parts import ClosesItself

CELLS = 73
"""The widest a line may be: that of a window of 80 columns."""
_FRAME_CELLS = 5  # the border, a blank on each side, a scroll bar


def wrap_text(text: str, width: int, *, longest: int = 500) -> Iterator[Content]:
    """The first characters of a text, on lines that are indented and fit into the width."""
    shown = make_printable(" ".join(text[:longest].split()), newlines=False)
    for line in textwrap.wrap(shown, max(20, width - 3)):
        yield Content(f"  {line}")


class AccountSheet(ClosesItself, ModalScreen[None]):
    """Shows what there is to say at this moment; Esc or q closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Close", id="account_close")]
    DEFAULT_CSS = """
    AccountSheet {
        align: center middle;
        VerticalScroll {
            width: 78;
            max-width: 100%;
            height: auto;
            max-height: 90%;
            padding: 0 1;
            border: round $primary;
            border-title-style: bold;
            background: $surface;
            scrollbar-size-vertical: 1;
            scrollbar-background: $surface;
        }
        Static { width: 100%; }
    }
    """

    HEADING: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self._text = Static()  # the sheet may be told its size before this is there, and after it has gone

    def compose(self) -> ComposeResult:
        with VerticalScroll() as scroll:
            scroll.border_title = Content(self.HEADING)
            scroll.border_subtitle = Content(fill_in_keys("esc closes · ↑↓ scroll", self.app))
            yield self._text

    def on_resize(self) -> None:
        """Say it in the width there is now."""
        self.show_lines()

    def show_lines(self) -> None:
        """Say what there is to say now."""
        width = min(CELLS, self.app.size.width - _FRAME_CELLS)
        self._text.update(Content("\n").join(self.build_lines(width)))

    @abstractmethod
    def build_lines(self, width: int) -> Iterable[Content]:
        """What there is to say. What stands in columns is at most `width` cells wide."""
