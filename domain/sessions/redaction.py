"""A text taken out of the records of a session, wherever they are kept.

What is known to be secret by now is taken out of a copy that may leave the machine. It verifies as the session
does: each record that lost something is redacted, and an entry in its chain of redactions, behind those of the
session, says so. The session itself is not changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from quorum.domain.errors import LedgerError, QuorumError, UnreadableEvent
from quorum.domain.events.event import event_from_json
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.secrets.patterns import MASK
from quorum.domain.sessions.ledger_chain import (
    FIXED,
    FORMAT_NAME,
    FREE,
    NO_LINK,
    ChainedRecord,
    RedactionEntry,
    build_redaction,
    encode_payload,
    explain_newer_format,
    keeps_links,
    parse_payload,
    redact_record,
)
from quorum.domain.sessions.session_facts import escape_surrogates
from quorum.domain.sessions.stored_session import StoredSession
from quorum.domain.text.json_value import JsonObject

MARK = "[redacted]"
_SHORTEST = 4
_KEPT = frozenset({"type", "v", *FIXED})
# They lead to stored contents, and hold parts of a short text by chance.
_HASHES = frozenset({"sha256", "output_sha256", "tree", "manifest", "blob_id", "digest"})
_HASH = re.compile(r"[0-9a-f]{64}")


def check_redactable(text: str) -> None:
    """Raises LedgerError for a text so short that redacting it would take the records apart."""
    if len(text) < _SHORTEST:
        raise LedgerError(f"only texts of {_SHORTEST} characters and more can be redacted")


def redact_records(
    session_id: str, chain: Sequence[ChainedRecord], earlier: Sequence[RedactionEntry], text: str, *, at_ms: int
) -> tuple[list[tuple[int, ChainedRecord]], list[RedactionEntry]]:
    """Put MARK in the place of `text`: the records that change, each with its index in `chain`, and the entries
    that say so, linked behind the `earlier` ones. Raises LedgerError for a record that a newer version wrote:
    what may be taken out of it is not known.
    """
    return replace_payloads(session_id, chain, earlier, lambda payload: _without(payload, text), at_ms=at_ms)


def replace_payloads(
    session_id: str,
    chain: Sequence[ChainedRecord],
    earlier: Sequence[RedactionEntry],
    hide: Callable[[bytes], bytes],
    *,
    at_ms: int,
) -> tuple[list[tuple[int, ChainedRecord]], list[RedactionEntry]]:
    """The same for whatever `hide` takes out of a payload."""
    changes: list[tuple[int, ChainedRecord]] = []
    entries: list[RedactionEntry] = []
    previous = earlier[-1].link if earlier else NO_LINK
    for index, record in enumerate(chain):
        payload = hide(record.payload)
        if payload == record.payload:
            continue
        if newer := explain_newer_format(record.seq, parse_payload(record.payload)):
            raise LedgerError(f"nothing was redacted: {newer}")
        changed = redact_record(record, payload)
        entry = build_redaction(record, changed, seq=len(earlier) + len(entries), at_ms=at_ms)
        entries.append(entry.link_after(session_id, previous))
        previous = entries[-1].link
        changes.append((index, changed))
    return changes, entries


def redact_name(name: str, text: str) -> str:
    """What a list shows of a session, such as its title, without the text."""
    return name.replace(escape_surrogates(text), MARK)


def _without(payload: bytes, text: str) -> bytes:
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return payload.replace(text.encode("utf-8", "backslashreplace"), MARK.encode("ascii"))
    if not isinstance(value, dict):
        return payload
    known = _is_understood(value)
    # What makes it an event of its type stays, and so does what the chain holds as it is.
    hidden = {
        key: each if key in _KEPT else _hide_text(each, text, key, is_free=not known)
        for key, each in value.items()
    }
    if hidden == value:
        return payload
    if known and not _is_understood(hidden):
        hidden = value
        _hide_what_can_be(hidden, hidden, text, is_inner=False)
    if known and "styles" in hidden:
        hidden["styles"] = []  # they count the characters of the text as it was
    return encode_payload(hidden)


def _hide_text(value: Any, text: str, name: object = None, *, is_free: bool, is_inner: bool = False) -> Any:
    """The value of this name without the text.

    `is_free`: its names are not ours, and may hold the text too. `is_inner`: it is part of an object whose
    names never are, in which the chain holds nothing as it is.
    """
    is_inner = is_inner or name in FREE
    is_free = is_free or is_inner
    match value:
        case str():
            if name in FIXED and not is_inner:
                return value
            return value if name in _HASHES and _HASH.fullmatch(value) else value.replace(text, MARK)
        case list():
            return [_hide_text(each, text, is_free=is_free, is_inner=is_inner) for each in value]
        case dict():
            return {
                key.replace(text, MARK)
                if is_inner or (is_free and key not in FIXED | FREE)
                else key: _hide_text(each, text, key, is_free=is_free, is_inner=is_inner)
                for key, each in value.items()
            }
        case _:
            return value


def _hide_what_can_be(whole: dict[str, Any], part: Any, text: str, *, is_inner: bool) -> None:
    """Hide the text wherever in a part of the event it is no word of ours, without which the event would say
    nothing: an outcome, a kind of block."""
    for name, was in list(part.items() if isinstance(part, dict) else enumerate(part)):
        if part is whole and name in _KEPT:
            continue
        part[name] = _hide_text(was, text, name, is_free=False, is_inner=is_inner)
        if part[name] != was and not _is_understood(whole):
            part[name] = was
            if isinstance(was, dict | list):
                _hide_what_can_be(whole, was, text, is_inner=is_inner or name in FREE)


def _is_understood(value: dict[str, Any]) -> bool:
    try:
        event_from_json(value)
    except (UnreadableEvent, RecursionError):
        return False
    return True


_READABLE = frozenset({"type", "v", FORMAT_NAME, *FIXED})


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
    open_to_all = {name: each for name, each in value.items() if name not in _READABLE}
    masked = mask.mask_json(open_to_all)
    if masked == open_to_all or not isinstance(masked, Mapping):
        return payload
    return encode_payload({**{name: each for name, each in value.items() if name in _READABLE}, **masked})
