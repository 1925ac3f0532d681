"""A session as one signed file: its chain in canonical JSON, in a COSE_Sign1 message with Ed25519 (RFC 9052).

What is in the file, a program of one file checks without quorum: `docs/verify_audit_export.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import cbor2

from quorum.domain.errors import LedgerError
from quorum.domain.sessions.ledger_chain import ChainedRecord
from quorum.domain.sessions.redaction_log import RedactionEntry
from quorum.domain.sessions.stored_session import StoredSession
from quorum.domain.text.json_value import JsonObject

if TYPE_CHECKING:
    from collections.abc import Callable

    from quorum.infrastructure.audit.signing_key import SigningKey

FORMAT = "quorum audit export 1"
CONTENT_TYPE = "application/vnd.quorum.audit+json"
_COSE_SIGN1 = 18
_ALGORITHM, _CONTENT, _KEY_ID = 1, 3, 4  # labels of header parameters
_EDDSA = -8


def encode_canonical(value: JsonObject) -> bytes:
    """JSON of which there is one form alone: names sorted, no spaces, no number but whole ones, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def export_signed(
    stored: StoredSession, key: SigningKey, *, mask: Callable[[str], str], exported_ms: int
) -> bytes:
    """The signed export of a session.

    Raises LedgerError for a session whose chain does not hold, which no signature makes good, and for one in
    which `mask` would hide something: what is known to be secret by now leaves in no export, and a signed
    one cannot be masked.
    """
    verified = stored.verify()
    if not verified.holds:
        raise LedgerError(
            f"the session {stored.summary.id} is broken at record {verified.broken_at}: {verified.reason}; "
            "what does not hold is not signed"
        )
    texts = [record.payload.decode() for record in stored.chain]
    if secret := next((place for place, text in enumerate(texts) if mask(text) != text), None):
        raise LedgerError(
            f"record {secret} of the session {stored.summary.id} holds what is known to be a secret by now; "
            f"quorum sessions redact {stored.summary.id} takes it out, then export again"
        )
    payload = encode_canonical(
        {
            "format": FORMAT,
            "session": stored.summary.id,
            "exported_ms": exported_ms,
            "records": [_describe_record(*pair) for pair in zip(stored.chain, texts, strict=True)],
            "redactions": [_describe_redaction(entry) for entry in stored.redactions],
        }
    )
    return sign(payload, key)


def sign(payload: bytes, key: SigningKey) -> bytes:
    """The payload in a COSE_Sign1 message, signed with the key. Its headers are all protected."""
    protected = cbor2.dumps({_ALGORITHM: _EDDSA, _CONTENT: CONTENT_TYPE, _KEY_ID: key.key_id}, canonical=True)
    signature = key.sign(cbor2.dumps(["Signature1", protected, b"", payload], canonical=True))
    return cbor2.dumps(cbor2.CBORTag(_COSE_SIGN1, [protected, {}, payload, signature]), canonical=True)


def _describe_record(record: ChainedRecord, payload: str) -> JsonObject:
    return {
        "seq": record.seq,
        "at_ms": record.at_ms,
        "type": record.type,
        "payload": payload,
        "salt": record.salt.hex(),
        "digest": record.digest.hex(),
        "link": record.link.hex(),
        "redaction": None if record.redaction is None else record.redaction.hex(),
    }


def _describe_redaction(entry: RedactionEntry) -> JsonObject:
    return {
        "seq": entry.seq,
        "at_ms": entry.at_ms,
        "record_seq": entry.record_seq,
        "record_link": entry.record_link.hex(),
        "before": entry.before.hex(),
        "after": entry.after.hex(),
        "link": entry.link.hex(),
    }
