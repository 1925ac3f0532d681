"""Anchors: how far a session had come at one time, noted so that a tail that is cut off later is seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct, field

from quorum.domain.sessions.chain_hash import NO_LINK
from quorum.domain.sessions.stored_session import StoredSession
from quorum.domain.struct_json import Unfit, decode_struct, struct_to_json
from quorum.domain.text.json_value import JsonObject

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
