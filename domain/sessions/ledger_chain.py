"""The chain that links the records of a session, so that none can be changed, moved or taken out unseen.

Each record's link is a hash over the link before it, the session and the record's place, time, type and digest.
The digest is a hash of salt and payload; so a payload can be taken out, and the chain holds all the same. How a
call ended and what was decided about it stand in the link as they are: no redaction can change them. Records of
earlier versions have links without them, or with those of the event itself only. What was taken out since is in
a chain of its own, that of the redactions.

A payload says the format of its link. In every format, also those to come, the payload is a JSON object with
that number, and the digest is made in the same way: so a version that does not know a format says that a newer
one wrote the record, and still sees that its payload was changed.

Each entry says which record lost something and when, with the digest of the payload before and after. A record
that is marked as redacted has to end with the digest that its last entry gives, so a replaced payload is not
taken for a redaction. The entries are not records of the session themselves: the process that writes the
session would fail on a record that another process adds.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from itertools import takewhile

from msgspec import Struct

from quorum.domain.errors import LedgerError
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject


class Verification(Struct, frozen=True, kw_only=True):
    """What the check of a session's chain came to.

    `broken_at` is the place of the first record that does not fit, with `reason` in words; `newer_at` that of
    the first that only a newer version can verify, with the same where no other is broken. `redacted` are the
    places whose payload was taken out on purpose, and `unrecorded` those of them of which there is no record,
    as earlier versions made them. That a tail was cut off cannot be seen from inside: only by comparing `head`,
    the hash of the last record, and `redaction_head`, that of the last redaction, with those noted elsewhere.
    """

    session_id: str
    records: int
    broken_at: int | None = None
    newer_at: int | None = None
    reason: str = ""
    redacted: tuple[int, ...] = ()
    unrecorded: tuple[int, ...] = ()
    head: str = ""
    redaction_head: str = ""

    @property
    def holds(self) -> bool:
        """Whether every record fits."""
        return self.broken_at is None and self.newer_at is None

    @property
    def flaw(self) -> str:
        """What keeps it from holding, said of the session."""
        if self.broken_at is not None:
            return f"is broken at record {self.broken_at}: {self.reason}"
        return "" if self.newer_at is None else f"cannot be verified: {self.reason}"


_SALT_BYTES = 16
FIXED = frozenset({"outcome", "decision", "is_error", "is_rejected"})
"""The names of the values that are part of a record's link, at any depth, and are never redacted."""
FREE = frozenset({"arguments", "input", "payload", "changed", "edited", "target", "environment"})
"""The names of objects whose own names are those of models, tools and providers: nothing in them is fixed."""
_FIXED_IN_SECOND = ("outcome", "decision")
_FIXED_MARKS = tuple(f'"{name}"'.encode() for name in sorted(FIXED))
_NOTHING_FIXED = "[]"
_LONG = 2_000
_NESTED = frozenset((dict, list))


class LinkFormat(IntEnum):
    """What a link covers beside the record's place, time, type and digest. Each stays as it is for good, with
    the names in FIXED and FREE and the format of redactions; what changes is a new one, the last."""

    DIGEST_ONLY = 1
    EVENT_OUTCOME = 2
    ALL_OUTCOMES = 3


FORMAT_NAME = "link_format"
"""The name by which a payload says the format of its link; those of earlier versions do not."""
_NEWEST = max(LinkFormat)


class ChainedRecord(Struct, frozen=True, kw_only=True):
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


def encode_payload(value: JsonObject) -> bytes:
    """JSON as a record keeps it: compact, its keys in their own order, halves of surrogate pairs escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def declare_format(event: JsonObject) -> JsonObject:
    """The event as a payload has it, with the format of the link that it gets."""
    return {**event, FORMAT_NAME: _NEWEST.value}


def explain_newer_format(seq: int, event: Mapping[str, object]) -> str:
    """Why this version cannot verify the record with this payload; empty where it can."""
    declared = event.get(FORMAT_NAME)
    if type(declared) is not int or declared <= _NEWEST:
        return ""
    return (
        f"record {seq} was written by a newer quorum (ledger format {declared}, this one knows {_NEWEST}); "
        "update quorum"
    )


def chain_record(
    session_id: str,
    before: bytes,
    *,
    seq: int,
    at_ms: int,
    event_type: str,
    payload: bytes,
    event: JsonObject | None = None,
) -> ChainedRecord:
    """The record that follows the one with the link `before`; NO_LINK for the first. `event` is the payload,
    where it is at hand in its JSON form."""
    salt = secrets.token_bytes(_SALT_BYTES)
    digest = _compute_digest(salt, payload)
    record = ChainedRecord(
        seq=seq, at_ms=at_ms, type=event_type, payload=payload, salt=salt, digest=digest, link=b""
    )
    return replace(record, link=_link(_NEWEST, record, session_id, before, event))


def relink_record(
    record: ChainedRecord,
    session_id: str,
    before: bytes,
    link_format: LinkFormat = _NEWEST,
) -> ChainedRecord:
    """The same record at the same place of another session."""
    return replace(record, link=_link(link_format, record, session_id, before))


def find_format(
    record: ChainedRecord, session_id: str, before: bytes, event: Mapping[str, object] | None = None
) -> LinkFormat | None:
    """The format in which the record's link fits it, the one that it declares if it does; None if it fits in
    none. `event` is the payload, where it is parsed already."""
    event = parse_payload(record.payload) if event is None else event
    declared = event.get(FORMAT_NAME)
    for link_format in reversed(LinkFormat):
        if declared in (None, link_format) and record.link == _link(
            link_format, record, session_id, before, event
        ):
            return link_format
    return None


def redact_record(record: ChainedRecord, payload: bytes) -> ChainedRecord:
    """The record with this payload in the place of its own."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return replace(record, payload=payload, salt=salt, redaction=_compute_digest(salt, payload))


