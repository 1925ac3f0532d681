"""An answer to a review that is given from another process than the one that asks."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.review.questions import Approve, Reject, ReviewAnswer


class RemoteAnswer(Struct, frozen=True, kw_only=True):
    """What somebody answered about the packet of this digest, in this session.

    It is no part of the session's events: the process that writes the session reads it, and records the
    decision. `answered_by` names person and machine; `reason` is why it is rejected, if said; `at_ms` is the
    time in milliseconds since 1970.
    """

    session_id: str
    digest: str
    approves: bool
    reason: str | None
    answered_by: str
    at_ms: int

    def to_review_answer(self) -> ReviewAnswer:
        """The answer as the asking process takes it."""
        if self.approves:
            return Approve(self.digest, by=self.answered_by)
        return Reject(self.reason, by=self.answered_by)
