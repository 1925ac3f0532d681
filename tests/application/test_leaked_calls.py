"""An answer that calls a tool in its text: the model is told so once, and it is never run."""

from __future__ import annotations

import pytest

from quorum.application.view.entries import AnswerEntry, Notice
from quorum.application.view.session_view import SessionView
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.events.event import CallLeaked, event_from_json
from quorum.domain.events.report import RunStatus
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord
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
    told = CallLeaked(tool="read", parser="llama", provider="fake")
    assert event_from_json(leaked.to_json()) == leaked == told


async def test_a_model_that_makes_up_a_tool_is_told_which_one_does_that() -> None:
    made_up = LlmResponse.from_text('{"name": "run", "arguments": {"command": "ls"}}')
    tools = [READ, {**READ, "name": "run_command"}]
    bench = Bench(made_up, reads("a"), LlmResponse.from_text("done"), offered=tools)

    await bench.agent.execute("go")

    assert bench.session.sent[1].messages[-1] == UserMessage(
        "Your last answer was a call written as text, so nothing ran; and there is no tool named 'run'; use "
        "run_command; the tools are: read, run_command. Call one of them if that is what you want; otherwise "
        "answer in words."
    )


@pytest.mark.requirement("E01")
async def test_a_turn_that_ends_with_one_has_failed_and_says_what_helps() -> None:
    bench = Bench(LEAKED, LEAKED)

    report = await bench.agent.execute("go")

    assert (report.status, report.calls) == (RunStatus.FAILED, ())
    assert report.error == (
        "the model wrote a call of read as text, so nothing ran; "
        '[providers.fake] tool_parser = "llama" has such calls read (F8 in the app writes it)'
    )
    assert len(bench.session.sent) == 2
    assert len(bench.observer.of(CallLeaked)) == 2


async def test_a_turn_without_any_call_has_failed_though_the_model_says_that_it_made_one() -> None:
    claim = "I called the `read` function with the cell `a`."
    bench = Bench(LEAKED, LlmResponse.from_text(claim))

    report = await bench.agent.execute("go")

    assert (report.status, report.text, report.calls) == (RunStatus.FAILED, claim, ())
    assert report.error is not None
    assert report.error.startswith("the model wrote a call of read as text, so nothing ran; ")


async def test_a_turn_that_made_calls_may_end_with_words_after_one() -> None:
    bench = Bench(reads("a"), LEAKED, LlmResponse.from_text("done"))

    assert (await bench.agent.execute("go")).status is RunStatus.COMPLETED


async def test_the_next_turn_counts_anew() -> None:
    bench = Bench(
        LEAKED, LEAKED, LEAKED, reads("a"), LlmResponse.from_text("fine"), LlmResponse.from_text("ok")
    )
    await bench.agent.execute("go")

    assert (await bench.agent.execute("again")).text == "fine"
    assert (await bench.agent.execute("and")).status is RunStatus.COMPLETED


async def test_json_that_names_no_offered_tool_is_an_answer() -> None:
    text = '{"name": "write", "arguments": {}, "price": 5}'
    bench = Bench(LlmResponse.from_text(text), offered=[READ])

    assert (await bench.agent.execute("go")).text == text
    assert bench.observer.of(CallLeaked) == []


async def test_what_streamed_is_marked_below_it_live_and_when_the_session_is_resumed() -> None:
    view = SessionView()

    class Watching:
        def notify(self, event: object) -> None:
            view.apply(event)  # type: ignore[arg-type]

    streamed = Step(answer=LEAKED, first=('{"name": "read", ', '"arguments": {"cell": "a"}}'))
    bench = Bench(streamed, reads("a"), LlmResponse.from_text("done"), observers=[Watching()])
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
