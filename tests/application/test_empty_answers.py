"""An answer without words and without a call that can run: it is asked for once more, then the turn fails."""

from __future__ import annotations

import pytest

from quorum.application.view.entries import Notice
from quorum.application.view.session_view import SessionView
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import (
    END_TURN,
    MAX_TOKENS,
    REFUSAL,
    TOOL_USE,
    ContentBlock,
    LlmResponse,
    OpaqueBlock,
    ReasoningBlock,
    StopKind,
    StopReason,
    TextBlock,
    ToolUseBlock,
)
from quorum.domain.events.event import EmptyAnswerReceived, PhaseScopeChanged, event_from_json
from quorum.domain.events.report import RunStatus
from quorum.domain.plan.plan import PhaseScope
from quorum.domain.sessions.session_summary import LedgerRecord
from tests.application.test_run_agent import OFFERED, Bench, reads
from tests.support.fake_session import Step

NOTHING = LlmResponse(content=(), stop_reason=END_TURN)
BLANK = LlmResponse.from_text(" \n\u200b\ufeff\t")
THOUGHTS = LlmResponse(
    content=(ReasoningBlock(provider="fake", payload={"type": "thinking"}, text="I should look"),),
    stop_reason=END_TURN,
)
OPAQUE = LlmResponse(content=(OpaqueBlock(provider="fake", payload={"type": "search"}),), stop_reason=END_TURN)
NO_CALL = LlmResponse(content=(TextBlock("let me look"),), stop_reason=TOOL_USE)
BROKEN_CALL = LlmResponse(
    content=(ToolUseBlock(id="c", name="read", input={}, parse_error="cut"),),
    stop_reason=StopReason(StopKind.OTHER, "eof"),
)
INVENTED = LlmResponse.from_text("\n<tool_response>\n1 x = 2\n</tool_response>\n")
EMPTY = {
    "invented result": INVENTED,
    "nothing": NOTHING,
    "blank": BLANK,
    "thoughts": THOUGHTS,
    "opaque": OPAQUE,
    "no call": NO_CALL,
    "broken call": BROKEN_CALL,
}
DONE = LlmResponse.from_text("done")


def test_a_result_that_is_quoted_in_an_answer_is_one() -> None:
    assert LlmResponse.from_text("It said:\n<tool_response>1</tool_response>").lack is None
    assert LlmResponse.from_text("<tool_response>1</tool_response> is the form.").lack is None


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
async def test_it_is_asked_for_once_more_and_the_second_answer_stands(empty: LlmResponse) -> None:
    bench = Bench(empty, DONE)

    report = await bench.agent.execute("go")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "done")
    (event,) = bench.observer.of(EmptyAnswerReceived)
    assert event.lack == empty.lack
    assert event_from_json(event.to_json()) == event
    said = bench.session.sent[1].messages[-1]
    assert isinstance(said, UserMessage)
    assert empty.lack in said.text


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
async def test_a_second_one_fails_the_turn_and_says_why(empty: LlmResponse) -> None:
    bench = Bench(empty, empty, DONE)

    report = await bench.agent.execute("go")

    assert (report.status, report.exit_code) == (RunStatus.FAILED, 1)
    assert report.error == f"the model gave no answer, also when asked again: {empty.lack}"
    assert len(bench.session.sent) == 2


async def test_after_results_of_tools_it_is_the_same() -> None:
    bench = Bench(reads("a"), NOTHING, THOUGHTS)

    report = await bench.agent.execute("go")

    assert report.status is RunStatus.FAILED
    assert [call.tool for call in report.calls] == ["read"]


async def test_a_call_in_between_is_progress_and_each_is_asked_for_again() -> None:
    bench = Bench(NOTHING, reads("a"), NOTHING, DONE)

    assert (await bench.agent.execute("go")).status is RunStatus.COMPLETED
    assert len(bench.observer.of(EmptyAnswerReceived)) == 2


async def test_the_next_turn_continues_from_there() -> None:
    bench = Bench(THOUGHTS, THOUGHTS, DONE, DONE)
    await bench.agent.execute("go")

    assert (await bench.agent.retry()).text == "done"
    assert (await bench.agent.execute("again")).text == "done"


@pytest.mark.parametrize(
    ("stop", "status"), [(REFUSAL, RunStatus.REFUSED), (MAX_TOKENS, RunStatus.LIMIT)], ids=str
)
async def test_a_refusal_and_a_limit_keep_their_own_endings(stop: StopReason, status: RunStatus) -> None:
    bench = Bench(*[LlmResponse(content=(), stop_reason=stop)] * 9)

    assert (await bench.agent.execute("go")).status is status
    assert not bench.observer.of(EmptyAnswerReceived)


