"""The review of a call: the question, the votes and the decision. The record of all votes on it is
`quorum.domain.review.quorum_result`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.fact import CallStage, Fact
from quorum.domain.review.ballot import InScope
from quorum.domain.review.plan_objection import PlanObjection
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.struct_json import check_version
from quorum.domain.text.json_value import JsonObject


class ReviewRequested(Fact, frozen=True, kw_only=True, tag="review_requested"):
    """A call was put to review.

    `routine_reasons` are those of the reasons that say no more than that the mode asks about such calls;
    earlier records have none. `edited`: the person had changed its arguments before.
    """

    place: ClassVar = CallStage.REVIEW
    context: ToolExecutionContext
    packet: ReviewPacket
    digest: str
    reasons: tuple[str, ...]
    routine_reasons: tuple[str, ...] = ()
    edited: bool = False

    def to_json(self) -> JsonObject:
        """The stable JSON form; the packet is in its canonical one."""
        return {**super().to_json(), "packet": self.packet.to_json()}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """The event that `to_json` made this of. Raises Unfit."""
        if isinstance(packet := value.get("packet"), Mapping):
            check_version(packet, "version", newest=1, place=("packet",))
            value = {**value, "packet": ReviewPacket.sort_into_fields(packet)}
        return super().from_json(value)


class VoteCast(Fact, frozen=True, kw_only=True, tag="vote_cast"):
    """A reviewer answered about the packet of this digest. `objection` quotes what it objects to.

    `in_scope` is None where the reviewer failed, and in records from before it was asked. `lens` names the lens
    of the reviewer, None where it has none. `objections` are what it finds wrong with a plan. `measured` is
    what the person read in place of the confidence, how much harm the reviewer misses; empty where nothing was
    measured, and in records from before it was kept.
    """

    place: ClassVar = CallStage.VOTE
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


class ReviewDecided(Fact, frozen=True, kw_only=True, tag="review_decided"):
    """A review ended."""

    place: ClassVar = CallStage.DECISION
    context: ToolExecutionContext
    digest: str
    decision: DecisionLabel
    reason: str | None
