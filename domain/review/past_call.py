"""A call of an earlier turn or session, with what became of its permission."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.text.json_value import JsonObject


class PastAnswer(StrEnum):
    """What became of a past call: the person's answer, or what was decided without one.

    WITHHELD: it would have been asked about, and nobody was there. UNASKED: it was allowed without a question.
    """

    REJECTED = "rejected"
    DENIED = "denied"
    WITHHELD = "withheld"
    APPROVED = "approved"
    UNASKED = "unasked"


class PastCall(Struct, frozen=True, kw_only=True):
    """A call that was decided about once. `arguments` are those that it had when that was, after an edit."""

    tool: str
    arguments: JsonObject
    risk: RiskLevel
    answer: PastAnswer
