"""The sessions of a fleet as a table, as JSON, and with what came of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from quorum.domain.events.event import TurnFinished
from quorum.domain.fleet_session import FleetSession, FleetState
from quorum.domain.sessions.past_session import LedgerRecord
from quorum.domain.text.amounts import format_wait
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable
from quorum.text_table import Column, render_text_table

_NARROWEST = 20
_ID_LENGTHS = (13, 18, 23)
"""Of the first two, three and four groups of a UUID; the first two are its time."""


def render_fleet(
    sessions: Sequence[FleetSession], mask: Callable[[str], str], *, now_ms: int, width: int | None
) -> list[str]:
    """One line for each session under a line of headings, and how many are in which state.

    `width` in cells, of a terminal: names are cut, and ids are shortened as far as their beginnings differ.
    None: nothing is.
    """
    length = None if width is None else _choose_id_length(sessions)
    columns: tuple[Column[FleetSession], ...] = (
        Column("SESSION", lambda session: session.session_id[:length]),
        Column("STATE", _describe_state),
        Column("SINCE", lambda session: format_wait(session.updated_ms, now_ms)),
        Column("NAME", lambda session: make_printable(mask(_describe(session)), newlines=False)),
    )
    lines = render_text_table(columns, sessions, width=width, narrowest=_NARROWEST)
    return [*lines, summarise_fleet(sessions)]


def summarise_fleet(sessions: Sequence[FleetSession]) -> str:
    """How many sessions have ended, and how many are in each state, in words."""
    if not sessions:
        return "no session was submitted"
    counted = Counter(session.state for session in sessions)
    named = [f"{counted[state]} {state}" for state in FleetState if counted[state]]
    ended = sum(session.state.is_final for session in sessions)
    return f"{ended} of {len(sessions)} have ended ({100 * ended // len(sessions)} %): {', '.join(named)}"


def _choose_id_length(sessions: Sequence[FleetSession]) -> int | None:
    """How many letters tell the ids apart, in whole groups of them; None: all are needed."""
    for length in _ID_LENGTHS:
        if len({session.session_id[:length] for session in sessions}) == len(sessions):
            return length
    return None


def encode_session(session: FleetSession, mask: Callable[[str], str]) -> JsonObject:
    """A session for scripts."""
    return {
        "session": session.session_id,
        "name": mask(session.name),
        "cwd": mask(session.cwd),
        "state": session.state.value,
        "status": session.advance.status,
        "error": mask(session.advance.error),
        "submitted_by": session.submitted_by,
        "submitted_ms": session.submitted_ms,
        "updated_ms": session.updated_ms,
    }


def encode_result(
    session: FleetSession, records: Sequence[LedgerRecord], mask: Callable[[str], str]
) -> JsonObject:
    """How the last turn of a session ended, as its record says."""
    head: JsonObject = {
        "name": mask(session.name),
        "state": session.state.value,
        "error": mask(session.advance.error),
    }
    ends = [record.event for record in records if isinstance(record.event, TurnFinished)]
    if not ends:
        return {**head, "session_id": session.session_id, "status": session.advance.status or "failed"}
    # A report has an error of its own where the turn failed.
    return {**head, **(ends[-1].report).to_json()}


def _describe_state(session: FleetSession) -> str:
    if session.state is FleetState.ENDED and session.advance.status:
        return session.advance.status.replace("_", " ")
    return session.state.value


def _describe(session: FleetSession) -> str:
    name = session.name or session.prompt or session.cwd
    return f"{name}: {session.advance.error}" if session.advance.error else name