def keeps_links(payload: bytes, changed: bytes) -> bool:
    """Whether a record's link fits it also with the changed payload, in whichever format it is."""
    return all(
        extract(payload, None) == extract(changed, None)
        for extract in (_extract_fixed_event_fields, _extract_fixed_fields)
    )


def build_redaction(record: ChainedRecord, changed: ChainedRecord, *, seq: int, at_ms: int) -> RedactionEntry:
    """The entry, not linked yet, that says that `changed` is a redaction of the record as it stood."""
    return RedactionEntry(
        seq=seq,
        at_ms=at_ms,
        record_seq=record.seq,
        record_link=record.link,
        before=_compute_digest(
            record.salt, record.payload
        ),  # as it stands, not as it says: a forgery stays one
        after=changed.redaction or b"",
    )


def find_flaw(
    record: ChainedRecord,
    session_id: str,
    before: bytes,
    seq: int,
    event: Mapping[str, object] | None = None,
) -> str:
    """Describe what is wrong with a record expected as number `seq` after the link `before`, or return "".
    `event` is the payload, where it is parsed already. Of one in a newer format, the link is not looked at."""
    if record.seq != seq:
        return f"record {seq} is missing" if record.seq > seq else f"record {seq} has the number {record.seq}"
    event = parse_payload(record.payload) if event is None else event
    is_newer = explain_newer_format(seq, event) != ""
    if not is_newer and find_format(record, session_id, before, event) is None:
        if record.redacted:
            return (
                f"record {seq} is not the one that was written: its outcome or decision was changed, which no "
                "redaction does, or its time, type, digest or link"
            )
        return f"record {seq} is not the one that was written: its time, type, digest or link was changed"
    stands = _compute_digest(record.salt, record.payload)
    if record.redaction is None and stands != record.digest:
        return f"the payload of record {seq} is not the one that was written"
    if record.redaction is not None and stands != record.redaction:
        return f"record {seq} was redacted, and changed after that"
    if record.redaction == record.digest:
        return f"record {seq} is marked as redacted, and nothing was taken out of it"
    if event.get("type") != record.type:
        return f"the payload of record {seq} cannot be read as an event of its type"
    return ""


def verify(
    session_id: str, records: Iterable[ChainedRecord], redactions: Sequence[RedactionEntry] = ()
) -> Verification:
    """Check the records of a session, in the order they were written, and its redactions."""
    check = ChainCheck(session_id, redactions)
    for record in records:
        check.add(record, parse_payload(record.payload))
    return check.conclude()


