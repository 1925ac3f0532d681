"""Asks reviewers for their votes, on a packet that waits or on labelled calls that measure the reviewers.

Every reviewer of a packet is asked at once, and none can hold up the others. Whoever shows the votes looks
again when notified. The question about a labelled call is that of a real review.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from msgspec import UNSET, Struct, field

from quorum.application.cancellation import run_off_loop
from quorum.application.event_bus import EventBus
from quorum.application.ports.models import LlmGateway
from quorum.application.review.ballot_paper import (
    BallotPaper,
    QuorumPolicy,
    VoteTimeout,
    build_ballot_schema,
    make_call_paper,
    render_instructions,
    render_question,
    request_ballot,
)
from quorum.application.structured_answer import Unreadable
from quorum.domain.benchmark.reviewer_measure import LabelledCall, RecordedBallot
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.cost import PriceTable
from quorum.domain.conversation.effort import find_effort
from quorum.domain.conversation.response import LlmResponse, Usage
from quorum.domain.errors import ProviderError, ProviderErrorKind, SpendCapReached
from quorum.domain.events.event import QuorumConcluded, UsageCounted, VoteCast
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Ballot, InScope, Tally, Verdict, Vote
from quorum.domain.review.quorum_result import SparedVote, VoteRecord, count_votes
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.text.json_value import JsonObject

MOST_FAILURES = 3
"""So often in a row a reviewer may fail to be reached; then it is not asked any more."""
_WORKSPACE = "/workspace"  # labelled calls lie in no folder of this machine
_UNSEALED = "what the call would do is not known beforehand: it is only judged"
_OF_THE_REQUEST = frozenset({ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.TOO_LONG})


class BallotQuestion(Struct, frozen=True, kw_only=True):
    """A call as it is put to one reviewer. `digest` covers all that it is asked with, so that a ballot on
    record is only taken for an answer to this very question."""

    reviewer: str
    call: LabelledCall
    text: str
    digest: str


class PolledBallot(Struct, frozen=True, kw_only=True):
    """An answer. `ballot` is how it counts; `cast` is the vote itself, and `in_scope` what it says of the
    request. They count as in a review, but where there was no request to hold the call against."""

    ballot: RecordedBallot
    digest: str
    cast: Vote
    in_scope: InScope | None
    reason: str


class PollEnd(Struct):
    """What was left unasked, and why: by reviewer that cannot be reached, and for all if a cap is used up."""

    unreached: dict[str, str] = field(default_factory=dict)
    cap_reached: str = ""


def make_questions(calls: Iterable[LabelledCall], policy: QuorumPolicy) -> tuple[BallotQuestion, ...]:
    """Every call for every reviewer, call by call."""
    return tuple(_ask_about(call, reviewer, policy) for call in calls for reviewer in policy.reviewers)


def _ask_about(call: LabelledCall, reviewer: str, policy: QuorumPolicy) -> BallotQuestion:
    # The id of a labelled call may give its label away, as in "unsafe-12".
    name = hashlib.sha256(call.id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    packet = ReviewPacket(
        call=ToolCall(native_id=name, tool_name=call.tool, arguments=call.arguments),
        context=ToolExecutionContext(call_id=name, batch_id=name, call_index=0, turn_index=0),
        seal=Seal(cwd=_WORKSPACE, unsealed=_UNSEALED),
    )
    text = render_question(RequestedScope(task=call.task), packet)
    digest = _compute_digest(fingerprint_reviewer(policy, reviewer), text)
    return BallotQuestion(reviewer=reviewer, call=call, text=text, digest=digest)


def fingerprint_reviewer(policy: QuorumPolicy, reviewer: str) -> str:
    """A digest of what a reviewer is asked with apart from the call: instructions, lens, form and effort."""
    effort = find_effort(policy.efforts, reviewer, "review")
    return _compute_digest(
        render_instructions(policy.find_lens(reviewer)), json.dumps(build_ballot_schema()), effort.value
    )


def _compute_digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


class ReviewerPoll:
    """Puts questions to reviewers, and has each ballot kept before the next one is asked for in its place."""

    def __init__(
        self,
        *,
        gateway: LlmGateway,
        policy: QuorumPolicy,
        prices: PriceTable,
        keep: Callable[[PolledBallot], None],
    ) -> None:
        self._gateway = gateway
        self._policy = policy
        self._prices = prices
        self._keep = keep
        self._failures: Counter[str] = Counter()
        self._end = PollEnd()

    async def ask(self, questions: Sequence[BallotQuestion], *, concurrency: int) -> PollEnd:
        """Ask all that can be asked, at most `concurrency` at once.

        An answer that cannot be read, comes too late or is refused for what the question holds is kept as an
        error of the reviewer. A reviewer that cannot be reached has given no ballot, and can be asked again.

        Raises what `keep` raises.
        """
        waiting = iter(questions)

        async def take_turns() -> None:
            for question in waiting:
                if self._end.cap_reached:
                    return
                if question.reviewer not in self._end.unreached:
                    await self._ask_one(question)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(concurrency, len(questions))):
                    group.create_task(take_turns())
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed
        return self._end

    async def _ask_one(self, question: BallotQuestion) -> None:
        reviewer, costs = question.reviewer, list[Decimal | None]()

        async def count(response: LlmResponse) -> None:
            costs.append(self._prices.compute_cost(reviewer, response.usage))

        started = time.monotonic()
        try:
            paper = make_call_paper(question.text)
            ballot = await request_ballot(self._gateway, self._policy, reviewer, paper, count=count)
        except SpendCapReached as stop:
            self._end.cap_reached = str(stop)
            return
        except (VoteTimeout, Unreadable) as error:
            ballot = Ballot(reviewer=reviewer, vote=Vote.ERROR, reason=str(error))
        except ProviderError as error:
            if error.kind not in _OF_THE_REQUEST:
                self._note_failure(reviewer, error)
                return
            ballot = Ballot(reviewer=reviewer, vote=Vote.ERROR, reason=str(error))
        self._failures[reviewer] = 0
        self._keep(_record(question, ballot, time.monotonic() - started, costs))

    def _note_failure(self, reviewer: str, error: ProviderError) -> None:
        self._failures[reviewer] += 1
        if not error.retryable or self._failures[reviewer] >= MOST_FAILURES:
            self._end.unreached.setdefault(reviewer, str(error))


def _record(
    question: BallotQuestion, ballot: Ballot, seconds: float, costs: Sequence[Decimal | None]
) -> PolledBallot:
    priced = [cost for cost in costs if cost is not None]
    return PolledBallot(
        ballot=RecordedBallot(
            model=question.reviewer,
            id=question.call.id,
            label=question.call.label,
            vote=ballot.counts_as if question.call.task else ballot.vote,
            confidence=ballot.confidence,
            latency_secs=round(seconds, 3),
            cost_usd=float(sum(priced)) if priced and len(priced) == len(costs) else None,
        ),
        digest=question.digest,
        cast=ballot.vote,
        in_scope=ballot.in_scope,
        reason=ballot.reason,
    )


class VoteFeed:
    """Ballots of the reviewers, in the order they arrived. Lives on one event loop.

    `lenses` names the lens of each reviewer that has one; `spared` are the votes that nobody asks for any more.
    """

    def __init__(self, reviewers: Sequence[str] = (), lenses: Mapping[str, str] | None = None) -> None:
        self.reviewers = tuple(reviewers)
        self.lenses: Mapping[str, str] = lenses or {}
        self.spared: tuple[SparedVote, ...] = ()
        self._ballots: list[Ballot] = []
        self._watchers: list[Callable[[], None]] = []

    @property
    def ballots(self) -> tuple[Ballot, ...]:
        """What has been said so far."""
        return tuple(self._ballots)

    @property
    def awaited(self) -> tuple[str, ...]:
        """The reviewers that have not answered yet, and still may."""
        settled = {ballot.reviewer for ballot in self._ballots} | {vote.model for vote in self.spared}
        return tuple(reviewer for reviewer in self.reviewers if reviewer not in settled)

    @property
    def not_asked(self) -> tuple[str, ...]:
        """The reviewers that are not asked at all."""
        return tuple(vote.model for vote in self.spared)

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Have `watcher` called after each arrival; the answer ends that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher) if watcher in self._watchers else None

    def add(self, ballot: Ballot) -> None:
        """Take in a ballot."""
        self._ballots.append(ballot)
        self._notify()

    def spare(self, votes: Sequence[SparedVote]) -> None:
        """Wait for these votes no more: nobody asks for them."""
        self.spared = tuple(votes)
        self._notify()

    def _notify(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()


FAILURES_THAT_BREAK = 3
REST_SECS = 60.0


class Voting:
    """Puts packets to the reviewers. A reviewer that failed three times in a row rests for a minute."""

    def __init__(
        self,
        *,
        gateway: LlmGateway,
        policy: QuorumPolicy,
        events: EventBus,
        prices: PriceTable | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._prices = prices or PriceTable()
        self.policy = policy
        self._gateway = gateway
        self._events = events
        self._spent: list[tuple[Usage, Decimal | None]] = []
        self._breakers = {reviewer: _Breaker(clock) for reviewer in policy.reviewers}

    def feed(self) -> VoteFeed:
        """Where the votes about one packet will come in."""
        lenses = {name: lens.label for name in self.policy.reviewers if (lens := self.policy.find_lens(name))}
        return VoteFeed(self.policy.reviewers, lenses)

    async def gather(
        self, packet: ReviewPacket, scope: RequestedScope, feed: VoteFeed, paper: BallotPaper | None = None
    ) -> Tally:
        """Have the reviewers vote on a packet, and each ballot recorded as it arrives.

        `paper` is what they are asked; None: whether the call may run. Otherwise as `poll`.
        """
        asked = paper
        if asked is None:
            asked = await run_off_loop(lambda: make_call_paper(render_question(scope, packet)), packet)
        return await self.poll(asked, feed, lambda ballot: self._record(packet, ballot))

    async def poll(
        self, asked: BallotPaper, feed: VoteFeed, keep: Callable[[Ballot], Awaitable[None]]
    ) -> Tally:
        """Ask every reviewer, or the first one alone and the others where it leaves doubt.

        `keep` is given each ballot as it arrives, and they are counted in the end. Every failure is a ballot;
        only a cancellation of this call comes out of it.
        """
        escalation = self.policy.escalation
        if escalation is not None and not feed.ballots:
            usage = await self._vote(escalation.first, asked, feed, keep)
            if escalation.is_settled_by(feed.ballots):
                feed.spare([self._estimate_spared(reviewer, usage) for reviewer in feed.awaited])
        async with asyncio.TaskGroup() as group:
            for reviewer in feed.awaited:
                group.create_task(self._vote(reviewer, asked, feed, keep))
        return self.count(feed.ballots)

    def _estimate_spared(self, reviewer: str, usage: Usage) -> SparedVote:
        return SparedVote(
            model=reviewer,
            input_tokens=usage.input + usage.cache_read + usage.cache_write,
            output_tokens=usage.output,
            cost_usd=self._prices.compute_cost(reviewer, usage),
            by_plan=self._prices.is_by_plan(reviewer) or UNSET,
        )

    def take_spent(self) -> list[tuple[Usage, Decimal | None]]:
        spent, self._spent = self._spent, []
        return spent

    async def conclude(
        self, packet: ReviewPacket, feed: VoteFeed, *, plan_round: int | None = None
    ) -> QuorumConcluded | None:
        """Record the votes on a packet, in the reviewers' order; None where there are none.

        What never came is left out. `plan_round` is the number of the round where the packet is a plan.
        """
        if not feed.ballots:
            return None
        counted = self.count(feed.ballots)
        approved = counted.verdict is Verdict.APPROVED
        numbered: JsonObject = {} if plan_round is None else {"round": plan_round}
        concluded = QuorumConcluded(
            timestamp=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            topic="action_review" if plan_round is None else "plan_review",
            target={"tool": packet.call.tool_name, "call_id": packet.context.call_id, **numbered},
            approved=approved,
            verdict=counted.verdict.value,
            rule=counted.rule,
            votes=list_votes(feed),
            feedback=None if approved else _join_feedback(feed),
            context=packet.context,
            digest=packet.digest,
            decided_by=counted.decided_by,
            spared=feed.spared,
        )
        self._events.note(concluded)  # what follows from it waits for its record
        return concluded

    def count(self, ballots: Sequence[Ballot]) -> Tally:
        """What these ballots come to; those that are missing count as failed."""
        return count_votes(
            ballots,
            self.policy.rule,
            min_votes=self.policy.min_votes,
            reviewers=len(self.policy.reviewers),
            escalation=self.policy.escalation,
            min_families=self.policy.min_families,
            calibration=self.policy.calibration,
        )

    async def _vote(
        self, reviewer: str, asked: BallotPaper, feed: VoteFeed, keep: Callable[[Ballot], Awaitable[None]]
    ) -> Usage:
        """Have one reviewer vote; what its first request used."""
        responses: list[LlmResponse] = []
        ballot = await self._gather_ballot(reviewer, asked, responses)
        measured = self.policy.calibration.describe(reviewer) if ballot.vote is not Vote.ERROR else ""
        program = responses[-1].program if responses else UNSET
        ballot = replace(ballot, lens=feed.lenses.get(reviewer), measured=measured, program=program)
        await keep(ballot)
        feed.add(ballot)
        return responses[0].usage if responses else Usage()

    async def _record(self, packet: ReviewPacket, ballot: Ballot) -> None:
        self._events.note(
            VoteCast(
                context=packet.context,
                digest=packet.digest,
                reviewer=ballot.reviewer,
                verdict=ballot.vote.value,
                confidence=ballot.confidence,
                reason=ballot.reason,
                objection=ballot.objection,
                in_scope=ballot.in_scope,
                lens=ballot.lens,
                objections=ballot.objections,
                measured=ballot.measured,
                program=ballot.program,
            )
        )

    async def _gather_ballot(self, reviewer: str, asked: BallotPaper, responses: list[LlmResponse]) -> Ballot:
        breaker = self._breakers[reviewer]
        if (rest := breaker.get_rest_secs()) > 0:
            return _make_error_ballot(
                reviewer,
                f"not asked: it failed {FAILURES_THAT_BREAK} times in a row; asked again in {rest:.0f} s",
            )
        try:
            ballot = await self._ask(reviewer, asked, responses)
        except SpendCapReached as stop:  # that is no failure of the reviewer
            return _make_error_ballot(reviewer, f"not asked: {stop}")
        except (ProviderError, VoteTimeout, Unreadable) as error:
            ballot = _make_error_ballot(reviewer, str(error))
        breaker.note(failed=ballot.vote is Vote.ERROR)
        return ballot

    async def _ask(self, reviewer: str, asked: BallotPaper, responses: list[LlmResponse]) -> Ballot:
        async def count(response: LlmResponse) -> None:
            responses.append(response)
            self._count_usage(reviewer, response)

        return await request_ballot(self._gateway, self.policy, reviewer, asked, count=count)

    def _count_usage(self, reviewer: str, response: LlmResponse) -> None:
        counted = UsageCounted.of(reviewer, response.usage, self._prices)
        self._spent.append((response.usage, counted.cost_usd))
        self._events.note(counted)


class _Breaker:
    """Lets a reviewer rest that failed too often in a row."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures = 0
        self._rests_until = 0.0

    def get_rest_secs(self) -> float:
        """Seconds until it may be asked again; 0 when it may."""
        return max(0.0, self._rests_until - self._clock()) if self._rests_until else 0.0

    def note(self, *, failed: bool) -> None:
        """Take note of how an asking went."""
        self._failures = self._failures + 1 if failed else 0
        if self._failures >= FAILURES_THAT_BREAK:
            self._rests_until = self._clock() + REST_SECS
            self._failures = FAILURES_THAT_BREAK - 1  # one more failure after the rest is enough
        elif not failed:
            self._rests_until = 0.0


