"""An answer that is nothing but a call written as text: the model is told so, and it is never run."""

from __future__ import annotations

import pytest

from application.view.entries import AnswerEntry, Notice
from application.view.session_view import SessionView
from domain.conversation.history import UserMessage
from domain.conversation.response import LlmResponse
from domain.events.event import CallLeaked
from domain.events.reading import event_from_json
from domain.events.report import RunStatus
from domain.sessions.past_session import LedgerRecord
from domain.sessions.replay import replay_state
from tests.application.test_run_agent import READ, Bench, reads
from tests.support.fake_session import Step

LEAKED = LlmResponse.from_text('{"name": "read", "arguments": {"cell": "a"}}')
TOLD = (
    "Your last answer was a call of read written as text, so nothing ran. Call the tool itself if that is what "
    "you want; otherwise answer in words."
)


@pytest.mark.requirement("E01")
async def test_the_model_is_reported_and_may_make_the_call() -> None:
    bench = Bench(LEAKED, reads("a"), LlmResponse.from_text("done"))

    report = await bench.agent.execute("go")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "done")
    assert [call.tool for call in report.calls] == ["read"]
    assert bench.session.sent[1].messages[-1] == UserMessage(TOLD)
    (leaked,) = bench.observer.of(CallLeaked)
    assert event_from_json(leaked.to_json()) == leaked == CallLeaked(tool="read")


@pytest.mark.requirement("E01")
async def test_after_two_times_the_answer_stands_and_nothing_has_run() -> None:
    bench = Bench(LEAKED, LEAKED, LEAKED)

    report = await bench.agent.execute("go")

    assert (report.status, report.text, report.calls) == (RunStatus.COMPLETED, LEAKED.text_content(), ())
    assert len(bench.session.sent) == 3
    assert len(bench.observer.of(CallLeaked)) == 2


async def test_the_next_turn_counts_anew() -> None:
    bench = Bench(LEAKED, LEAKED, LEAKED, LEAKED, LlmResponse.from_text("fine"))
    await bench.agent.execute("go")

    assert (await bench.agent.execute("again")).text == "fine"


async def test_a_call_of_a_tool_that_is_not_offered_is_an_answer() -> None:
    text = '{"name": "write", "arguments": {}}'
    bench = Bench(LlmResponse.from_text(text), offered=[READ])

    assert (await bench.agent.execute("go")).text == text
    assert bench.observer.of(CallLeaked) == []


async def test_what_streamed_is_marked_below_it_live_and_when_the_session_is_resumed() -> None:
    view = SessionView()

    class Watching:
        def notify(self, event: object) -> None:
            view.apply(event)  # type: ignore[arg-type]

    streamed = Step(answer=LEAKED, first=('{"name": "read", ', '"arguments": {"cell": "a"}}'))
    bench = Bench(streamed, LlmResponse.from_text("done"), observers=[Watching()])
    await bench.agent.execute("go")

    kinds = [entry for entry in view.entries if isinstance(entry, AnswerEntry | Notice)]
    first, marked, second = kinds
    assert isinstance(first, AnswerEntry)
    assert isinstance(marked, Notice)
    assert isinstance(second, AnswerEntry)
    assert marked.text.startswith("that is no answer but a call of read written as text")
    durable = [event for event in bench.observer.events if event.durable]
    state = replay_state(LedgerRecord(seq=n, at_ms=n, event=e) for n, e in enumerate(durable))
    assert state.messages == bench.conversation.messages