class ChainCheck:
    """The check of one session, record by record, in the order they were written, and of its redactions.

    It names the first that does not fit: changed in any part, missing, in the wrong place, or redacted without
    an entry that says so. That the last ones were cut off cannot be seen from the records alone: what is left
    of a chain is a chain.
    """

    def __init__(self, session_id: str, redactions: Sequence[RedactionEntry] = ()) -> None:
        self._session_id = session_id
        self._redactions = redactions
        self._entries: dict[int, list[RedactionEntry]] = defaultdict(list)
        for entry in redactions:
            self._entries[entry.record_seq].append(entry)
        self._before, self._count = NO_LINK, 0
        self._broken_at: int | None = None
        self._reason = ""
        self._newer: dict[int, str] = {}
        self._redacted: list[int] = []
        self._unrecorded: list[int] = []

    def add(self, record: ChainedRecord, event: Mapping[str, object]) -> None:
        """Check the next record; `event` is its payload, parsed."""
        if self._broken_at is None:
            self._reason = self._find_flaw(record, event)
            if self._reason:
                self._broken_at = self._count
            elif record.redacted:
                self._redacted.append(self._count)
        self._before = record.link
        self._count += 1

    def _find_flaw(self, record: ChainedRecord, event: Mapping[str, object]) -> str:
        flaw = find_flaw(record, self._session_id, self._before, self._count, event)
        if not flaw and (newer := explain_newer_format(self._count, event)):
            self._newer[self._count] = newer
            return ""
        if flaw or _is_recorded(record, self._entries[self._count]):
            return flaw
        flaw = _explain_unrecorded(record, self._session_id, self._before)
        if not flaw:
            self._unrecorded.append(self._count)
        return flaw

    def conclude(self) -> Verification:
        """What the check of all that were added came to."""
        broken_at, reason = self._broken_at, self._reason
        if broken_at is None:
            broken_at, reason = self._find_flaw_of_redactions()
        newer_at = next(iter(self._newer), None)
        return Verification(
            session_id=self._session_id,
            records=self._count,
            broken_at=broken_at,
            newer_at=newer_at,
            reason=self._newer[newer_at] if broken_at is None and newer_at is not None else reason,
            redacted=tuple(self._redacted),
            unrecorded=tuple(self._unrecorded),
            head=self._before.hex() if self._count else "",
            redaction_head=self._redactions[-1].link.hex() if self._redactions else "",
        )

    def _find_flaw_of_redactions(self) -> tuple[int | None, str]:
        """The record of the first redaction that does not fit, and why. From one of a newer format on, nothing
        is known of their links."""
        place = len(keep_linked_entries(self._session_id, self._redactions))
        if place < len(self._redactions) and (seq := self._redactions[place].record_seq) not in self._newer:
            return seq, f"redaction {place} is not the one that was made, or one is missing"
        for entry in self._redactions:
            if entry.record_seq >= self._count:
                return entry.record_seq, f"record {entry.record_seq} was redacted, and is missing"
        return None, ""


def _is_recorded(record: ChainedRecord, entries: Sequence[RedactionEntry]) -> bool:
    return is_recorded(entries, record_link=record.link, digest=record.digest, redaction=record.redaction)


def _explain_unrecorded(record: ChainedRecord, session_id: str, before: bytes) -> str:
    """Why a payload that the recorded redactions do not lead to is a flaw; empty where versions made such."""
    if not record.redacted:
        return f"record {record.seq} has a recorded redaction, and nothing was taken out of it"
    if find_format(record, session_id, before) is LinkFormat.DIGEST_ONLY:
        return ""
    return (
        f"record {record.seq} is marked as redacted without a record of it: something other than "
        "`quorum sessions redact` replaced its payload"
    )


def _compute_digest(salt: bytes, payload: bytes) -> bytes:
    return hashlib.sha256(salt + payload).digest()


def _link(
    link_format: LinkFormat,
    record: ChainedRecord,
    session_id: str,
    before: bytes,
    event: Mapping[str, object] | None = None,
) -> bytes:
    place = (before, session_id, str(record.seq), str(record.at_ms), record.type, record.digest)
    purpose = f"quorum ledger {link_format.value}"
    match link_format:
        case LinkFormat.DIGEST_ONLY:
            return hash_fields(purpose, *place)
        case LinkFormat.EVENT_OUTCOME:
            return hash_fields(purpose, *place, _extract_fixed_event_fields(record.payload, event))
        case LinkFormat.ALL_OUTCOMES:
            return hash_fields(purpose, *place, _extract_fixed_fields(record.payload, event))


def _extract_fixed_event_fields(payload: bytes, event: Mapping[str, object] | None) -> str:
    """The outcome and decision of an event itself, as JSON."""
    value = parse_payload(payload) if event is None else event
    fixed = {name: value[name] for name in _FIXED_IN_SECOND if name in value}
    return json.dumps(fixed, sort_keys=True)


def _extract_fixed_fields(payload: bytes, event: Mapping[str, object] | None) -> str:
    """All that no redaction may change in an event, in the order in which it is found, as JSON."""
    # Most hold none. To look through what is parsed is quicker than through a long text.
    if (event is None or len(payload) < _LONG) and not any(mark in payload for mark in _FIXED_MARKS):
        return _NOTHING_FIXED
    fixed: list[tuple[str, object]] = []
    left: list[object] = [parse_payload(payload) if event is None else event]
    while left:  # a loop, because events may be nested as deep as their JSON can be read
        value = left.pop()
        if isinstance(value, list):
            left += [each for each in reversed(value) if type(each) in _NESTED]
        elif isinstance(value, dict):
            fixed += [
                (name, each) for name, each in value.items() if name in FIXED and type(each) not in _NESTED
            ]
            left += [
                each for name, each in reversed(value.items()) if type(each) in _NESTED and name not in FREE
            ]
    return json.dumps(fixed) if fixed else _NOTHING_FIXED


