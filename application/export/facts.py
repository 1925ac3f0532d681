"""The facts at the head of an exported session: its folder, model, dates and totals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from quorum.application.export.wording import format_cost, format_time, format_usage
from quorum.domain.conversation.cost import Spending
from quorum.domain.events.event import SessionResumed, SessionStarted, SubagentStarted, UsageCounted
from quorum.domain.sessions.past_session import LedgerRecord, SessionSummary
from quorum.domain.text.amounts import format_amount


def list_facts(summary: SessionSummary, records: Sequence[LedgerRecord]) -> Iterator[tuple[str, str]]:
    """Label and value of each fact, as the records have it."""
    events = [record.event for record in records]
    opened = next((event for event in events if isinstance(event, SessionStarted | SessionResumed)), None)
    counted = [event for event in events if isinstance(event, UsageCounted)]
    spent = reduce(lambda spent, event: spent.with_request(event.usage, event.cost_usd), counted, Spending())
    yield "Session", summary.id
    if summary.parent is not None:
        yield "Copied from", summary.parent
    if summary.owner is not None:
        yield "A task of", summary.owner
    if subagents := [event.subagent_id for event in events if isinstance(event, SubagentStarted)]:
        yield "Its tasks", ", ".join(subagents)
    yield "Folder", summary.cwd
    yield "Model", summary.model
    if opened is not None:
        yield "Mode at the start", opened.mode.value
    yield "Began", format_time(summary.started_ms)
    yield "Last used", format_time(summary.updated_ms)
    yield "Turns", f"{summary.turns:,}"
    yield "Tokens", format_usage(spent.usage)
    yield "Cost", format_cost(spent.priced_usd, complete=not spent.has_unpriced)
    yield "Records", _format_records(records)


def _format_records(records: Sequence[LedgerRecord]) -> str:
    redacted = sum(record.redacted for record in records)
    unread = sum(record.event is None for record in records)
    text = format_amount(len(records), "record")
    if redacted:
        text += f", something was taken out of {redacted:,}"
    return f"{text}, {unread:,} cannot be understood" if unread else text
