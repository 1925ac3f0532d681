"""The redactions of a session: a chain of entries of its own, beside that of the records.

Each entry says which record lost something and when, with the digest of the payload before and after. A record
that is marked as redacted has to end with the digest that its last entry gives, so a replaced payload is not
taken for a redaction. The entries are not records of the session themselves: the process that writes the
session would fail on a record that another process adds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from quorum.domain.replacing import replace

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
