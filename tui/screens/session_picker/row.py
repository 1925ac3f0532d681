"""A session on one line, and what else there is to say about it."""

from __future__ import annotations

from textual.content import Content

from quorum.domain.sessions.past_session import SessionSummary
from quorum.domain.text.ages import format_age, shorten_home
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.accounts.spending import format_dollars

_QUIET = "$foreground 60%"
# Each with two blanks before the longest: "1,234 turns", "$0.00041", "59 min ago".
_TURNS, _COST, _AGE = 13, 10, 12
_FOLDER_SHARE = 0.24
_LEAST_TITLE = 20


def render_row(
    session: SessionSummary,
    width: int,
    now_ms: int,
    *,
    is_here: bool,
    everywhere: bool,
    has_costs: bool = True,
) -> Content:
    """Title, folder where all are shown, turns, cost, and when it was used last; `•`: one of this folder.

    Without `has_costs` no session has a cost, and none has room for it. Where the title would have too little
    room, there is no cost, and if need be no number of turns.
    """
    folder_room = int(width * _FOLDER_SHARE) if everywhere else 0
    columns = {"turns": _TURNS, "cost": _COST if has_costs else 0}
    title_room = width - folder_room - sum(columns.values()) - _AGE - 2
    for name in ("cost", "turns"):  # what tells sessions apart least makes room for what does most
        if title_room < _LEAST_TITLE:
            title_room += columns.pop(name)
    title_room = max(0, title_room)
    sign = "• " if everywhere and is_here else "  "
    title = _fit(make_printable(session.title, newlines=False) or "(no prompt yet)", title_room)
    place = _fit_right(make_printable(shorten_home(session.cwd), newlines=False), folder_room)
    cost = format_dollars(session.cost_usd) if session.cost_usd is not None else ""
    texts = {"turns": format_amount(session.turns, "turn"), "cost": cost}
    counts = "".join(f"{texts[name]:>{cells}}" for name, cells in columns.items())
    if session.open_in is not None:
        when = Content(f"{'open now':>{_AGE}}").stylize("bold $text-warning")
    else:
        when = Content(f"{format_age(session.updated_ms, now_ms):>{_AGE}}").stylize(_QUIET)
    return Content.assemble((sign, "$text-accent"), title, place.stylize(_QUIET), (counts, _QUIET), when)


def describe_session(session: SessionSummary, now_ms: int, *, is_here: bool, present: str) -> str:
    """Model, beginning, id and folder, and what opening it comes to where that is not plain."""
    facts = [
        session.model,
        f"begun {format_age(session.started_ms, now_ms)}",
        session.id,
        shorten_home(session.cwd),
    ]
    return "\n".join((" · ".join(facts), _describe_consequence(session, is_here=is_here, present=present)))


def _describe_consequence(session: SessionSummary, *, is_here: bool, present: str) -> str:
    if session.id == present:
        return "this is the session you are in"
    if session.open_in is not None:
        return f"open in {session.holder}: here it can be read and forked"
    return "" if is_here else "of another folder: it continues in this one"


def _fit(text: str, room: int) -> Content:
    content = Content(text).truncate(room, ellipsis=True)
    return content + " " * (room - content.cell_length)


def _fit_right(text: str, room: int) -> Content:
    """What names a folder best is its end."""
    content = Content(text)
    while text and content.cell_length > room - 2:
        text = text[1:]
        content = Content("…" + text)
    return Content(" " * (room - content.cell_length)) + content if room else Content("")
