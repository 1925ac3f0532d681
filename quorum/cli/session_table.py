"""Sessions as lines of a table that fits the width of the terminal."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

from domain.sessions.past_session import SessionSummary
from domain.text.ages import format_age
from domain.text.printable import make_printable

_SHORTEST_ID = 8
_NARROWEST_TITLE = 10
_GAP = "  "


def render_table(
    sessions: Sequence[SessionSummary],
    *,
    among: Sequence[SessionSummary],
    now_ms: int,
    width: int | None,
    folders: bool = False,
) -> list[str]:
    """One line for each session under a line of headings. `width` in cells; None: nothing is cut.

    Ids are as long as it takes to tell them apart from all sessions there are (`among`).
    """
    length = compute_id_length([each.id for each in among])
    rows = [("ID", "LAST USED", "TURNS", "COST", "TITLE")]
    rows += [_render_row(each, length, now_ms, folders=folders) for each in sessions]
    widths = [max(measure_text_cells(row[column]) for row in rows) for column in range(4)]
    taken = sum(widths) + 4 * len(_GAP)
    room = None if width is None else max(width - taken, _NARROWEST_TITLE)
    lines = []
    for name, age, turns, cost, title in rows:
        front = (name.ljust(widths[0]), age.rjust(widths[1]), turns.rjust(widths[2]), cost.rjust(widths[3]))
        lines.append(_GAP.join((*front, title if room is None else fit_text(title, room))).rstrip())
    return lines


def print_table(
    sessions: Sequence[SessionSummary], among: Sequence[SessionSummary], *, width: int | None, folders: bool
) -> None:
    """Print such a table as of now."""
    now_ms = time.time_ns() // 1_000_000
    print("\n".join(render_table(sessions, among=among, now_ms=now_ms, width=width, folders=folders)))


def compute_id_length(ids: Sequence[str]) -> int:
    """How many letters of these ids tell each from every other."""
    shared = (_count_shared(one, other) for one, other in pairwise(sorted(set(ids))))
    return max(_SHORTEST_ID, 1 + max(shared, default=0))


def _count_shared(one: str, other: str) -> int:
    """How many letters two texts begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def fit_text(text: str, width: int) -> str:
    """The text, or as much of it as fits into `width` cells with an ellipsis at its end."""
    if measure_text_cells(text) <= width:
        return text
    kept, room = "", width - 1
    for char in text:
        room -= _measure_cells(char)
        if room < 0:
            break
        kept += char
    return kept.rstrip() + "…"


def measure_text_cells(text: str) -> int:
    """How many cells of a terminal a text without controls takes."""
    return len(text) if text.isascii() else sum(map(_measure_cells, text))


def _measure_cells(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _render_row(
    session: SessionSummary, length: int, now_ms: int, *, folders: bool
) -> tuple[str, str, str, str, str]:
    cost = "" if session.cost_usd is None else _render_money(session.cost_usd)
    in_use = "" if session.open_in is None else f"[in use by {session.holder}] "
    folder = f"{session.cwd} · " if folders else ""
    title = make_printable(f"{in_use}{folder}{session.title or '(no prompt yet)'}", newlines=False)
    return (
        make_printable(session.id[:length], newlines=False),
        format_age(session.updated_ms, now_ms),
        f"{session.turns:,}",
        cost,
        title,
    )


def _render_money(cost: Decimal) -> str:
    return "<$0.01" if 0 < cost < Decimal("0.005") else f"${cost:,.2f}"
