"""The screen of `/cost`: what each turn and the whole session used and cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from quorum.application.view.present import Book
from quorum.domain.conversation.cost import CapStanding, Spending
from quorum.domain.text.amounts import format_amount, format_tokens
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.accounts.sheet import AccountSheet
from quorum.tui.screens.accounts.spending import format_cost, render_spending

_COLUMNS = ("in", "out", "cache read", "cache write", "reasoning", "cost")
_WIDTHS = (7, 7, 7, 7, 10, 11)
_FIRST_TO_GO = (4, 3, 2)
"""The columns that a narrow window does without, in this order."""
_TURN_CELLS, _MODEL_CELLS = 4, 20


class CostScreen(AccountSheet):
    """Shows what a book holds at this moment, and how far each spend cap is used up."""

    HEADING = "Tokens and cost"

    def __init__(self, book: Book, caps: Sequence[CapStanding] = ()) -> None:
        super().__init__()
        self._book = book
        self._caps = tuple(caps)

    def build_lines(self, width: int) -> Iterator[Content]:
        """The spend caps, the session and its turns."""
        if self._caps:
            yield Content("Caps").stylize("bold $text-accent")
            for standing in self._caps:
                cap = standing.cap
                used = f"{cap.render(standing.spent)} of {cap.render(standing.limit)}"
                yield Content(f"    agent.{cap}  {used}")
            yield Content("")
        models = self._book.group_by_model()
        if not models:
            yield Content("Nothing was used yet.")
            return
        columns = _choose_columns(width)
        yield _render_headings(columns)
        yield Content("Session").stylize("bold $text-accent")
        yield from (_render_row(columns, "", model, spending) for model, spending in models.items())
        if len(models) > 1:
            yield _render_row(columns, "", "all", self._book.total).stylize("bold")
        yield Content("")
        yield Content("Turns").stylize("bold $text-accent")
        yield from (
            _render_row(columns, str(turn), model, spending)
            for turn, model, spending in self._book.list_by_turn()
        )
        if self._book.spared_votes:
            yield Content("")
            yield Content("Spared by escalation").stylize("bold $text-accent")
            yield Content(f"    {_describe_spared(self._book)}")
        if self._book.total.by_plan and self._book.total.priced_usd is not None:
            yield Content("")
            yield Content("What is paid by plan is in no other cost.").stylize("dim")
        if unpriced := [model for model, spending in models.items() if spending.has_unpriced]:
            names = ", ".join(make_printable(model, newlines=False) for model in unpriced)
            yield Content("")
            advice = f"No price is known for {names}: set one under [prices] in quorum.toml."
            yield Content(advice).stylize("dim")


def _describe_spared(book: Book) -> str:
    """The votes that were not asked for, and about what they would have used."""
    used = render_spending(book.spared)
    return f"{format_amount(book.spared_votes, 'vote')} not asked for{f', about {used}' if used else ''}"


def _choose_columns(width: int) -> list[int]:
    """Those that fit beside the turn and the model, by their places."""
    shown = list(range(len(_COLUMNS)))
    for place in _FIRST_TO_GO:
        if _TURN_CELLS + _MODEL_CELLS + sum(_WIDTHS[n] for n in shown) > width:
            shown.remove(place)
    return shown


def _render_headings(columns: list[int]) -> Content:
    above = [first if second else "" for first, _, second in (name.partition(" ") for name in _COLUMNS)]
    below = [name.rpartition(" ")[2] for name in _COLUMNS]
    return (
        Content("\n")
        .join(
            [_render_line(columns, "", "", cells) for cells in (above, below) if any(cells[n] for n in columns)]
        )
        .stylize("dim")
    )


def _render_row(columns: list[int], turn: str, model: str, spending: Spending) -> Content:
    usage = spending.usage
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning)
    cost = format_cost(spending) or ("no price" if spending.has_unpriced else "")
    return _render_line(
        columns,
        turn,
        make_printable(model, newlines=False),
        [*(format_tokens(n) if n else "·" for n in counts), cost],
    )


def _render_line(columns: list[int], turn: str, model: str, cells: list[str]) -> Content:
    name = Content(model)
    if name.cell_length > _MODEL_CELLS and "/" in model:  # the model's own name tells more than its provider's
        name = Content(model.partition("/")[2])
    name = name.truncate(_MODEL_CELLS, ellipsis=True)
    numbers = "".join(f"{cells[n]:>{_WIDTHS[n]}}" for n in columns)
    return (
        Content(f"{turn:>{_TURN_CELLS - 1}} ")
        + name
        + Content(" " * (_MODEL_CELLS - name.cell_length) + numbers)
    )
