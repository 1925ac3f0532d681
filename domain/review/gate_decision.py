"""What is answered about a call that another agent would make."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.review.permission_rules import Answer


class GateDecision(Struct, frozen=True, kw_only=True):
    """Whether the caller may run it. `digest` is that of the packet, empty where none was made."""

    answer: Answer
    reasons: tuple[str, ...]
    digest: str = ""

    @property
    def reason(self) -> str:
        """The reasons in one text."""
        return "; ".join(self.reasons)

    @classmethod
    def ask(cls, reason: str) -> GateDecision:
        """The answer to what cannot be decided: the person has to be asked."""
        return cls(answer=Answer.ASK, reasons=(reason,))
