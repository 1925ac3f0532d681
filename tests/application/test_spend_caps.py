"""Spend caps: no request is sent that would exceed one, unless the person raises it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from decimal import Decimal

import pytest

from quorum.application.context_manager import Summariser
from quorum.application.event_bus import EventBus
from quorum.application.review.ballot_paper import QuorumPolicy
from quorum.application.review.voting import Voting
from quorum.application.spend_limiter import MeteredGateway, SpendLimiter
from quorum.domain.calls.execution import Seal
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.conversation.cost import Price, PriceTable, SpendCap, SpendCaps
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import LlmResponse, Usage
from quorum.domain.errors import SpendCapReached
from quorum.domain.events.event import ErrorOccurred, Event, SpendCapRaised, UsageCounted, event_from_json
from quorum.domain.events.report import RunStatus
from quorum.domain.review.ballot import Vote
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.sessions.session_summary import LedgerRecord
from tests.application.test_run_agent import DOWN, Bench, reads
from tests.support.builders import a_call, a_context
from tests.support.fake_gateway import Answers, FakeGateway, ballot
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.fake_session import Step

ONE = Price(input=Decimal(1), output=Decimal(1), cache_read=Decimal(1), cache_write=Decimal(1))
PRICES = {"fake/model": ONE, "p/a": ONE, "p/b": ONE, "p/c": ONE}


def caps(**limits: int | str) -> SpendCaps:
    return SpendCaps({SpendCap(name): Decimal(limit) for name, limit in limits.items()})


def used(response: LlmResponse, tokens: int) -> LlmResponse:
    usage = Usage(input=tokens)
    return LlmResponse(content=response.content, stop_reason=response.stop_reason, usage=usage)


def said(text: str, tokens: int) -> LlmResponse:
    return used(LlmResponse.from_text(text), tokens)


def willing(raises: int = 1) -> FakePerson:
    person = FakePerson()
    person.raises = raises
    return person


def nobody() -> FakePerson:
    person = FakePerson()
    person.is_there = False
    return person


# ------------------------------------------------------------------ a turn


@pytest.mark.parametrize("cap", ["max_tokens", "max_tokens_per_turn"])
async def test_where_nobody_is_there_the_turn_ends_before_a_cap_is_exceeded(cap: str) -> None:
    bench = Bench(used(reads("a"), 900), said("never asked", 1), caps=caps(**{cap: 1_000}), person=nobody())

    report = await bench.agent.execute("go")

    assert len(bench.session.sent) == 1
    assert (report.status, report.stop_reason, report.exit_code) == (RunStatus.LIMIT, cap, 5)
    assert f"agent.{cap} = 1,000 tokens" in str(report.to_json()["error"])
    assert "has used 900 tokens" in str(report.error)
    assert bench.observer.of(ErrorOccurred) == [ErrorOccurred(message=str(report.error))]
    assert bench.paired()


async def test_a_cap_on_the_cost_ends_the_turn_as_one_on_tokens_does() -> None:
    limit = caps(max_cost_usd="0.01")
    bench = Bench(used(reads("a"), 9_900), said("never", 1), caps=limit, person=nobody(), prices=PRICES)

    report = await bench.agent.execute("go")

    assert (report.status, report.stop_reason) == (RunStatus.LIMIT, "max_cost_usd")
    assert "has used $0.0099" in str(report.error)
    assert len(bench.session.sent) == 1


async def test_the_person_is_asked_before_a_cap_is_exceeded_and_may_raise_it_by_the_same_amount() -> None:
    bench = Bench(used(reads("a"), 900), said("done", 500), caps=caps(max_tokens=1_000), person=willing())

    report = await bench.agent.execute("go")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "done")
    (question,) = bench.person.spend_questions
    assert (question.limit, question.spent, question.raise_to) == (1_000, 900, 2_000)
    (raised,) = bench.observer.of(SpendCapRaised)
    assert raised == SpendCapRaised(cap=SpendCap.TOKENS, by=Decimal(1_000), limit=Decimal(2_000))
    assert event_from_json(raised.to_json()) == raised
    (standing,) = bench.limiter.standings
    assert (standing.limit, standing.spent) == (2_000, 1_400)


async def test_a_person_who_does_not_raise_it_can_have_the_turn_taken_up_and_is_asked_again() -> None:
    bench = Bench(used(reads("a"), 900), said("done", 10), caps=caps(max_tokens=1_000))
    assert (await bench.agent.execute("go")).status is RunStatus.LIMIT
    bench.person.raises = 2

    report = await bench.agent.retry()

    assert (report.status, report.text) == (RunStatus.COMPLETED, "done")
    assert len(bench.person.spend_questions) == 2


async def test_what_a_cap_is_raised_to_has_room_for_the_next_request() -> None:
    bench = Bench(used(reads("a"), 3_900), said("done", 1), caps=caps(max_tokens=1_000), person=willing())

    await bench.agent.execute("go")

    (question,) = bench.person.spend_questions
    assert (question.raise_to, question.estimate) == (8_000, 7_824)  # as long a prompt again, and a bit


async def test_a_cap_of_a_turn_begins_anew_with_the_next_one_and_forgets_that_it_was_raised() -> None:
    bench = Bench(
        used(reads("a"), 900),
        said("one", 10),
        said("two", 900),
        caps=caps(max_tokens_per_turn=1_000),
        person=willing(),
    )
    await bench.agent.execute("first")
    assert bench.limiter.standings[0].limit == 2_000

    report = await bench.agent.execute("second")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "two")
    (standing,) = bench.limiter.standings
    assert (standing.limit, standing.spent) == (1_000, 900)


async def test_a_cap_of_the_session_counts_what_was_spent_in_a_process_before_this_one() -> None:
    spent = UsageCounted(model="fake/model", usage=Usage(input=900))
    bench = Bench(said("never", 1), caps=caps(max_tokens=1_000), past=past(spent), person=nobody())

    report = await bench.agent.execute("go")

    assert report.status is RunStatus.LIMIT
    assert bench.session.sent == []


async def test_a_cap_that_was_raised_stays_raised_when_the_session_is_taken_up_again() -> None:
    spent = UsageCounted(model="fake/model", usage=Usage(input=900))
    raised = SpendCapRaised(cap=SpendCap.TOKENS, by=Decimal(1_000), limit=Decimal(2_000))
    bench = Bench(said("done", 1), caps=caps(max_tokens=1_000), past=past(spent, raised), person=nobody())

    assert (await bench.agent.execute("go")).status is RunStatus.COMPLETED


def past(*events: Event) -> tuple[LedgerRecord, ...]:
    return tuple(LedgerRecord(seq=n, at_ms=n, event=event) for n, event in enumerate(events))


async def test_esc_takes_the_question_back_and_interrupts_the_turn() -> None:
    asked = asyncio.Event()

    class Hesitant(FakePerson):
        async def raise_cap(self, question: object) -> bool:
            asked.set()
            await asyncio.Event().wait()
            return True

    bench = Bench(used(reads("a"), 900), said("never", 1), caps=caps(max_tokens=1_000), person=Hesitant())
    running = asyncio.create_task(bench.agent.execute("go"))
    await asked.wait()
    running.cancel()

    assert (await running).status is RunStatus.INTERRUPTED
    assert bench.paired()


async def test_without_a_cap_nothing_stands_between_a_session_and_its_model() -> None:
    bench = Bench(said("done", 10**9))

    assert (await bench.agent.execute("go")).status is RunStatus.COMPLETED
    assert bench.limiter.standings == ()
    assert bench.way.chosen is bench.session


# ------------------------------------------------------------------ no price


async def test_without_a_price_a_cap_on_the_cost_stops_a_run_before_its_first_request() -> None:
    bench = Bench(said("never", 1), caps=caps(max_cost_usd=1), person=nobody())

    report = await bench.agent.execute("go")

    assert (report.status, bench.session.sent) == (RunStatus.LIMIT, [])
    assert "no price is known for fake/model" in str(report.error)
    assert '[prices."fake/model"]' in str(report.error)
    assert bench.limiter.build_unpriced_notices(["fake/model"]) == (str(report.error),)


async def test_without_a_price_the_person_is_asked_once_and_may_go_on_without_the_cap() -> None:
    bench = Bench(used(reads("a"), 10**6), said("done", 10**6), caps=caps(max_cost_usd=1), person=willing())

    assert (await bench.agent.execute("go")).status is RunStatus.COMPLETED

    (question,) = bench.person.spend_questions
    assert (question.raise_to, question.models) == (None, ("fake/model",))
    assert bench.observer.of(SpendCapRaised) == []


async def test_without_a_price_a_cap_on_tokens_is_kept() -> None:
    bench = Bench(said("done", 10), caps=caps(max_tokens=10_000), person=nobody())

    assert (await bench.agent.execute("go")).status is RunStatus.COMPLETED
    assert bench.limiter.build_unpriced_notices(["fake/model"]) == ()


# ------------------------------------------------------------------ requests at the same time


class Votes:
    """Reviewers who vote within caps."""

    def __init__(
        self, limits: SpendCaps, scripts: Mapping[str, Answers], *, prices: Mapping[str, Price] = PRICES
    ) -> None:
        self.seen = RecordingObserver()
        events = EventBus([self.seen])
        self.gateway = FakeGateway(scripts)
        self.person = willing(99)
        self.limiter = SpendLimiter(limits, prices=PriceTable(prices), approver=self.person, events=events)
        self.voting = Voting(
            gateway=MeteredGateway(self.gateway, self.limiter, may_ask=False),
            policy=QuorumPolicy(reviewers=tuple(scripts)),
            events=events,
        )

    async def gather(self) -> dict[str, Vote]:
        feed = self.voting.feed()
        packet = ReviewPacket(
            call=a_call("run_command", {"command": "make"}), context=a_context(), seal=Seal(cwd="/w")
        )
        await self.voting.gather(packet, RequestedScope(task="do it"), feed)
        self.reasons = {b.reviewer: b.reason for b in feed.ballots}
        return {b.reviewer: b.vote for b in feed.ballots}


async def test_reviewers_at_once_are_asked_only_as_far_as_all_of_them_fit_under_the_cap() -> None:
    approve = [Step(answer=used(ballot("approve"), 1_000))]
    one = Votes(caps(max_tokens=10**6), {"p/a": approve})
    await one.gather()
    estimate = one.limiter.standings[0].spent  # about what each of them is expected to take
    votes = Votes(caps(max_tokens=int(2.5 * float(estimate))), {f"p/{name}": list(approve) for name in "abc"})

    given = await votes.gather()

    assert len(votes.gateway.sessions) == 3
    asked = [session for session in votes.gateway.sessions if session.sent]
    assert 1 <= len(asked) <= 2
    assert sorted(given.values()).count(Vote.ERROR) == 3 - len(asked)
    refused = next(reason for name, reason in votes.reasons.items() if given[name] is Vote.ERROR)
    assert refused.startswith("not asked: this session has used")
    assert votes.person.spend_questions == []
    assert votes.limiter.standings[0].spent == 1_000 * len(asked)


async def test_a_reviewer_that_a_cap_kept_from_being_asked_does_not_rest() -> None:
    votes = Votes(caps(max_tokens=1), {"p/a": [ballot("approve")]})

    for _ in range(5):
        assert await votes.gather() == {"p/a": Vote.ERROR}

    assert "not asked: this session" in votes.reasons["p/a"]


async def test_a_request_that_failed_before_its_first_byte_costs_nothing() -> None:
    bench = Bench(DOWN, caps=caps(max_tokens=10**6))

    await bench.agent.execute("go")

    assert bench.limiter.standings[0].spent == 0


async def test_text_that_arrived_before_a_failure_is_paid_for() -> None:
    bench = Bench(Step(answer=DOWN, first=("half an",)), caps=caps(max_tokens=10**6))

    await bench.agent.execute("go")

    assert bench.limiter.standings[0].spent > 0


async def test_a_summary_that_shortens_the_conversation_is_counted_and_is_not_made_past_the_cap() -> None:
    votes = Votes(caps(max_tokens=10_000), {"p/a": [said("a summary", 4_000)] * 2})
    votes.person.raises = 0
    gateway = MeteredGateway(votes.gateway, votes.limiter)
    summariser = Summariser(gateway=gateway, events=EventBus([]))
    past = [UserMessage("x" * 20_000)]

    summary = await summariser.summarise("p/a", past, record_bytes=30_000, summary_bytes=900, focus=None)
    spent = votes.limiter.standings[0].spent
    with pytest.raises(SpendCapReached, match="has used 4,000 tokens"):
        await summariser.summarise("p/a", past * 2, record_bytes=60_000, summary_bytes=900, focus=None)

    assert (summary, spent) == ("a summary", 4_000)
    assert len(votes.person.spend_questions) == 1
    assert len([session for session in votes.gateway.sessions if session.sent]) == 1