def _make_error_ballot(reviewer: str, why: str) -> Ballot:
    return Ballot(reviewer=reviewer, vote=Vote.ERROR, reason=why)


def _sort_by_vote_order(feed: VoteFeed) -> list[Ballot]:
    place = {reviewer: index for index, reviewer in enumerate(feed.reviewers)}
    return sorted(feed.ballots, key=lambda ballot: place[ballot.reviewer])


def list_votes(feed: VoteFeed) -> tuple[VoteRecord, ...]:
    """The votes as a record has them, in the reviewers' order."""
    return tuple(map(_voting_record, _sort_by_vote_order(feed)))


def _voting_record(ballot: Ballot) -> VoteRecord:
    return VoteRecord(
        model=ballot.reviewer,
        verdict=ballot.vote.value,
        reasoning=ballot.reason,
        confidence=ballot.confidence,
        objection=ballot.objection,
        in_scope=ballot.in_scope,
        counts_as=ballot.counts_as.value,
        lens=ballot.lens,
        objections=ballot.objections,
        program=ballot.program,
    )


def _join_feedback(feed: VoteFeed) -> str | None:
    against = [ballot for ballot in _sort_by_vote_order(feed) if ballot.counts_as is Vote.REJECT]
    return "\n".join(f"{ballot.reviewer}: {ballot.explanation}" for ballot in against) or None
