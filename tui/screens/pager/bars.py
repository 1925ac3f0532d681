"""The two bars of a pager: what is read and where, and what can be done."""

from __future__ import annotations

from collections.abc import Callable

from textual.content import Content

from domain.text.printable import printable
from tui.keys.hints import with_usual_keys

_HINTS = (
    "{pager_search=/} search",
    "{pager_line=g} line",
    "{pager_close=q} closes",
    "{pager_start=home} {pager_end=end}",
    "{pager_left=←} {pager_right=→} sideways",
)
_HINTS_FOUND = ("{pager_next=n} next", "{pager_previous=N} before", *_HINTS)


def heading(name: str, size: str, place: tuple[int, int, int, bool], width: int) -> Content:
    """Name on the left, which lines of how many on the right.

    `place` is the first line in sight (from 0), the one after the last, how many are known, and whether those
    are all.
    """
    right = Content(f"{_lines(*place)} · {size} ")
    left = Content.assemble(" ", (printable(name, newlines=False), "bold"))
    room = width - right.cell_length - 2
    left = left.truncate(max(room, 0), ellipsis=True)
    gap = width - left.cell_length - right.cell_length
    return left + Content(" " * max(gap, 0)) + right.stylize("dim")


def _lines(first: int, after: int, known: int, complete: bool) -> str:
    if after == first:
        return "empty" if complete else "reading…"
    of = f"of {known:,}" if complete else f"of more than {max(known, after):,}"
    share = f" · {after * 100 // known} %" if complete else ""
    return f"lines {first + 1:,}–{after:,} {of}{share}"


def footing(
    doing: str, remark: str, needle: str, width: int, named: Callable[[str], str] = with_usual_keys
) -> Content:
    """What is being done, or what there is to say, or the keys as they are `named`, as many as fit."""
    if doing:
        return Content.assemble(" ", (printable(doing, newlines=False), "bold $text-accent"), " · esc stops")
    line = Content(" ")
    hints = [Content(named(hint)) for hint in (_HINTS_FOUND if needle else _HINTS)]
    if remark:
        hints = [Content(printable(remark, newlines=False)).stylize("bold $text-warning"), *hints]
    for number, hint in enumerate(hints):
        longer = line + (Content(" · ") if number else Content("")) + hint
        if longer.cell_length > width and number:
            break
        line = longer
    return line
