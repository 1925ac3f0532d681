"""What recorded requests used, added up by model, by day and by project."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field

from quorum.domain.conversation.cost import Spending
from quorum.domain.events.event import UsageCounted
from quorum.domain.replacing import replace
from quorum.domain.sessions.session_summary import LedgerRecord, SessionSummary


class CountedRequest(Struct, frozen=True, kw_only=True):
    """One request: in which folder, when in milliseconds since 1970, and what it used."""

    cwd: str
    at_ms: int
    counted: UsageCounted


class UsageRow(Struct, frozen=True, kw_only=True):
    """All requests of one model, day or project."""

    name: str
    requests: int = 0
    spending: Spending = field(default_factory=Spending)


def list_requests(
    sessions: Iterable[SessionSummary], records: Mapping[str, Sequence[LedgerRecord]]
) -> list[CountedRequest]:
    """Every request once. A copy of a session has what it took over at the same place and time; that is its own
    only where no other session has it any more."""
    listed: list[CountedRequest] = []
    seen: set[tuple[int, int, UsageCounted]] = set()
    for session in sorted(sessions, key=lambda session: session.parent is not None):
        for record in records.get(session.id, ()):
            if not isinstance(record.event, UsageCounted):
                continue
            place = (record.seq, record.at_ms, record.event)
            if session.parent is None or place not in seen:
                listed.append(CountedRequest(cwd=session.cwd, at_ms=record.at_ms, counted=record.event))
            seen.add(place)
    return listed


def add_up(requests: Iterable[CountedRequest], name: Callable[[CountedRequest], str]) -> list[UsageRow]:
    """A row for each name that `name` gives requests, in the order of the names."""
    rows: dict[str, UsageRow] = {}
    for request in requests:
        row = rows.get(key := name(request)) or UsageRow(name=key)
        rows[key] = replace(row, requests=row.requests + 1, spending=request.counted.add_to(row.spending))
    return [rows[key] for key in sorted(rows)]


def name_day(request: CountedRequest) -> str:
    """The day of a request where this process is, as 2026-01-31."""
    return datetime.fromtimestamp(request.at_ms / 1000).astimezone().date().isoformat()
