"""A question of the model is asked as a review; its reply is what the model reads, whoever dies between."""

from __future__ import annotations

import pytest

from quorum.domain.conversation.response import LlmResponse
from quorum.domain.events.event import CallStarted, Event, ReviewDecided, ReviewRequested
from quorum.domain.events.report import RunStatus
from quorum.domain.replacing import replace
from quorum.domain.review.person_question import PersonReply
from quorum.domain.review.questions import (
    Approve,
    NobodyThere,
    RemoteAnswer,
)
from quorum.infrastructure.tools.builtin.ask_person import AskPerson
from tests.application.test_run_agent import Bench
from tests.application.test_session_resume import results, up_to
from tests.support.builders import a_call, calls_response
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import FakePerson

QUESTION = {"question": "Which colour?", "options": [{"label": "Blue"}, {"label": "Green"}]}
ASKS = calls_response(a_call("ask_person", QUESTION, id_="q"))
DONE = LlmResponse.from_text("done")
OFFERED = ({"name": "ask_person", "description": "Asks.", "input_schema": {"type": "object"}},)


def replying(reply: PersonReply | None) -> FakePerson:
    return FakePerson(lambda request: Approve(request.packet.digest, reply=reply))


def a_bench(*script: LlmResponse, person: FakePerson, **more: object) -> Bench:
    return Bench(*script, person=person, tool=AskPerson("/work"), offered=OFFERED, **more)  # type: ignore[arg-type]


async def test_the_model_reads_what_the_person_chose() -> None:
    bench = a_bench(ASKS, DONE, person=replying(PersonReply(options=(2,), text="if it is dark")))

    report = await bench.agent.execute("paint it")

    assert report.status is RunStatus.COMPLETED
    assert list(results(bench)) == ["The person chose:\n- Green\n\nThe person wrote:\nif it is dark"]
    (decided,) = [event for event in bench.observer.events if isinstance(event, ReviewDecided)]
    assert decided.reply == results(bench)[0]


async def test_whoever_answers_elsewhere_with_words_is_recorded_as_one_who_asked() -> None:
    reply = PersonReply(text="deploy it")
    remote = RemoteAnswer(
        session_id="s", digest="", approves=True, reason=reply.encode(), answered_by="x@corp@host", at_ms=1
    )
    person = FakePerson(lambda request: replace(remote, digest=request.packet.digest).to_review_answer())
    bench = a_bench(ASKS, DONE, person=person)

    await bench.agent.execute("paint it")

    (decided,) = [event for event in bench.observer.events if isinstance(event, ReviewDecided)]
    assert decided.asked_by == ("x@corp",)


@pytest.mark.parametrize("reply", [None, PersonReply()])
async def test_without_a_reply_the_model_is_told_so_and_the_turn_goes_on(reply: PersonReply | None) -> None:
    bench = a_bench(ASKS, DONE, person=replying(reply))

    report = await bench.agent.execute("paint it")

    assert report.status is RunStatus.COMPLETED
    assert "closed the question without an answer" in results(bench)[0]


async def test_nobody_there_ends_the_run_with_the_question() -> None:
    bench = a_bench(ASKS, DONE, person=FakePerson(lambda _request: NobodyThere()))

    report = await bench.agent.execute("paint it")

    assert (report.status, report.exit_code, report.turns) == (RunStatus.NEEDS_APPROVAL, 3, 1)
    assert "nobody is there to answer" in results(bench)[0]


async def test_what_is_no_question_is_an_error_of_the_call_and_nobody_is_asked() -> None:
    person = replying(PersonReply(options=(1,)))
    one = calls_response(a_call("ask_person", {**QUESTION, "options": [{"label": "Blue"}]}, id_="q"))
    bench = a_bench(one, DONE, person=person)

    await bench.agent.execute("paint it")

    assert not person.requests
    assert "options is no list of 2 to 4 options" in results(bench)[0]


@pytest.mark.parametrize("last", [ReviewDecided, CallStarted])
async def test_a_reply_on_record_is_given_to_the_model_without_asking_again(last: type[Event]) -> None:
    ledger = FakeLedger("session-1")
    first = a_bench(ASKS, DONE, person=replying(PersonReply(options=(1,))), ledger=ledger)
    await first.front.open()
    await first.agent.execute("paint it")
    person = replying(PersonReply(options=(2,)))

    again = a_bench(DONE, person=person, ledger=FakeLedger("session-1"), past=up_to(ledger, last))
    await again.front.open()
    report = await again.agent.retry()

    assert report.status is RunStatus.COMPLETED
    assert list(results(again)) == ["The person chose:\n- Blue"]
    assert not person.requests


async def test_a_question_that_was_open_when_the_process_died_is_asked_again() -> None:
    ledger = FakeLedger("session-1")
    first = a_bench(ASKS, DONE, person=replying(PersonReply(options=(1,))), ledger=ledger)
    await first.front.open()
    await first.agent.execute("paint it")
    person = replying(PersonReply(options=(2,)))

    again = a_bench(DONE, person=person, ledger=FakeLedger("session-1"), past=up_to(ledger, ReviewRequested))
    await again.front.open()
    await again.agent.resume_pending()

    assert list(results(again)) == ["The person chose:\n- Green"]
    assert len(person.requests) == 1


def test_a_reply_from_another_process_arrives_as_it_was_given() -> None:
    reply = PersonReply(options=(2, 1), text="in\nturns")
    remote = RemoteAnswer(
        session_id="s", digest="d", approves=True, reason=reply.encode(), answered_by="ada@laptop", at_ms=1
    )

    assert remote.to_review_answer() == Approve("d", by="ada@laptop", reply=reply)
