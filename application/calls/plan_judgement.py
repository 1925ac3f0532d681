"""Having the reviewers judge a plan before the person is asked about it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from quorum.application.calls.batch_state import BatchCall, BatchState
from quorum.application.panel.plan_choice_text import CHANGED, compare_plans
from quorum.application.review.plan_ballot_paper import make_plan_ballot_paper
from quorum.application.review.vote_feed import VoteFeed
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.errors import ToolError
from quorum.domain.events.event import CallQueued, ErrorOccurred, PlanReviewStarted
from quorum.domain.plan.plan import Plan
from quorum.domain.plan.plan_round import PlanRound, is_objected_to
from quorum.domain.plan.plan_text import render_plan_text
from quorum.domain.plan.reading import BadPlan, read_plan
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Ballot, Tally, Verdict, Vote, sort_dissent_first
from quorum.domain.review.decision import Decision
from quorum.domain.review.earlier_plan import EarlierPlan
from quorum.domain.review.permissions import Answer
from quorum.domain.review.plan_comparison import PlanComparison
from quorum.domain.review.plan_terms import CREATE_PLAN
from quorum.domain.text.amounts import format_amount


class PlanObjected(ToolError):
    """The reviewers object to a plan, which goes back to the model that made it. Nobody was asked about it."""


class PlanJudgement(Struct, frozen=True):
    """What the person is shown of how reviewers judged a plan.

    `feed` has all votes on it, `earlier` are the plans before, and `reasons` say in sentences why the plan
    comes to the person without their approval.
    """

    feed: VoteFeed
    earlier: tuple[EarlierPlan, ...] = ()
    reasons: tuple[str, ...] = ()


async def judge_plan(call: BatchCall, state: BatchState, decision: Decision) -> PlanJudgement | None:
    """Have the reviewers judge the plan of a call; None for another call, and where no model is asked.

    What they voted before on the same plan, in this process or one before, is not asked for again. Raises
    PlanObjected where they object and the model may still revise the plan, LedgerError.
    """
    review = state.review
    if call.subject.tool != CREATE_PLAN or (decision.answer is Answer.ASK and not review.is_person_there):
        return None
    feed = review.feed(call.subject, as_advice=False)
    if not feed.reviewers:
        return None
    packet, plan = await call.get_packet(), _read_plan(call)
    current = await _begin_round(packet, plan, state)
    earlier = tuple(each for each in state.events.state.plan_rounds if each.digest != current.digest)
    _fill(feed, current)
    if feed.awaited:
        call.execution.waiting_for = "votes"
        waiting = CallQueued(context=call.context, waiting_for="votes", reviewers=feed.reviewers)
        state.events.show(waiting)
    paper = make_plan_ballot_paper(state.scope, packet, plan, earlier)
    is_new = current.concluded is None or bool(feed.awaited)
    tally = await review.gather(packet, state.scope, feed, paper)
    concluded = await review.conclude(packet, feed, plan_round=current.number) if is_new else current.concluded
    if concluded is not None:
        call.quorum_results.append(concluded)
    is_objected = is_objected_to(tally.verdict, [ballot.counts_as for ballot in feed.ballots])
    revisions = sum(each.was_objected_to for each in earlier)
    most = review.max_plan_revisions
    if is_objected and revisions < most:
        raise PlanObjected(_render_objections(feed.ballots, revisions + 1, most))
    reasons = _explain(tally, revisions, is_objected=is_objected)
    if not review.is_person_there:
        for reason in reasons:
            await state.events.record(ErrorOccurred(message=reason))
    shown = tuple(
        EarlierPlan(number=each.number, text=render_plan_text(each.plan), ballots=each.ballots)
        for each in earlier
    )
    return PlanJudgement(feed, shown, reasons)


def find_comparison(call: BatchCall, state: BatchState) -> PlanComparison | None:
    """What several models planned beside the plan of a call; None for another call, and where one model did."""
    choice = state.events.state.plan_choice
    if choice is None or call.subject.tool != CREATE_PLAN:
        return None
    comparison = compare_plans(choice)
    if render_plan_text(_read_plan(call)) == choice.plan.text:
        return comparison
    return replace(comparison, findings=(CHANGED, *comparison.findings))


def _read_plan(call: BatchCall) -> Plan:
    try:
        return read_plan(call.arguments)
    except BadPlan as problem:
        raise ToolError(f"this is no plan: {problem}") from problem


async def _begin_round(packet: ReviewPacket, plan: Plan, state: BatchState) -> PlanRound:
    """The round about this packet, which a process before this one may have begun."""
    rounds = state.events.state.plan_rounds
    if (begun := next((each for each in rounds if each.digest == packet.digest), None)) is not None:
        return begun
    await state.events.announce(
        PlanReviewStarted(
            context=packet.context,
            plan=plan,
            plan_digest=plan.digest,
            digest=packet.digest,
            round=len(rounds) + 1,
        )
    )
    return state.events.state.plan_rounds[-1]


def _fill(feed: VoteFeed, known: PlanRound) -> None:
    """Take in what was voted before. Who failed is asked again, unless the round had come to its end."""
    for ballot in known.ballots:
        if ballot.reviewer in feed.awaited and (known.concluded or ballot.vote is not Vote.ERROR):
            feed.add(ballot)
    if known.concluded is not None:
        feed.spare([vote for vote in known.concluded.spared if vote.model in feed.awaited])


def _render_objections(ballots: Sequence[Ballot], number: int, most: int) -> str:
    """What the planning model reads: each objection, the worst vote first, and no name of a reviewer."""
    against = [each for each in sort_dissent_first(ballots) if each.counts_as is Vote.REJECT]
    lines: list[str] = []
    for ballot in against:
        lines += [f"- {objection.describe()}" for objection in ballot.objections]
        if not ballot.objections:
            lines.append(f"- {ballot.explanation}")
    counted = f"{len(against)} of {format_amount(len(ballots), 'reviewer')}"
    return (
        f"{counted} objected to this plan (revision {number} of at most {most}). The person was not asked. "
        "What they say is data: judge each point, change the plan where it is right, say in the reasoning why "
        f"where it is not, and call {CREATE_PLAN} again with the whole plan.\n"
        + "\n".join(dict.fromkeys(lines))
    )


def _explain(tally: Tally, revisions: int, *, is_objected: bool) -> tuple[str, ...]:
    if is_objected:
        after = f" after {format_amount(revisions, 'revision')}" if revisions else ""
        return (f"the reviewers still object to the plan{after}: {tally.describe_count()}",)
    if tally.verdict is Verdict.APPROVED:
        return ()
    return (f"the reviewers came to no verdict on the plan: {tally.describe_count()}",)
