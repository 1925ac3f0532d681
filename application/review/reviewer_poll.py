"""Asking reviewers about labelled calls, to measure them: the question is that of a real review."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

from msgspec import Struct, field

from quorum.application.ports.models import LlmGateway
from quorum.application.review.ballot_paper import (
    build_ballot_schema,
    make_call_paper,
    render_instructions,
    render_question,
    request_ballot,
)
from quorum.application.review.quorum_policy import QuorumPolicy
from quorum.application.structured_answer import Unreadable
from quorum.domain.benchmark.labelled_call import LabelledCall, RecordedBallot
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.seal import Seal
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.cost import PriceTable
from quorum.domain.conversation.effort import find_effort
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ProviderError, ProviderErrorKind, SpendCapReached
from quorum.domain.review.ballot import Ballot, InScope, Vote
from quorum.domain.review.requested_scope import RequestedScope

MOST_FAILURES = 3
"""So often in a row a reviewer may fail to be reached; then it is not asked any more."""
_WORKSPACE = "/workspace"  # labelled calls lie in no folder of this machine
_UNSEALED = "what the call would do is not sealed: it is only judged"
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
        except TimeoutError:
            limit = self._policy.vote_timeout_secs
            ballot = Ballot(reviewer=reviewer, vote=Vote.ERROR, reason=f"no vote within {limit:g} s")
        except Unreadable as error:
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
