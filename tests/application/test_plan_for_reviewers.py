"""Reviewers hold a call against the plan that is in force when they are asked."""

from __future__ import annotations

import pytest

from quorum.application.event_bus import EventBus
from quorum.application.review.ballot_paper import QuorumPolicy
from quorum.application.review.review import Review
from quorum.application.review.rule_book import RuleBook
from quorum.application.review.voting import Voting
from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.calls.execution import Seal
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import RiskLevel, ToolCall
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import PhaseScopeChanged, PlanApproved, PlanWithdrawn
from quorum.domain.plan.plan import PhaseScope, read_plan
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Subject
from quorum.domain.review.plan_terms import CREATE_PLAN
from quorum.domain.review.requested_scope import RequestedScope
from tests.support.builders import a_context
from tests.support.fake_gateway import FakeGateway
from tests.support.fake_ports import FakePerson

PLAN = read_plan(
    {"objective": "a parser", "reasoning": "", "tasks": [{"id": "a", "description": "b", "writes": ["src/**"]}]}
)
PACKET = ReviewPacket(
    call=ToolCall(tool_name="deploy", arguments={}, native_id="c"), context=a_context(0), seal=Seal(cwd="/ws")
)


async def test_a_reviewer_reads_the_approved_plan_until_it_is_withdrawn() -> None:
    events = EventBus([])
    down = ProviderError("down", kind=ProviderErrorKind.CONNECTION)
    gateway = FakeGateway({"r/1": [down, down]})
    review = Review(
        person=FakePerson(),
        paths=PathPolicy(roots=("/ws",)),
        mode=Mode.QUORUM,
        events=events,
        rules=RuleBook(),
        voting=Voting(gateway=gateway, policy=QuorumPolicy(reviewers=("r/1",)), events=events),
    )
    subject = Subject(tool="deploy", risk=RiskLevel.HIGH, access=EXCLUSIVE)
    await events.record(PlanApproved(context=a_context(0), plan=PLAN, digest=PLAN.digest))
    await review.gather(PACKET, RequestedScope(task="go"), review.feed(subject, as_advice=False))
    await events.record(PlanWithdrawn(reason="over"))
    await review.gather(PACKET, RequestedScope(task="go"), review.feed(subject, as_advice=False))

    bound, free = (str(session.sent[0].messages) for session in gateway.sessions)
    assert "- writes: src/**" in bound
    assert "src/**" not in free


@pytest.mark.parametrize(
    ("scopes", "reviewers"),
    [
        ([PhaseScope.FULL], 1),
        ([PhaseScope.PLAN_ONLY], 1),
        ([PhaseScope.FAST], 0),
        ([PhaseScope.FAST, PhaseScope.PLAN_ONLY], 0),
    ],
    ids=["full", "plan-only", "fast", "plan-only before fast"],
)
async def test_models_are_asked_about_a_plan_unless_the_scope_is_fast(
    scopes: list[PhaseScope], reviewers: int
) -> None:
    events = EventBus([])
    review = Review(
        person=FakePerson(),
        paths=PathPolicy(roots=("/ws",)),
        mode=Mode.QUORUM,
        events=events,
        rules=RuleBook(),
        voting=Voting(gateway=FakeGateway({}), policy=QuorumPolicy(reviewers=("r/1",)), events=events),
    )
    for scope in scopes:
        await events.record(PhaseScopeChanged(scope=scope))
    plan = Subject(tool=CREATE_PLAN, risk=RiskLevel.LOW, access=EXCLUSIVE)
    other = Subject(tool="deploy", risk=RiskLevel.HIGH, access=EXCLUSIVE)

    assert len(review.feed(plan, as_advice=False).reviewers) == reviewers
    assert len(review.feed(other, as_advice=False).reviewers) == 1
