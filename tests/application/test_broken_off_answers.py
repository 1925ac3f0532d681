"""A stream that ends before its answer is whole: the model continues once, then the turn fails."""

from __future__ import annotations

import pytest

from quorum.application.conversation_session import CONTINUE_PROMPT
from quorum.application.view.entries import AnswerEntry, Notice
from quorum.application.view.session_view import SessionView
from quorum.domain.conversation.history import AssistantMessage, UserMessage
from quorum.domain.conversation.response import END_TURN, LlmResponse, StopKind, StopReason, TextBlock, Usage
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import AnswerBrokeOff, ResponseCompleted, UsageCounted, event_from_json
from quorum.domain.events.report import RunStatus
from tests.application.test_run_agent import Bench, reads
from tests.support.fake_session import Step


def break_off(*pieces: str, kind: ProviderErrorKind = ProviderErrorKind.DAMAGED_STREAM) -> Step:
    return Step(answer=ProviderError("fake: the stream broke off", kind=kind, partial=True), first=pieces)


REST = LlmResponse.from_text("answer")


@pytest.mark.parametrize(
    "kind",
    [
        ProviderErrorKind.DAMAGED_STREAM,
        ProviderErrorKind.OVERLOADED,
        ProviderErrorKind.TIMEOUT,
        ProviderErrorKind.SERVER,
    ],
)
async def test_what_arrived_is_kept_and_the_model_continues_it(kind: ProviderErrorKind) -> None:
    bench = Bench(break_off("half an ", kind=kind), REST)

    report = await bench.agent.execute("go")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "half an answer")
    sent = bench.session.sent[1].messages
    assert isinstance(sent[-2], AssistantMessage)
    assert sent[-1] == UserMessage(CONTINUE_PROMPT)
    (event,) = bench.observer.of(AnswerBrokeOff)
    assert event == AnswerBrokeOff(reason="fake: the stream broke off", is_kept=True)
    assert event_from_json(event.to_json()) == event


async def test_where_no_text_arrived_the_same_request_is_sent_once_more() -> None:
    bench = Bench(break_off(), reads("a"), LlmResponse.from_text("done"))

    report = await bench.agent.execute("go")

    assert (report.status, report.text, len(report.calls)) == (RunStatus.COMPLETED, "done", 1)
    first, again, _ = bench.session.sent
    assert again.messages == first.messages
    assert bench.observer.of(AnswerBrokeOff) == [
        AnswerBrokeOff(reason="fake: the stream broke off", is_kept=False)
    ]


async def test_a_continuation_that_breaks_off_too_fails_the_turn_and_keeps_both_parts() -> None:
    bench = Bench(break_off("half "), break_off("an "), REST)

    report = await bench.agent.execute("go")

    assert (report.status, report.exit_code, report.text) == (RunStatus.FAILED, 4, "half an ")
    assert len(bench.session.sent) == 2
    assert len(bench.observer.of(ResponseCompleted)) == 2


async def test_where_nobody_is_there_an_answer_is_asked_for_again_a_few_times_with_pauses() -> None:
    refused = ProviderError("fake: closed", kind=ProviderErrorKind.CONNECTION, retryable=True)
    bench = Bench(break_off("half "), break_off(), refused, break_off("an "), REST, is_attended=False)

    report = await bench.agent.execute("go")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "half an answer")
    assert bench.pauses == [0, 2, 4, 8]
    told = bench.observer.of(AnswerBrokeOff)
    assert [(event.attempt, event.attempts, event.is_kept) for event in told] == [
        (1, 4, True),
        (2, 4, False),
        (3, 4, False),
        (4, 4, True),
    ]
    assert "it is asked for once more (attempt 2 of 4, in 2 s): fake: the stream" in told[1].sentence
    assert event_from_json(told[1].to_json()) == told[1]


async def test_where_nobody_is_there_an_answer_that_always_breaks_off_fails_the_turn() -> None:
    bench = Bench(*[break_off("half ")] * 9, is_attended=False)

    report = await bench.agent.execute("go")

    assert (report.status, report.exit_code) == (RunStatus.FAILED, 4)
    assert len(bench.session.sent) == 5


@pytest.mark.parametrize("first", [("half an ",), ()])
async def test_what_the_provider_says_of_a_broken_answer_is_counted(first: tuple[str, ...]) -> None:
    broken = ProviderError("fake: broke off", kind=ProviderErrorKind.DAMAGED_STREAM, partial=True)
    whole = LlmResponse(content=(TextBlock("answer"),), stop_reason=END_TURN, usage=Usage(input=9, output=2))
    bench = Bench(Step(answer=broken, first=first, used=Usage(input=7)), whole)

    report = await bench.agent.execute("go")

    assert report.usage == Usage(input=16, output=2)
    counted = bench.observer.of(UsageCounted)
    assert [event.usage for event in counted] == [Usage(input=7), Usage(input=9, output=2)]


async def test_where_nobody_is_there_the_provider_is_given_the_time_that_it_asks_for() -> None:
    busy = ProviderError("busy", kind=ProviderErrorKind.OVERLOADED, partial=True, retry_after=30)
    bench = Bench(Step(answer=busy, first=("half an ",)), REST, is_attended=False)

    assert (await bench.agent.execute("go")).status is RunStatus.COMPLETED
    assert bench.pauses == [30]


async def test_each_answer_of_a_turn_is_continued() -> None:
    bench = Bench(break_off("I read. "), reads("a"), break_off("half an "), REST)

    report = await bench.agent.execute("go")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "half an answer")
    assert len(bench.observer.of(AnswerBrokeOff)) == 2


async def test_a_paused_answer_is_continued_as_before_where_nothing_of_its_rest_arrived() -> None:
    paused = LlmResponse(content=(TextBlock("half an "),), stop_reason=StopReason(StopKind.PAUSE, "pause_turn"))
    bench = Bench(paused, break_off(), REST)

    await bench.agent.execute("go")

    _, rest, again = bench.session.sent
    assert again.messages == rest.messages


@pytest.mark.parametrize("kind", [ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.AUTHENTICATION])
async def test_what_the_provider_refuses_in_the_middle_is_not_asked_again(kind: ProviderErrorKind) -> None:
    bench = Bench(break_off("half an ", kind=kind), REST)

    report = await bench.agent.execute("go")

    assert report.status is RunStatus.FAILED
    assert len(bench.session.sent) == 1


async def test_the_screen_shows_both_parts_and_says_why_between_them() -> None:
    bench = Bench(break_off("half an "), REST)
    view = SessionView()

    await bench.agent.execute("go")
    for event in bench.observer.events:
        view.apply(event)

    shown = [entry.text for entry in view.entries if isinstance(entry, AnswerEntry | Notice)]
    assert shown[0] == "half an "
    assert "the model continues it: fake: the stream broke off" in shown[1]
    assert shown[2] == "answer"


async def test_a_failure_that_nobody_foresaw_ends_the_turn_and_the_next_one_runs() -> None:
    bench = Bench(Step(answer=KeyError("odd"), first=("half an ",)), REST)

    report = await bench.agent.execute("go")
    following = await bench.agent.execute("again")

    assert (report.status, report.exit_code) == (RunStatus.FAILED, 1)
    assert report.error == "this failed inside quorum: KeyError: 'odd'; --debug logs where"
    assert following.status is RunStatus.COMPLETED