async def test_nothing_after_a_cut_off_answer_says_that_the_answer_is_whole() -> None:
    content: tuple[ContentBlock, ...] = (TextBlock("all of it"),)
    bench = Bench(LlmResponse(content=content, stop_reason=MAX_TOKENS), NOTHING)

    report = await bench.agent.execute("go")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "all of it")


async def test_the_screen_names_what_was_missing() -> None:
    view = SessionView()

    class Watching:
        def notify(self, event: object) -> None:
            view.apply(event)  # type: ignore[arg-type]

    await Bench(Step(answer=THOUGHTS), DONE, observers=[Watching()]).agent.execute("go")

    notices = [entry.text for entry in view.entries if isinstance(entry, Notice)]
    assert any(f"{THOUGHTS.lack}; it is asked once more" in each for each in notices)


CLAIM = LlmResponse.from_text("I have created the file `a.txt`.")


async def test_a_model_that_tells_of_work_without_a_call_is_told_so_and_may_do_it() -> None:
    call = ToolUseBlock(id="r", name="read", input={"cell": "a"})
    bench = Bench(
        CLAIM,
        LlmResponse(content=(call,), stop_reason=TOOL_USE),
        LlmResponse.from_text("I have read the file."),
        offered=OFFERED,
    )
    report = await bench.agent.execute("write a.txt")

    assert (report.status, report.text) == (RunStatus.COMPLETED, "I have read the file.")
    (event,) = bench.observer.of(EmptyAnswerReceived)
    assert event.lack == "it says that work was done, and no tool was called, so that nothing was"


async def test_a_turn_that_ends_with_such_a_claim_has_failed() -> None:
    bench = Bench(CLAIM, CLAIM, offered=OFFERED)
    report = await bench.agent.execute("write a.txt")

    assert report.status is RunStatus.FAILED
    assert "no tool was called" in (report.error or "")


async def test_an_answer_without_the_claim_ends_the_turn_well() -> None:
    bench = Bench(CLAIM, LlmResponse.from_text("I cannot write files."), offered=OFFERED)

    assert (await bench.agent.execute("write a.txt")).status is RunStatus.COMPLETED


async def test_what_tools_did_earlier_in_the_session_may_be_told_again() -> None:
    call = ToolUseBlock(id="r", name="read", input={"cell": "a"})
    bench = Bench(LlmResponse(content=(call,), stop_reason=TOOL_USE), CLAIM, CLAIM, offered=OFFERED)
    await bench.agent.execute("write a.txt")

    assert (await bench.agent.execute("what did you do?")).status is RunStatus.COMPLETED


async def test_what_the_person_shows_may_be_told_again() -> None:
    bench = Bench(CLAIM, offered=OFFERED)

    assert (await bench.agent.execute("x " * 800)).status is RunStatus.COMPLETED


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("what did the last commit do?", "The file `a.py` was renamed in it."),
        ("what did you change?", "I have created the file `a.txt`."),
        ("who made requests?", "The `requests` library was created by Kenneth Reitz."),
        ("Was hast du getan?", "The tests were run."),
        ("write a commit message", "The file a.py was updated."),
        ("plan how to write a.txt", "I have created a plan for `a.txt`."),
    ],
)
async def test_whoever_only_talks_is_answered_at_once(prompt: str, answer: str) -> None:
    bench = Bench(LlmResponse.from_text(answer), offered=OFFERED)
    report = await bench.agent.execute(prompt)

    assert (report.status, report.text) == (RunStatus.COMPLETED, answer)
    assert not bench.observer.of(EmptyAnswerReceived)


async def test_a_claim_counts_for_the_prompt_that_it_answers_alone() -> None:
    bench = Bench(LlmResponse.from_text("I cannot."), CLAIM, offered=OFFERED)
    await bench.agent.execute("write a.txt")

    assert (await bench.agent.execute("what would you have told me?")).status is RunStatus.COMPLETED


async def test_no_claim_is_looked_for_where_a_plan_is_made() -> None:
    begun = PhaseScopeChanged(scope=PhaseScope.PLAN_ONLY)
    bench = Bench(CLAIM, offered=OFFERED, past=(LedgerRecord(seq=0, at_ms=0, event=begun),))

    assert (await bench.agent.execute("write a.txt")).status is RunStatus.COMPLETED
