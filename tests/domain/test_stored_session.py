"""A session as it is kept: checked and decoded at once, it is what both make of it one after the other."""

from __future__ import annotations

import pytest

from quorum.domain.replacing import replace
from quorum.domain.sessions.ledger_chain import ChainedRecord, redact_record
from quorum.domain.sessions.session_summary import SessionSummary
from quorum.domain.sessions.stored_session import StoredSession
from tests.domain.test_ledger_chain import REDACTED, SESSION, chain, log

SUMMARY = SessionSummary(
    id=SESSION, title="", cwd="/work", model="m", started_ms=0, updated_ms=0, turns=3, records=3
)


def stored(records: list[ChainedRecord], **fields: object) -> StoredSession:
    head = records[-1].link if records else b""
    return replace(StoredSession(summary=SUMMARY, head=head, chain=tuple(records)), **fields)


def sessions() -> dict[str, StoredSession]:
    whole = chain(3)
    redacted = [whole[0], redact_record(whole[1], REDACTED), whole[2]]
    unreadable = [whole[0], replace(whole[1], payload=b"{"), whole[2]]
    return {
        "whole": stored(whole),
        "cut": stored(whole[:2]),
        "with another end": stored(whole, head=b"other"),
        "redacted": stored(redacted, redactions=tuple(log((whole[1], redacted[1])))),
        "with an unreadable record": stored(unreadable),
        "with an array for a record": stored([whole[0], replace(whole[1], payload=b"[1]"), whole[2]]),
        "nested too deep": stored([whole[0], replace(whole[1], payload=b"[" * 100_000), whole[2]]),
        "empty": stored([]),
    }


@pytest.mark.parametrize("name", sessions())
def test_checked_and_decoded_at_once_it_is_what_both_come_to_alone(name: str) -> None:
    session = sessions()[name]

    assert session.verify_and_decode() == (session.verify(), session.decode_records())


def test_a_record_that_cannot_be_read_is_named_and_the_others_are_there() -> None:
    verification, records = sessions()["with an unreadable record"].verify_and_decode()

    assert verification.broken_at == 1
    assert [record.event is None for record in records] == [False, True, False]
