"""The review of a call: the question, the votes and the decision. The record of all votes on it is
`domain.review.quorum_result`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from domain.calls.execution import ToolExecutionContext
from domain.calls.packet import ReviewPacket
from domain.review.ballot import InScope
from domain.review.questions import DecisionLabel


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequested:
    """A call was put to review."""

    type: ClassVar = "review_requested"
    durable: ClassVar = True
    context: ToolExecutionContext
    packet: ReviewPacket
    digest: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteCast:
    """A reviewer answered about the packet of this digest. `objection` quotes what it objects to.

    `in_scope` is None where the reviewer failed, and in records from before it was asked. `lens` names the lens
    of the reviewer, None where it has none.
    """

    type: ClassVar = "vote_cast"
    durable: ClassVar = True
    context: ToolExecutionContext
    digest: str
    reviewer: str
    verdict: str
    confidence: float | None
    reason: str
    objection: str | None = None
    in_scope: InScope | None = None
    lens: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDecided:
    """A review ended."""

    type: ClassVar = "review_decided"
    durable: ClassVar = True
    context: ToolExecutionContext
    digest: str
    decision: DecisionLabel
    reason: str | None
