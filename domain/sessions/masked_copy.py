"""A copy of a session that may leave the machine: what is known to be secret by now is taken out of it.

The copy verifies as the session does: each record that lost something is redacted, and an entry in its
chain of redactions, behind those of the session, says so. The session itself is not changed.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from quorum.domain.errors import QuorumError
from quorum.domain.events.masking import SecretMask
from quorum.domain.events.reading import event_from_json
from quorum.domain.replacing import replace
from quorum.domain.secrets.patterns import MASK
from quorum.domain.sessions.ledger_chain import (
    FIXED,
    FORMAT_NAME,
    encode_payload,
    keeps_links,
    parse_payload,
)
from quorum.domain.sessions.redaction import replace_payloads
from quorum.domain.sessions.stored_session import StoredSession
from quorum.domain.text.json_value import JsonObject

_KEPT = frozenset({"type", "v", FORMAT_NAME, *FIXED})


class MaskedCopy(Struct, frozen=True, kw_only=True):
    """`masked` are the places of the records from which something was taken out for this copy; `marks` is how
    often each word in the place of a secret stands in it, those recorded with it included."""

    stored: StoredSession
    masked: tuple[int, ...]
    marks: Mapping[str, int]


def mask_session(stored: StoredSession, mask: SecretMask, *, at_ms: int) -> MaskedCopy:
    """Raises LedgerError where a secret stands in a record of a newer version."""
    changes, entries = replace_payloads(
        stored.summary.id,
        stored.chain,
        stored.redactions,
        lambda payload: _mask_payload(payload, mask),
        at_ms=at_ms,
    )
    chain = list(stored.chain)
    for index, record in changes:
        chain[index] = record
    marks: dict[str, int] = {}
    for record in chain:
        for mark in MASK.finditer(record.payload.decode("utf-8", "replace")):
            marks[mark[0]] = marks.get(mark[0], 0) + 1
    copied = replace(stored, chain=tuple(chain), redactions=(*stored.redactions, *entries))
    return MaskedCopy(stored=copied, masked=tuple(index for index, _ in changes), marks=marks)


def _mask_payload(payload: bytes, mask: SecretMask) -> bytes:
    """The payload without secrets; the same bytes where it holds none."""
    value = parse_payload(payload)
    if not value:
        text = payload.decode("utf-8", "replace")
        hidden = mask.mask_text(text)
        return payload if hidden == text else hidden.encode()
    return _mask_values(_mask_event(payload, value, mask), mask)


def _mask_event(payload: bytes, value: JsonObject, mask: SecretMask) -> bytes:
    """The payload as observers of a run get its event; as it is where it holds no secret, where it cannot be
    read as an event, and where this version writes the event of an earlier one with more fields."""
    try:
        event = event_from_json(value)
    except (QuorumError, ValueError, RecursionError):
        return payload
    masked = mask.mask_event(event)
    if masked is event:
        return payload
    kept = {FORMAT_NAME: value[FORMAT_NAME]} if FORMAT_NAME in value else {}
    changed = encode_payload({**masked.to_json(), **kept})
    return changed if keeps_links(payload, changed) else payload


def _mask_values(payload: bytes, mask: SecretMask) -> bytes:
    """The payload with every text and name in it masked, also those that observers get as they are: ids, and
    what goes back to a provider as it came."""
    value = parse_payload(payload)
    open_to_all = {name: each for name, each in value.items() if name not in _KEPT}
    masked = mask.mask_json(open_to_all)
    if masked == open_to_all or not isinstance(masked, Mapping):
        return payload
    return encode_payload({**{name: each for name, each in value.items() if name in _KEPT}, **masked})
