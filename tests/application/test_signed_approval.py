"""Calls that people have to sign: nothing but enough signatures that hold lets one run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from quorum.application.inbox import InboxApprover
from quorum.application.ports.people import PersonAnswer, Question, ReviewQuestion
from quorum.application.review.approvers import NonInteractiveApprover
from quorum.application.review.signed_approval import SigningApprover
from quorum.application.view.wording import describe_approval
from quorum.domain.calls.execution import Seal
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.errors import LedgerError, SigningRefused
from quorum.domain.replacing import replace
from quorum.domain.review.questions import (
    Approve,
    ApproveAlways,
    ApproveRest,
    DecisionLabel,
    NobodyThere,
    Reject,
    RemoteAnswer,
    ReviewRequest,
    RuleScope,
)
from quorum.domain.review.signing import ApprovalSignature, SigningDemand, SigningTerms
from tests.support.builders import a_call, a_context
from tests.support.fake_answers import FakeAnswers
from tests.support.review_contexts import a_review_context

PACKET = ReviewPacket(
    call=a_call("run_command", {"command": "deploy"}), context=a_context(), seal=Seal(cwd="/w")
)
DIGEST = PACKET.digest
TERMS = SigningTerms(demands=(SigningDemand(2, ("bob", "cyn", "dan")),), requester="ada")

A_NO = RemoteAnswer(session_id="s", digest=DIGEST, approves=False, reason="not now", answered_by="cyn", at_ms=1)


class Answers:
    """A person who gives these answers in turn, and then none."""

    is_there = True

    def __init__(self, *answers: PersonAnswer) -> None:
        self._answers = list(answers)
        self.asked: list[ReviewRequest] = []
        self.waits = asyncio.Event()

    async def ask(self, question: Question) -> PersonAnswer:
        assert isinstance(question, ReviewQuestion)
        self.asked.append(question.request)
        if self._answers:
            return self._answers.pop(0)
        self.waits.set()
        return await asyncio.get_running_loop().create_future()


def signature(person: str, **more: str) -> ApprovalSignature:
    made = ApprovalSignature(session_id="s", digest=DIGEST, person=person, at_ms=1, signature=f"of {person}")
    return replace(made, **more)


async def verify(given: ApprovalSignature) -> str:
    """Holds what its person made."""
    return "" if given.signature == f"of {given.person}" else "it was made with another key"


def signing_as(person: str):
    async def sign(session_id: str, digest: str, _terms: SigningTerms) -> ApprovalSignature:
        return signature(person, session_id=session_id, digest=digest)

    return sign


async def refuse_to_sign(_session_id: str, _digest: str, _terms: SigningTerms) -> ApprovalSignature:
    raise SigningRefused("no key here is one that the policy names")


QUESTION = ReviewQuestion(
    ReviewRequest(packet=PACKET, reasons=("the mode is ask",), batch_size=1, signing=TERMS, proposals=("x",)),
    a_review_context(),
)


def approver_of(person: object, answers: FakeAnswers | None, sign=refuse_to_sign) -> SigningApprover:
    inbox = InboxApprover(person, answers, "s", look_secs=0)
    return SigningApprover(person, inbox, answers, "s", sign=sign, verify=verify, look_secs=0)


async def add_all(answers: FakeAnswers, *signatures: ApprovalSignature) -> FakeAnswers:
    for each in signatures:
        await answers.add_signature(each)
    return answers


async def test_enough_signatures_let_it_run_and_are_handed_on() -> None:
    answers = await add_all(FakeAnswers(), signature("bob"), signature("dan"))

    answer = await approver_of(NonInteractiveApprover(), answers).ask(QUESTION)

    assert answer == Approve(DIGEST, by="bob, dan", signatures=(signature("bob"), signature("dan")))


@pytest.mark.parametrize(
    "given",
    [
        (),
        (signature("bob"),),
        (signature("bob"), signature("ada")),
        (signature("bob"), signature("eve")),
        (signature("bob"), signature("cyn", signature="of eve")),
        (signature("bob"), signature("cyn", digest="0" * 64)),
        (signature("bob"), signature("cyn", session_id="t")),
    ],
)
async def test_too_few_that_hold_let_nothing_run(given: Sequence[ApprovalSignature]) -> None:
    answers = await add_all(FakeAnswers(), *given)

    assert await approver_of(NonInteractiveApprover(), answers).ask(QUESTION) == NobodyThere()


async def test_a_yes_without_a_signature_counts_neither_here_nor_from_elsewhere() -> None:
    answers = FakeAnswers()
    await answers.add(replace(A_NO, approves=True, reason=None))
    widened = ApproveAlways(DIGEST, ("run_command",), RuleScope.SESSION)
    person = Answers(Approve(DIGEST), ApproveRest((DIGEST,)), widened, Reject("enough"))

    assert await approver_of(person, answers).ask(QUESTION) == Reject("enough")

    assert "your yes does not count: no key here is one that the policy names" in person.asked[1].reasons
    assert person.asked[0].proposals == ()
    assert person.asked[0].reasons[0].startswith("it takes the signatures of 2 of bob, cyn, dan; ada asked")


async def test_a_yes_here_is_one_signature_and_the_others_come_meanwhile() -> None:
    answers, person = FakeAnswers(), Answers(Approve(DIGEST))
    asking = asyncio.create_task(approver_of(person, answers, signing_as("bob")).ask(QUESTION))
    await person.waits.wait()

    assert await answers.list_signatures("s", DIGEST) == (signature("bob"),)
    assert "signed by bob; still to sign: 1 of cyn, dan" in person.asked[-1].reasons
    await answers.add_signature(signature("cyn"))

    assert await asking == Approve(DIGEST, by="bob, cyn", signatures=(signature("bob"), signature("cyn")))


async def test_who_asked_for_it_cannot_approve_it() -> None:
    person = Answers(Approve(DIGEST), Reject("enough"))
    answers = await add_all(FakeAnswers(), signature("bob"))

    assert await approver_of(person, answers, signing_as("ada")).ask(QUESTION) == Reject("enough")
    assert "ada asked for it, and so does not count" in person.asked[-1].reasons


async def test_a_no_of_anybody_ends_it_also_after_signatures() -> None:
    answers, person = await add_all(FakeAnswers(), signature("bob")), Answers()
    asking = asyncio.create_task(approver_of(person, answers).ask(QUESTION))
    await person.waits.wait()

    await answers.add(
        RemoteAnswer(
            session_id="s", digest=DIGEST, approves=False, reason="not now", answered_by="cyn", at_ms=1
        )
    )

    assert await asking == Reject("not now", by="cyn")


async def test_a_call_that_nobody_has_to_sign_is_asked_about_as_ever() -> None:
    plain = ReviewQuestion(replace(QUESTION.request, signing=None), QUESTION.context)

    assert await approver_of(Answers(Approve(DIGEST)), FakeAnswers()).ask(plain) == Approve(DIGEST)


async def test_where_nothing_is_kept_or_can_be_read_nothing_counts() -> None:
    class Away(FakeAnswers):
        async def list_signatures(self, session_id: str, digest: str) -> tuple[ApprovalSignature, ...]:
            raise LedgerError("the server is away")

        async def add_signature(self, signature: ApprovalSignature) -> None:
            raise LedgerError("the server is away")

    for answers, said in ((Away(), "the server is away"), (None, "nothing of this one is kept")):
        person = Answers(Approve(DIGEST), Reject("enough"))
        assert await approver_of(person, answers, signing_as("bob")).ask(QUESTION) == Reject("enough")
        assert any(said in reason for reason in person.asked[-1].reasons)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Approve(DIGEST), "you approved"),
        (Approve(DIGEST, by="ada@laptop"), "approved · in the inbox, by ada@laptop"),
        (
            Approve(
                DIGEST,
                by="bob",
                signatures=(ApprovalSignature(session_id="s", digest=DIGEST, person="bob", at_ms=1),),
            ),
            "approved · signed by bob",
        ),
    ],
)
def test_what_others_approved_is_not_said_to_be_approved_by_you(answer: Approve, said: str) -> None:
    assert describe_approval(DecisionLabel.APPROVED, answer.approvers) == said
