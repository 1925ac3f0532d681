"""The chain that links the records of a session, so that none can be changed, moved or taken out unseen.

Each record's link is a hash over the link before it, the session and the record's place, time, type and digest.
The digest is a hash of salt and payload; so a payload can be taken out, and the chain holds all the same. How a
call ended and what was decided about it stand in the link as they are: no redaction can change them. Records of
earlier versions have links without them.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from domain.sessions.past_session import Verification
from domain.text.json_value import JsonObject

NO_LINK = bytes(32)
_SALT_BYTES = 16
_FIRST_PURPOSE = b"quorum ledger 1"
_PURPOSE = b"quorum ledger 2"
FIXED = ("outcome", "decision")
"""The fields of an event that are part of its link, and are never redacted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainedRecord:
    """One record as it is kept. `payload` is the event as JSON in UTF-8, `at_ms` milliseconds since 1970, UTC.

    `digest` is that of the payload the record began with. `redaction` is None for as long as this stands there;
    after a redaction it is the digest of what stands there instead, with a salt of its own: with the first one
    kept, what was taken out could be guessed.
    """

    seq: int
    at_ms: int
    type: str
    payload: bytes
    salt: bytes
    digest: bytes
    link: bytes
    redaction: bytes | None = None

    @property
    def redacted(self) -> bool:
        """Whether something was taken out of the payload."""
        return self.redaction is not None


def payload_of(value: JsonObject) -> bytes:
    """JSON as a record keeps it: compact, its keys in their own order, halves of surrogate pairs escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def next_record(
    session_id: str, before: bytes, *, seq: int, at_ms: int, event_type: str, payload: bytes
) -> ChainedRecord:
    """The record that follows the one with the link `before`; NO_LINK for the first."""
    salt = secrets.token_bytes(_SALT_BYTES)
    digest = _digest(salt, payload)
    link = _link(before, session_id, seq, at_ms, event_type, digest, _fixed_in(payload))
    return ChainedRecord(
        seq=seq, at_ms=at_ms, type=event_type, payload=payload, salt=salt, digest=digest, link=link
    )


def relinked(record: ChainedRecord, session_id: str, before: bytes) -> ChainedRecord:
    """The same record at the same place of another session."""
    place = (session_id, record.seq, record.at_ms, record.type, record.digest)
    return replace(record, link=_link(before, *place, _fixed_in(record.payload)))


def redacted(record: ChainedRecord, payload: bytes) -> ChainedRecord:
    """The record with this payload in the place of its own."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return replace(record, payload=payload, salt=salt, redaction=_digest(salt, payload))


def flaw(record: ChainedRecord, session_id: str, before: bytes, seq: int) -> str:
    """What does not fit in a record that should be number `seq` after the link `before`; empty if nothing."""
    if record.seq != seq:
        return f"record {seq} is missing" if record.seq > seq else f"record {seq} has the number {record.seq}"
    place = (session_id, seq, record.at_ms, record.type, record.digest)
    if record.link not in (_link(before, *place, _fixed_in(record.payload)), _link(before, *place)):
        if record.redacted:
            return (
                f"record {seq} is not the one that was written: its outcome or decision was changed, which no "
                "redaction does, or its time, type, digest or link"
            )
        return f"record {seq} is not the one that was written: its time, type, digest or link was changed"
    stands = _digest(record.salt, record.payload)
    if record.redaction is None and stands != record.digest:
        return f"the payload of record {seq} is not the one that was written"
    if record.redaction is not None and stands != record.redaction:
        return f"record {seq} was redacted, and changed after that"
    if record.redaction == record.digest:
        return f"record {seq} is marked as redacted, and nothing was taken out of it"
    if _type_in(record.payload) != record.type:
        return f"the payload of record {seq} cannot be read as an event of its type"
    return ""


def verify(session_id: str, records: Iterable[ChainedRecord]) -> Verification:
    """Check the records of a session, in the order they were written.

    It names the first that does not fit: changed in any part, missing, or in the wrong place. That the last
    ones were cut off cannot be seen from the records alone: what is left of a chain is a chain.
    """
    before, taken_out = NO_LINK, []
    count = 0
    broken_at, reason = None, ""
    for record in records:
        if broken_at is None:
            reason = flaw(record, session_id, before, count)
            broken_at = count if reason else None
            if record.redacted and not reason:
                taken_out.append(count)
        before = record.link
        count += 1
    return Verification(
        session_id=session_id,
        records=count,
        broken_at=broken_at,
        reason=reason if broken_at is not None else "",
        redacted=tuple(taken_out),
        head=before.hex() if count else "",
    )


def _digest(salt: bytes, payload: bytes) -> bytes:
    return hashlib.sha256(salt + payload).digest()


def _fixed_in(payload: bytes) -> str:
    """The fields of an event that no redaction may change, as JSON."""
    if not any(f'"{name}"'.encode() in payload for name in FIXED):  # most have none, and may be long
        return "{}"
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return "{}"
    fixed = {name: value[name] for name in FIXED if name in value} if isinstance(value, Mapping) else {}
    return json.dumps(fixed, sort_keys=True)


def _link(
    before: bytes,
    session_id: str,
    seq: int,
    at_ms: int,
    event_type: str,
    digest: bytes,
    fixed: str | None = None,
) -> bytes:
    """The link of a record; without `fixed` as earlier versions made it."""
    fields: tuple[str | bytes, ...] = (before, session_id, str(seq), str(at_ms), event_type, digest)
    fields = (_FIRST_PURPOSE, *fields) if fixed is None else (_PURPOSE, *fields, fixed)
    hashed = hashlib.sha256()
    for field in fields:
        data = field.encode("utf-8", "surrogatepass") if isinstance(field, str) else field
        # Each field with its length before it: no two lists of fields read the same.
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.digest()


def _type_in(payload: bytes) -> str | None:
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    found = value.get("type") if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else None
