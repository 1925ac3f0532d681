"""What recorded requests used: each counted once, by model, day and project."""

from __future__ import annotations

from decimal import Decimal

from quorum.domain.conversation.response import Usage
from quorum.domain.events.event import UsageCounted
from quorum.domain.replacing import replace
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.sessions.usage_account import add_up, list_requests, name_day
from tests.support.past_sessions import a_summary

HOUR_MS = 3_600_000


def used(seq: int, model: str, cost: str | None, *, at_ms: int = HOUR_MS) -> LedgerRecord:
    event = UsageCounted(
        model=model, usage=Usage(input=10, output=seq), cost_usd=None if cost is None else Decimal(cost)
    )
    return LedgerRecord(seq=seq, at_ms=at_ms, event=event)


def test_requests_are_added_up_by_name_and_unknown_prices_are_told() -> None:
    session = a_summary()
    records = {session.id: [used(1, "p/a", "0.5"), used(2, "p/b", None), used(3, "p/a", "0.25")]}
    one, other = add_up(list_requests([session], records), lambda each: each.counted.model)

    assert (one.name, one.requests, one.spending.priced_usd) == ("p/a", 2, Decimal("0.75"))
    assert one.spending.usage == Usage(input=20, output=4)
    assert (other.name, other.spending.has_unpriced) == ("p/b", True)


def test_what_a_copy_took_over_counts_once_and_is_its_own_where_the_first_one_is_gone() -> None:
    first = a_summary()
    copy = replace(first, id="copy", parent=first.id)
    begun = [used(1, "p/a", "1")]
    records = {first.id: begun, "copy": [*begun, used(2, "p/a", "1", at_ms=2 * HOUR_MS)]}

    assert len(list_requests([first, copy], records)) == 2
    assert len(list_requests([copy], {"copy": records["copy"]})) == 2


def test_what_several_copies_took_over_from_a_session_that_is_gone_counts_once() -> None:
    gone = a_summary()
    begun = [used(1, "p/a", "1")]
    one, other = (replace(gone, id=name, parent=gone.id) for name in ("one", "other"))
    copy_of_copy = replace(gone, id="copy", parent="gone, too")
    records = {"one": begun, "other": [*begun, used(2, "p/a", "1")], "copy": begun}

    assert len(list_requests([one, other, copy_of_copy], records)) == 2


def test_days_are_those_of_this_place_and_come_in_order() -> None:
    session = a_summary()
    records = {session.id: [used(1, "p/a", "1", at_ms=72 * HOUR_MS), used(2, "p/a", "1")]}
    days = [row.name for row in add_up(list_requests([session], records), name_day)]

    assert len(days) == 2
    assert days == sorted(days)
