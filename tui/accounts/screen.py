"""The screen of `/cost`: what each turn and the whole session used and cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from domain.cost import Spending
from tui.accounts.book import Book, cost_of, tokens
from tui.closing import ClosesItself
from tui.transcript.printable import printable

_COLUMNS = ("in", "out", "cache read", "cache write", "reasoning", "cost")
_WIDTHS = (7, 7, 7, 7, 10, 11)
_MODEL_CELLS = 20


class CostScreen(ClosesItself, ModalScreen[None]):
    """Shows what a book holds at this moment; Esc or q closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Close")]
    DEFAULT_CSS = """
    CostScreen {
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

    def __init__(self, book: Book) -> None:
        super().__init__()
        self._book = book

    def compose(self) -> ComposeResult:
        """The session first, then its turns."""
        with VerticalScroll() as scroll:
            scroll.border_title = Content("Tokens and cost")
            scroll.border_subtitle = Content("esc closes · ↑↓ scroll")
            yield Static(Content("\n").join(self._lines()))

    def _lines(self) -> Iterator[Content]:
        models = self._book.by_model()
        if not models:
            yield Content("Nothing was used yet.")
            return
        yield _headings()
        yield Content("Session").stylize("bold $text-accent")
        yield from (_row("", model, spending) for model, spending in models.items())
        if len(models) > 1:
            yield _row("", "all", self._book.total).stylize("bold")
        yield Content("")
        yield Content("Turns").stylize("bold $text-accent")
        yield from (_row(str(turn), model, spending) for turn, model, spending in self._book.by_turn())
        if unpriced := [model for model, spending in models.items() if spending.has_unpriced]:
            names = ", ".join(printable(model, newlines=False) for model in unpriced)
            yield Content("")
            advice = f"No price is known for {names}: set one under [prices] in quorum.toml."
            yield Content(advice).stylize("dim")


def _headings() -> Content:
    above = [first if second else "" for first, _, second in (name.partition(" ") for name in _COLUMNS)]
    below = [name.rpartition(" ")[2] for name in _COLUMNS]
    return Content("\n").join([_line("", "", above), _line("", "", below)]).stylize("dim")


def _row(turn: str, model: str, spending: Spending) -> Content:
    usage = spending.usage
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning)
    cost = cost_of(spending) or ("no price" if spending.has_unpriced else "")
    return _line(turn, printable(model, newlines=False), [*(tokens(n) if n else "·" for n in counts), cost])


def _line(turn: str, model: str, cells: list[str]) -> Content:
    name = Content(model)
    if name.cell_length > _MODEL_CELLS and "/" in model:  # the model's own name tells more than its provider's
        name = Content(model.partition("/")[2])
    name = name.truncate(_MODEL_CELLS, ellipsis=True)
    columns = "".join(f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
    return Content(f"{turn:>3} ") + name + Content(" " * (_MODEL_CELLS - name.cell_length) + columns)
