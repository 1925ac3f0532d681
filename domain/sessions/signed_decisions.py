"""Approvals in a record that people had to sign."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, Struct

from quorum.domain.events.event import ReviewDecided, ReviewRequested
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.review.signing import ApprovalSignature, SigningTerms
from quorum.domain.sessions.session_summary import LedgerRecord

_RUNS = (DecisionLabel.APPROVED, DecisionLabel.EDITED)


class SignedDecision(Struct, frozen=True, kw_only=True):
    """An approval at a place of a record: what it took, and the signatures it was given."""

    seq: int
    digest: str
    terms: SigningTerms
    signatures: tuple[ApprovalSignature, ...]


def list_signed_decisions(records: Sequence[LedgerRecord]) -> tuple[SignedDecision, ...]:
    """The approvals of calls that people had to sign, in their order."""
    asked: dict[str, SigningTerms] = {}
    found: list[SignedDecision] = []
    for record in records:
        match record.event:
            case ReviewRequested(digest=digest, signing=SigningTerms() as terms):
                asked[digest] = terms
            case ReviewDecided(digest=digest, decision=decision) if decision in _RUNS and digest in asked:
                given = record.event.signatures
                found.append(
                    SignedDecision(
                        seq=record.seq,
                        digest=digest,
                        terms=asked[digest],
                        signatures=() if given is UNSET else given,
                    )
                )
    return tuple(found)