def parse_payload(payload: bytes) -> JsonObject:
    """The event; nothing where the payload cannot be read as one."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


NO_LINK = bytes(32)
"""What stands for the link before the first entry of a chain."""


def hash_fields(*fields: str | bytes) -> bytes:
    """The SHA-256 of fields, each with its length before it: no two lists of fields have the same bytes."""
    pieces: list[bytes] = []
    for field in fields:
        data = field.encode("utf-8", "surrogatepass") if isinstance(field, str) else field
        pieces += (len(data).to_bytes(8, "big"), data)
    return hashlib.sha256(b"".join(pieces)).digest()


_PURPOSE = b"quorum redactions 1"


class RedactionEntry(Struct, frozen=True, kw_only=True):
    """One redaction of one record. `at_ms` is milliseconds since 1970, UTC; `record_link` the record's link.

    `before` and `after` are salted digests of the payload; the salt of the former is gone.
    """

    seq: int
    at_ms: int
    record_seq: int
    record_link: bytes
    before: bytes
    after: bytes
    link: bytes = b""

    def link_after(self, session_id: str, previous: bytes) -> RedactionEntry:
        """The same entry after the one with the link `previous`; NO_LINK for the first."""
        numbers = (str(self.seq), str(self.at_ms), str(self.record_seq))
        digests = (self.record_link, self.before, self.after)
        return replace(self, link=hash_fields(_PURPOSE, previous, session_id, *numbers, *digests))


def keep_linked_entries(session_id: str, entries: Iterable[RedactionEntry]) -> list[RedactionEntry]:
    """The entries up to the first that is not linked to those before it."""
    found: list[RedactionEntry] = []
    previous = NO_LINK
    for entry in entries:
        if entry.seq != len(found) or entry.link_after(session_id, previous).link != entry.link:
            break
        found.append(entry)
        previous = entry.link
    return found


def relink(
    session_id: str, entries: Iterable[RedactionEntry], links: Mapping[bytes, bytes]
) -> list[RedactionEntry]:
    """The entries of some records for another session.

    `links`: the former link of each of these records, with its new one.
    """
    relinked: list[RedactionEntry] = []
    previous = NO_LINK
    for entry in entries:
        if entry.record_link in links:
            moved = replace(entry, seq=len(relinked), record_link=links[entry.record_link])
            relinked.append(moved.link_after(session_id, previous))
            previous = relinked[-1].link
    return relinked


def is_recorded(
    entries: Sequence[RedactionEntry], *, record_link: bytes, digest: bytes, redaction: bytes | None
) -> bool:
    """Whether a record's entries lead from its first digest to what stands there now, one after the other."""
    stands = digest
    for entry in entries:
        if entry.record_link != record_link or entry.before != stands:
            return False
        stands = entry.after
    return stands == (digest if redaction is None else redaction)


def fork_records(
    chain: Iterable[ChainedRecord],
    redactions: Sequence[RedactionEntry],
    *,
    session_id: str,
    new_id: str,
    before: int | None,
) -> tuple[list[ChainedRecord], list[RedactionEntry]]:
    """The records of `session_id`, those from `before` on left out, as those of `new_id`, and their redactions.

    Times and payloads stay as they are. Raises LedgerError where there is nothing to copy, or a record among
    them does not fit: linked anew, it would look as if it did.
    """
    copied = list(takewhile(lambda record: before is None or record.seq < before, chain))
    if not copied:
        what = "no records" if before is None else f"no records before {before}"
        raise LedgerError(f"session {session_id[:70]!a} has {what}, so there is nothing to fork")
    linked = _relink_chain(copied, session_id, new_id)
    links = {record.link: copy.link for record, copy in zip(copied, linked, strict=True)}
    entries = relink(new_id, keep_linked_entries(session_id, redactions), links)
    checked = verify(new_id, linked, entries)
    if checked.broken_at is not None:
        raise _build_unfit_error(session_id, checked.broken_at, checked.reason)
    return linked, entries


def _relink_chain(chain: list[ChainedRecord], old: str, new: str) -> list[ChainedRecord]:
    linked: list[ChainedRecord] = []
    was, is_now = NO_LINK, NO_LINK
    for seq, record in enumerate(chain):
        event = parse_payload(record.payload)
        if wrong := find_flaw(record, old, was, seq, event) or explain_newer_format(seq, event):
            raise _build_unfit_error(old, seq, wrong)
        # In its own format: what the link of an old record does not cover may have changed since.
        link_format = find_format(record, old, was, event)
        assert link_format is not None
        was = record.link
        linked.append(relink_record(record, new, is_now, link_format))
        is_now = linked[-1].link
    return linked


def _build_unfit_error(session_id: str, seq: int, reason: str) -> LedgerError:
    return LedgerError(
        f"session {session_id} cannot be forked: {reason}; records before {seq} can be forked alone"
    )
