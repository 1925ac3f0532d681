"""A session that happened elsewhere, with the chain that its record has here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from quorum.domain.sessions.chain_hash import NO_LINK
from quorum.domain.sessions.ledger_chain import ChainedRecord, chain_record
from quorum.domain.sessions.session_facts import StoredSessionFacts
from quorum.domain.text.json_value import JsonObject


class WholeSession(Struct, frozen=True, kw_only=True):
    """A session with its chain, and what a list shows of it."""

    session_id: str
    facts: StoredSessionFacts
    chain: Sequence[ChainedRecord]


def chain_session(
    session_id: str, events: Iterable[tuple[int, JsonObject]], encode: Callable[[JsonObject], bytes]
) -> WholeSession:
    """The session of these events in their JSON form, each with its time, which never goes back."""
    facts, link, last_ms = StoredSessionFacts(), NO_LINK, 0
    chain: list[ChainedRecord] = []
    for at_ms, event in events:
        last_ms = max(at_ms, last_ms)
        record = chain_record(
            session_id,
            link,
            seq=len(chain),
            at_ms=last_ms,
            event_type=str(event["type"]),
            payload=encode(event),
            event=event,
        )
        facts, link = facts.after(event), record.link
        chain.append(record)
    return WholeSession(session_id=session_id, facts=facts, chain=chain)
