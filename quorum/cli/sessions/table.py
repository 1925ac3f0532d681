"""Sessions as lines of a table that fits the width of the terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from decimal import Decimal

from quorum.domain.sessions.session_summary import SessionSummary
from quorum.domain.subagent_task import compute_id_length
from quorum.domain.text.amounts import format_age
from quorum.domain.text.printable import make_printable
from quorum.text_table import Column, render_text_table

_NARROWEST_TITLE = 10


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
    columns: tuple[Column[SessionSummary], ...] = (
        Column("ID", lambda each: make_printable(each.id[:length], newlines=False)),
        Column("LAST USED", lambda each: format_age(each.updated_ms, now_ms), is_number=True),
        Column("TURNS", lambda each: f"{each.turns:,}", is_number=True),
        Column("COST", _render_cost, is_number=True),
        Column("TITLE", lambda each: _render_title(each, folders=folders)),
    )
    return render_text_table(columns, sessions, width=width, narrowest=_NARROWEST_TITLE)


def print_table(
    sessions: Sequence[SessionSummary], among: Sequence[SessionSummary], *, width: int | None, folders: bool
) -> None:
    """Print such a table as of now."""
    now_ms = time.time_ns() // 1_000_000
    print("\n".join(render_table(sessions, among=among, now_ms=now_ms, width=width, folders=folders)))


def _render_title(session: SessionSummary, *, folders: bool) -> str:
    in_use = "" if session.open_in is None else f"[in use by {session.holder}] "
    folder = f"{session.cwd} · " if folders else ""
    return make_printable(f"{in_use}{folder}{session.title or '(no prompt yet)'}", newlines=False)


def _render_cost(session: SessionSummary) -> str:
    cost = session.cost_usd
    if cost is None:
        return ""
    return "<$0.01" if 0 < cost < Decimal("0.005") else f"${cost:,.2f}"
