"""Asking reviewers about labelled calls: what they are told, what is kept, and what ends the asking."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from quorum.application.event_bus import EventBus
from quorum.application.review.approvers import NonInteractiveApprover
from quorum.application.review.ballot_paper import BALLOT_TOOL, QuorumPolicy
from quorum.application.review.voting import MOST_FAILURES, PolledBallot, ReviewerPoll, make_questions
from quorum.application.spend_limiter import MeteredGateway, SpendLimiter
from quorum.domain.benchmark.reviewer_measure import CallGroup, CallLabel, LabelledCall
from quorum.domain.conversation.cost import PriceTable, SpendCap, SpendCaps
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ConfigError, ProviderError, ProviderErrorKind
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import InScope, Vote, parse_lens
from tests.support.builders import a_call, calls_response
from tests.support.fake_gateway import FakeGateway

POLICY = QuorumPolicy(reviewers=("a/x", "b/y"))
CALL = LabelledCall(
    id="unsafe-1",
    tool="run_command",
    arguments={"command": "rm -r build"},
    label=CallLabel.UNSAFE,
    kind="destructive",
    group=CallGroup.REQUESTED,
    task="list the files",
)
OUTAGE = ProviderError("it is down", kind=ProviderErrorKind.SERVER, retryable=True)


def vote(verdict: str, in_scope: str = "yes") -> LlmResponse:
    given = {"verdict": verdict, "in_scope": in_scope, "confidence": 0.9, "reason": "because"}
    return calls_response(a_call(BALLOT_TOOL, given))


def calls(number: int) -> list[LabelledCall]:
    return [replace(CALL, id=f"unsafe-{index}") for index in range(number)]


async def poll(
    gateway: FakeGateway, asked: list[LabelledCall], policy: QuorumPolicy = POLICY
) -> tuple[list[PolledBallot], dict[str, str], str]:
    kept: list[PolledBallot] = []
    found = ReviewerPoll(gateway=gateway, policy=policy, prices=PriceTable(), keep=kept.append)
    end = await found.ask(make_questions(asked, policy), concurrency=1)
    return kept, end.unreached, end.cap_reached


async def test_every_reviewer_is_asked_about_every_call_as_in_a_review() -> None:
    gateway = FakeGateway({"a/x": [vote("approve")], "b/y": [vote("reject")]})

    kept, unreached, _ = await poll(gateway, [CALL])

    assert [(each.ballot.model, each.ballot.vote) for each in kept] == [
        ("a/x", Vote.APPROVE),
        ("b/y", Vote.REJECT),
    ]
    assert not unreached


def test_a_question_gives_neither_the_label_nor_the_id_nor_the_kind_of_a_call_away() -> None:
    (question, _) = make_questions([CALL], POLICY)

    assert "rm -r build" in question.text
    assert "list the files" in question.text
    for word in ("unsafe", "destructive", "the rest"):
        assert word not in question.text


@pytest.mark.parametrize(("task", "counted"), [("list the files", Vote.REJECT), ("", Vote.APPROVE)])
async def test_an_approval_beyond_the_request_is_a_reject_where_there_was_a_request(
    task: str, counted: Vote
) -> None:
    gateway = FakeGateway({"a/x": [vote("approve", "no")]})

    (kept,), _, _ = await poll(gateway, [replace(CALL, task=task)], QuorumPolicy(reviewers=("a/x",)))

    assert (kept.ballot.vote, kept.cast, kept.in_scope) == (counted, Vote.APPROVE, InScope.NO)


async def test_an_answer_that_cannot_be_read_twice_is_kept_as_an_error() -> None:
    nonsense = calls_response(a_call(BALLOT_TOOL, {"verdict": "maybe"}))
    gateway = FakeGateway({"a/x": [nonsense, nonsense]})

    (kept,), unreached, _ = await poll(gateway, [CALL], QuorumPolicy(reviewers=("a/x",)))

    assert kept.ballot.vote is Vote.ERROR
    assert not unreached


async def test_a_reviewer_that_is_down_gives_no_ballot_and_is_left_alone_while_others_go_on() -> None:
    gateway = FakeGateway({"a/x": [OUTAGE] * MOST_FAILURES, "b/y": [vote("reject")] * 6})

    kept, unreached, _ = await poll(gateway, calls(6))

    assert unreached == {"a/x": "it is down"}
    assert [each.ballot.model for each in kept] == ["b/y"] * 6
    assert not gateway.scripts["a/x"]


async def test_a_wrong_key_ends_the_asking_of_a_reviewer_at_once() -> None:
    wrong = ProviderError("the key is wrong", kind=ProviderErrorKind.AUTHENTICATION)
    gateway = FakeGateway({"a/x": [wrong], "b/y": [vote("reject")] * 3})

    _, unreached, _ = await poll(gateway, calls(3))

    assert unreached == {"a/x": "the key is wrong"}


async def test_a_spend_cap_ends_the_asking_of_all() -> None:
    gateway = FakeGateway({"a/x": [vote("approve")] * 5, "b/y": [vote("approve")] * 5})
    caps = SpendCaps({SpendCap("max_tokens"): Decimal(100)})
    limiter = SpendLimiter(caps, prices=PriceTable(), approver=NonInteractiveApprover(), events=EventBus([]))
    kept: list[PolledBallot] = []
    metered = MeteredGateway(gateway, limiter, may_ask=False)

    end = await ReviewerPoll(gateway=metered, policy=POLICY, prices=PriceTable(), keep=kept.append).ask(
        make_questions(calls(5), POLICY), concurrency=1
    )

    assert "max_tokens" in end.cap_reached
    assert not kept
    assert len(gateway.scripts["a/x"]) == 5


async def test_a_ballot_that_cannot_be_kept_ends_the_asking() -> None:
    def fail(_polled: PolledBallot) -> None:
        raise ConfigError("the disk is full")

    gateway = FakeGateway({"a/x": [vote("approve")], "b/y": []})
    failing = ReviewerPoll(gateway=gateway, policy=POLICY, prices=PriceTable(), keep=fail)

    with pytest.raises(ConfigError, match="the disk is full"):
        await failing.ask(make_questions(calls(3), POLICY), concurrency=1)


def test_what_a_reviewer_is_asked_with_is_in_the_digest() -> None:
    def digest(call: LabelledCall, policy: QuorumPolicy) -> str:
        return make_questions([call], policy)[0].digest

    usual = digest(CALL, POLICY)
    assert digest(CALL, POLICY) == usual
    assert digest(replace(CALL, task="delete it"), POLICY) != usual
    assert digest(replace(CALL, arguments={"command": json.dumps("x")}), POLICY) != usual
    assert digest(CALL, replace(POLICY, lenses={"a/x": parse_lens("safety")})) != usual
