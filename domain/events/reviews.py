"""The review of a call: the question, the votes and the decision. The record of all votes on it is
`domain.review.quorum_result`."""

from __future__ import annotations

from typing import ClassVar

from domain.calls.execution import ToolExecutionContext
from domain.calls.packet import ReviewPacket
from domain.lazy_dataclass import dataclass
from domain.review.ballot import InScope
from domain.review.plan_objection import PlanObjection
from domain.review.questions import DecisionLabel


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequested:
    """A call was put to review.

    `routine_reasons` are those of the reasons that say no more than that the mode asks about such calls;
    earlier records have none. `edited`: the person had changed its arguments before.
    """

    type: ClassVar = "review_requested"
    durable: ClassVar = True
    context: ToolExecutionContext
    packet: ReviewPacket
    digest: str
    reasons: tuple[str, ...]
    routine_reasons: tuple[str, ...] = ()
    edited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteCast:
    """A reviewer answered about the packet of this digest. `objection` quotes what it objects to.

    `in_scope` is None where the reviewer failed, and in records from before it was asked. `lens` names the lens
    of the reviewer, None where it has none. `objections` are what it finds wrong with a plan. `measured` is
    what the person read in place of the confidence, how much harm the reviewer misses; empty where nothing was
    measured, and in records from before it was kept.
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
    objections: tuple[PlanObjection, ...] = ()
    measured: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDecided:
    """A review ended."""

    type: ClassVar = "review_decided"
    durable: ClassVar = True
    context: ToolExecutionContext
    digest: str
    decision: DecisionLabel
    reason: str | None
