"""A session as it is kept, with its chain, the one among many that a name means, and anchors.

An anchor notes how far a session has come, so that a tail that is cut off later is seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct, field

from quorum.domain.errors import LedgerError, QuorumError
from quorum.domain.events.event import Event, event_from_json
from quorum.domain.replacing import replace
from quorum.domain.sessions.ledger_chain import (
    NO_LINK,
    ChainCheck,
    ChainedRecord,
    RedactionEntry,
    Verification,
    parse_payload,
    verify,
)
from quorum.domain.sessions.session_summary import LedgerRecord, SessionSummary
from quorum.domain.struct_json import Unfit, decode_struct, struct_to_json
from quorum.domain.text.fuzzy import list_similar_names
from quorum.domain.text.json_value import JsonObject

_NAMED_AT_MOST = 5
_TIME_LETTERS = 13  # 48 bits and a hyphen, as in a UUID of version 7


class StoredSession(Struct, frozen=True, kw_only=True):
    """A session with its entry in the list, the link that its next record builds on, and its records."""

    summary: SessionSummary
    head: bytes
    chain: tuple[ChainedRecord, ...]
    redactions: tuple[RedactionEntry, ...] = ()

    def decode_records(self) -> tuple[LedgerRecord, ...]:
        """Its records as events, oldest first."""
        return tuple(map(decode_record, self.chain))

    def verify(self) -> Verification:
        """Verify its chain, and its end against the list of sessions."""
        return self._verify_end(verify(self.summary.id, self.chain, self.redactions))

    def verify_and_decode(self) -> tuple[Verification, tuple[LedgerRecord, ...]]:
        """Both at once, which reads each record once."""
        check = ChainCheck(self.summary.id, self.redactions)
        records = []
        for record in self.chain:
            event = parse_payload(record.payload)
            check.add(record, event)
            records.append(_decode_record(record, event))
        return self._verify_end(check.conclude()), tuple(records)

    def _verify_end(self, result: Verification) -> Verification:
        count, expected = len(self.chain), self.summary.records
        if result.broken_at is not None or (
            count == expected and self.chain and self.chain[-1].link == self.head
        ):
            return result
        reason = f"the list of sessions tells of {expected} records, and there are {count}"
        if count == expected:
            reason = f"record {count - 1} is not the last one that the list of sessions tells of"
        place = max(0, min(count, expected)) if count != expected else count - 1
        return replace(result, broken_at=max(place, 0), reason=reason)


def find_session(name: str, listed: Sequence[SessionSummary]) -> SessionSummary:
    """Return the session with this id, or the only one whose id begins so. Raises LedgerError with others.

    One of a subagent is meant only where no other begins so: its id begins with that of its owner.
    """
    exact = [session for session in listed if session.id == name]
    beginning = [session for session in listed if name and session.id.startswith(name)]
    near = exact or [session for session in beginning if session.owner is None] or beginning
    if len(near) == 1:
        return near[0]
    if near:
        raise LedgerError(f"{len(near)} sessions begin with {name}: {_list_names(near)}; give more of the id")
    raise LedgerError(f"there is no session {name[:70]!a}; {_describe_nearest(name, listed)}")


def shorten_id(session_id: str, listed: Sequence[SessionSummary]) -> str:
    """The beginning of an id by which `find_session` finds it among the listed sessions.

    It holds the id's time in milliseconds at least, so that ids made later begin otherwise.
    """
    others = [each.id for each in listed if each.id != session_id and each.owner is None]
    lengths = range(_TIME_LETTERS, len(session_id))
    return next(
        (
            short
            for length in lengths
            if (short := session_id[:length])[-1] != "-" and not any(id.startswith(short) for id in others)
        ),
        session_id,
    )


def decode_record(record: ChainedRecord) -> LedgerRecord:
    """A record as an event, none where its payload is no event that this program knows."""
    return _decode_record(record, parse_payload(record.payload))


def _decode_record(record: ChainedRecord, event: JsonObject) -> LedgerRecord:
    return LedgerRecord(
        seq=record.seq, at_ms=record.at_ms, event=_decode_event(event), redacted=record.redacted
    )


def _decode_event(event: JsonObject) -> Event | None:
    try:
        return event_from_json(event)
    except (QuorumError, ValueError, RecursionError):
        return None


def _describe_nearest(name: str, listed: Sequence[SessionSummary]) -> str:
    if not listed:
        return "there are no sessions yet"
    close = list_similar_names(name, [session.id for session in listed], most=_NAMED_AT_MOST)
    near = [session for session in listed if session.id in close]
    return f"the nearest: {_list_names(near)}" if near else f"the latest: {_list_names(listed)}"


def _list_names(listed: Sequence[SessionSummary]) -> str:
    named = [f"{session.id} ({session.title[:40] or 'no prompt'})" for session in listed[:_NAMED_AT_MOST]]
    return ", ".join(named) + (", …" if len(listed) > _NAMED_AT_MOST else "")


_LINK_LETTERS = 64


class Anchor(Struct, frozen=True, kw_only=True):
    """How many records and redactions a session had, with the links of the last ones in hexadecimal.

    `at_ms` is when that was noted, in milliseconds since 1970, UTC. A link is empty where there was nothing.
    """

    session_id: str = field(name="session")
    records: Annotated[int, Meta(ge=0)]
    head: str
    redactions: Annotated[int, Meta(ge=0)]
    redaction_head: str
    at_ms: Annotated[int, Meta(ge=0)]

    def to_json(self) -> JsonObject:
        return struct_to_json(self)


def anchor_session(stored: StoredSession, *, at_ms: int) -> Anchor:
    return Anchor(
        session_id=stored.summary.id,
        records=len(stored.chain),
        head=stored.chain[-1].link.hex() if stored.chain else "",
        redactions=len(stored.redactions),
        redaction_head=stored.redactions[-1].link.hex() if stored.redactions else "",
        at_ms=at_ms,
    )


def read_anchor(value: object) -> Anchor:
    """The anchor in a JSON value. Raises ValueError, which says what is wrong."""
    if not isinstance(value, Mapping):
        raise ValueError("it is not an object")
    try:
        anchor = decode_struct(Anchor, value)
    except Unfit as problem:
        raise ValueError(str(problem)) from None
    for count, link in (("records", "head"), ("redactions", "redaction_head")):
        if len(getattr(anchor, link)) != (_LINK_LETTERS if getattr(anchor, count) else 0):
            raise ValueError(f"its {link} does not go with its {count}")
    return anchor


def explain_cut(anchor: Anchor, stored: StoredSession) -> str:
    """What of the anchor the session does not hold any more, in words; empty where it holds all.

    The session's chain is known to fit; so one link that is the same stands for all before it.
    """
    if len(stored.chain) < anchor.records:
        has = f"and has {len(stored.chain):,}"
        return f"it had {anchor.records:,} records when it was anchored, {has}: its tail was cut"
    link = stored.chain[anchor.records - 1].link if anchor.records else NO_LINK
    if anchor.records and link.hex() != anchor.head:
        return f"record {anchor.records - 1} is not the one that was anchored: the session was written anew"
    if len(stored.redactions) < anchor.redactions:
        has = f"and has {len(stored.redactions):,}"
        return f"it had {anchor.redactions:,} redactions when it was anchored, {has}: some were taken away"
    if anchor.redactions and stored.redactions[anchor.redactions - 1].link.hex() != anchor.redaction_head:
        return f"redaction {anchor.redactions - 1} is not the one that was anchored"
    return ""
