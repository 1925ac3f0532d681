"""One body for all who answer for the person without a screen, and what a wrong kind of answer comes to."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from quorum.application.event_bus import EventBus
from quorum.application.inbox import InboxApprover
from quorum.application.ports.people import (
    Approver,
    PersonAnswer,
    Question,
    ReviewQuestion,
    SandboxQuestion,
)
from quorum.application.review.approvers import DeferringApprover, MaskingApprover, NonInteractiveApprover
from quorum.application.session.server_questions import ServerQuestions
from quorum.application.spend_limiter import SpendLimiter
from quorum.domain.calls.execution import Seal
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.conversation.cost import PriceTable, SpendCap, SpendCaps, SpendQuestion
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import SpendCapReached
from quorum.domain.events.masking import SecretMask
from quorum.domain.mcp.server_question import (
    FieldChoice,
    FieldKind,
    FormField,
    ServerAction,
    ServerAddress,
    ServerAnswer,
    ServerForm,
)
from quorum.domain.replacing import replace
from quorum.domain.review.questions import Approve, NobodyThere, ReviewAnswer, ReviewRequest
from quorum.domain.sessions.trust import TrustItem, TrustQuestion
from quorum.gate.gate_service import CallerApprover
from quorum.gate.gate_sessions import UnaskedApprover
from quorum.infrastructure.trust_decisions import TrustDecisions
from tests.support.builders import a_call, a_context
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.fake_storage import FakeAnswers
from tests.support.review_contexts import a_review_context
from tests.support.reviews import a_review

PACKET = ReviewPacket(call=a_call("write"), context=a_context(), seal=Seal(cwd="/ws"))
REQUEST = ReviewRequest(packet=PACKET, reasons=(), batch_size=1, is_recorded_whole=False)
FORM = ServerForm(server="plain", call="deploy", message="Where to?")
ADDRESS = ServerAddress(server="plain", call="deploy", message="Sign here", address="https://sign.example/")
TRUST = TrustQuestion(folder="/ws", items=(TrustItem(file="/ws/AGENTS.md", digest="d", wants=("speak",)),))
SPEND = SpendQuestion(cap=SpendCap.TOKENS, models=("p/a",), limit=Decimal(1), spent=Decimal(0))


class Answering:
    """Gives every question the same answer."""

    is_there = True

    def __init__(self, answer: PersonAnswer) -> None:
        self._answer = answer

    async def ask(self, question: Question) -> PersonAnswer:
        return self._answer


@pytest.fixture(params=["nobody", "deferring", "unasked", "caller", "masking", "inbox", "fake"])
def approver(request: pytest.FixtureRequest) -> Approver:
    match request.param:
        case "nobody":
            return NonInteractiveApprover()
        case "deferring":
            return DeferringApprover()
        case "unasked":
            return UnaskedApprover()
        case "caller":
            return CallerApprover(FakePerson(), "an agent", Path("/ws"))
        case "masking":
            return MaskingApprover(FakePerson(), SecretMask())
        case "inbox":
            return InboxApprover(FakePerson(), FakeAnswers(), "s")
        case _:
            return FakePerson()


async def test_each_question_has_an_answer_of_its_own_kind(approver: Approver) -> None:
    assert isinstance(await approver.ask(ReviewQuestion(REQUEST, a_review_context())), ReviewAnswer)
    assert isinstance(await approver.ask(FORM), ServerAnswer)
    assert isinstance(await approver.ask(ADDRESS), ServerAnswer)
    assert await approver.ask(TRUST) is False
    assert await approver.ask(SPEND) is False
    assert await approver.ask(SandboxQuestion("bubblewrap")) is False


@pytest.mark.parametrize("question", [TRUST, SPEND, SandboxQuestion("bubblewrap")])
async def test_a_wrapper_passes_on_what_is_not_its_own_as_it_is(question: Question) -> None:
    for answer in (True, False, None):
        person = Answering(answer)
        for wrapper in (MaskingApprover(person, SecretMask()), InboxApprover(person, FakeAnswers(), "s")):
            assert await wrapper.ask(question) is answer


@pytest.mark.parametrize("question", [FORM, ADDRESS])
async def test_a_question_of_a_server_is_shown_without_secrets(question: ServerForm | ServerAddress) -> None:
    mask, person = SecretMask(), FakePerson()
    mask.learn("KEY", "s3cr3t-value-of-it")

    await MaskingApprover(person, mask).ask(replace(question, message="is it s3cr3t-value-of-it?"))

    assert person.server_questions == [replace(question, message="is it [secret:KEY]?")]


async def test_a_form_of_a_server_is_shown_without_secrets_and_asks_for_the_same_values() -> None:
    mask, person, secret = SecretMask(), FakePerson(), "s3cr3t-value-of-it"
    mask.learn("KEY", secret)
    choices = (FieldChoice(value="a", title=f"use {secret}"), FieldChoice(value="b", title="b"))
    key = FormField(name="key", title=f"Is {secret} it?", kind=FieldKind.TEXT, default=secret)
    way = FormField(
        name="way",
        title="How",
        description=f"not {secret}",
        kind=FieldKind.CHOICE,
        choices=choices,
        default="a",
    )

    await MaskingApprover(person, mask).ask(replace(FORM, fields=(key, way)))

    (shown,) = person.server_questions
    hidden = (FieldChoice(value="a", title="use [secret:KEY]"), choices[1])
    assert shown == replace(
        FORM,
        fields=(
            replace(key, title="Is [secret:KEY] it?", default=None),
            replace(way, description="not [secret:KEY]", choices=hidden),
        ),
    )


@pytest.mark.parametrize("answer", [True, None, ServerAnswer(action=ServerAction.ACCEPT)])
async def test_a_call_is_withheld_where_the_answer_is_none_to_a_review(answer: PersonAnswer) -> None:
    review = a_review(person=Answering(answer), events=EventBus([]))

    assert await review.ask(REQUEST, a_review_context()) == NobodyThere()


@pytest.mark.parametrize("answer", [None, Approve("d"), ServerAnswer(action=ServerAction.ACCEPT)])
async def test_what_is_no_plain_yes_is_a_no(answer: PersonAnswer) -> None:
    person, seen = Answering(answer), RecordingObserver()
    limiter = SpendLimiter(
        SpendCaps({SpendCap.TOKENS: Decimal(1)}), prices=PriceTable(), approver=person, events=EventBus([seen])
    )

    assert not await TrustDecisions(None).ask(TRUST, person)
    assert not await ServerQuestions(person, EventBus([])).trust(TRUST)
    with pytest.raises(SpendCapReached):
        await limiter.admit("p/a", Usage(input=10), may_ask=True)
    assert seen.events == []


@pytest.mark.parametrize("answer", [True, None, Approve("d")])
async def test_a_server_is_told_that_nobody_decided_where_the_answer_is_none_to_it(
    answer: PersonAnswer,
) -> None:
    given = await ServerQuestions(Answering(answer), EventBus([])).ask(FORM)

    assert given == ServerAnswer(action=ServerAction.CANCEL)
