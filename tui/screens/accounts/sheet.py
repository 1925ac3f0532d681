"""A screen of lines about what a session uses, which only scroll. How amounts of what was used are written."""

from __future__ import annotations

import textwrap
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from quorum.domain.conversation.cost import Spending
from quorum.domain.text.amounts import format_tokens
from quorum.domain.text.printable import make_printable
from quorum.tui.widgets.dialog_parts import ClosesItself

_CENT = Decimal("0.01")


def render_spending(spending: Spending) -> str:
    """One phrase for a status bar: `12.3k in · 1.2k out · $0.04`; empty where nothing was used."""
    usage = spending.usage
    came_in = usage.input + usage.cache_read + usage.cache_write
    if not came_in and not usage.output:
        return ""
    parts = [f"{format_tokens(came_in)} in", f"{format_tokens(usage.output)} out", format_cost(spending)]
    return " · ".join(part for part in parts if part)


def format_cost(spending: Spending) -> str:
    """What is known to have been spent, as `$0.04`; `≥ $0.04` where part of it has no known price."""
    if spending.priced_usd is None:
        return ""
    return f"{'≥ ' if spending.has_unpriced else ''}{format_dollars(spending.priced_usd)}"


def format_dollars(amount: Decimal) -> str:
    """An amount to the cent; one below a cent to two digits that count."""
    if amount == 0 or amount >= _CENT:
        return f"${amount:,.2f}"
    places = -amount.adjusted() + 1
    return f"${amount:.{places}f}"


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

    def compose(self) -> ComposeResult:
        with VerticalScroll() as scroll:
            scroll.border_title = Content(self.HEADING)
            scroll.border_subtitle = Content("esc closes · ↑↓ scroll")
            yield Static()

    def on_resize(self, event: events.Resize) -> None:
        """Say it in the width there is now."""
        self.show_lines()

    def show_lines(self) -> None:
        """Say what there is to say now."""
        width = min(CELLS, self.app.size.width - _FRAME_CELLS)
        self.query_one(Static).update(Content("\n").join(self.build_lines(width)))

    @abstractmethod
    def build_lines(self, width: int) -> Iterable[Content]:
        """What there is to say. What stands in columns is at most `width` cells wide."""
