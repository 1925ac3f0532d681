"""A session taken up from its record: the conversation as it was, open calls closed, open reviews asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.application.calls.hook_chain import HookRegistration
from quorum.application.calls.hooks import CallDraft, Hook
from quorum.domain.calls.execution import Orphan, Outcome, ToolExecutionContext
from quorum.domain.calls.hook_points import Ask, HookAnswer
from quorum.domain.calls.run_state import SeenFile
from quorum.domain.conversation.history import ToolResults, UserMessage, find_unpaired_call
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import HostFailed, LedgerError, LostConnection, ProgramChanged
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    ErrorOccurred,
    Event,
    MessageAdded,
    NoticeGiven,
    ReviewRequested,
    SessionResumed,
    SessionStarted,
    TurnFinished,
    TurnStarted,
)
from quorum.domain.events.report import RunStatus
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import Reject
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.text.json_value import JsonObject
from tests.application.test_run_agent import DOWN, Bench, reads, writes
from tests.support.builders import a_call, calls_response
from tests.support.examples import examples
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import FakePerson, FakeTool
from tests.support.records import no_record


class Refusing(FakeLedger):
    """Has no room for events of one kind."""

    def __init__(self, kind: type[Event], error: LedgerError | None = None) -> None:
        super().__init__("session-1")
        self._kind = kind
        self._error = error or LedgerError("the disk is full")

    async def append(self, event: Event, *, urgent: bool = False, may_wait: bool = False) -> None:
        await super().append(event, urgent=urgent, may_wait=may_wait)
        if isinstance(event, self._kind):
            raise self._error


def records_of(ledger: FakeLedger) -> tuple[LedgerRecord, ...]:
    return tuple(LedgerRecord(seq=seq, at_ms=seq, event=event) for seq, event in enumerate(ledger.events))


def up_to(ledger: FakeLedger, wanted: type[Event], nth: int = 1) -> tuple[LedgerRecord, ...]:
    """What was recorded when the nth event of that kind had just been written: the process died then."""
    places = [place for place, event in enumerate(ledger.events) if isinstance(event, wanted)]
    return records_of(ledger)[: places[nth - 1] + 1]


async def a_dead_session(*script: LlmResponse) -> FakeLedger:
    """The record of a turn that went well, to be cut where a process died."""
    ledger = FakeLedger("session-1")
    bench = Bench(*script, LlmResponse.from_text("done"), ledger=ledger)
    await bench.front.open()
    assert (await bench.agent.execute("go")).status is RunStatus.COMPLETED
    return ledger


def results(bench: Bench) -> Sequence[str]:
    (last,) = [m for m in bench.conversation.messages if isinstance(m, ToolResults)][-1:]
    return [result.output for result in last.results]


async def test_a_new_session_is_announced_and_one_taken_up_again_says_so_with_all_it_held() -> None:
    ledger = await a_dead_session(reads("a"))
    again = Bench(LlmResponse.from_text("more"), ledger=ledger, past=records_of(ledger))
    await again.front.open()

    assert isinstance(ledger.events[0], SessionStarted)
    assert isinstance(ledger.events[-1], SessionResumed)
    assert len(again.conversation.messages) == 4
    report = await again.agent.execute("and now")
    assert report.text == "more"
    assert replay_state(records_of(ledger)).messages == again.conversation.messages


async def test_a_call_that_was_running_is_unknown_and_one_that_had_not_begun_is_not_run() -> None:
    ledger = await a_dead_session(writes_two())
    dead = up_to(ledger, CallStarted)
    again = Bench(LlmResponse.from_text("I look first"), ledger=FakeLedger("session-1"), past=dead)
    await again.front.open()

    ends = [e for e in again.ledger.events if isinstance(e, CallFinished)]
    assert [end.outcome for end in ends] == [Outcome.UNKNOWN, Outcome.NOT_RUN]
    output = results(again)
    assert "was running when the process died; its effect is unknown" in output[0]
    assert "never begun" not in output[0]
    assert "the process ended before its turn came" in output[1]
    assert again.world.cells == {}
    assert (await again.agent.retry()).text == "I look first"


@pytest.mark.parametrize("deaths", [1, 2])
async def test_a_prompt_that_was_taken_up_and_never_said_is_said_by_whoever_goes_on(deaths: int) -> None:
    ledger = FakeLedger("session-1")
    bench = Bench(LlmResponse.from_text("one"), LlmResponse.from_text("two"), ledger=ledger)
    await bench.agent.execute("first")
    await bench.agent.execute("second")
    dead = up_to(ledger, TurnStarted, nth=2)
    for _ in range(deaths - 1):
        again = Bench(LlmResponse.from_text("never"), ledger=FakeLedger("session-1"), past=dead)
        await again.agent.retry()
        dead = (*dead, *up_to(again.ledger, TurnStarted))

    again = Bench(LlmResponse.from_text("answer"), ledger=FakeLedger("session-1"), past=dead)
    assert (await again.agent.retry()).text == "answer"
    assert again.session.sent[0].messages[-1] == UserMessage("second")
    assert [m.text for m in again.conversation.messages if isinstance(m, UserMessage)] == ["first", "second"]
    assert replay_state((*dead, *records_of(again.ledger))).messages == again.conversation.messages


@pytest.mark.parametrize("last", [TurnStarted, MessageAdded])
@pytest.mark.parametrize(("again", "said"), [("second", ["second"]), ("third", ["second", "third"])])
async def test_a_prompt_that_a_dead_process_left_unanswered_is_said_once_when_it_is_repeated(
    last: type[Event], again: str, said: list[str]
) -> None:
    ledger = FakeLedger("session-1")
    bench = Bench(LlmResponse.from_text("one"), LlmResponse.from_text("two"), ledger=ledger)
    await bench.agent.execute("first")
    await bench.agent.execute("second")
    dead = up_to(ledger, last, nth=2)

    after = Bench(LlmResponse.from_text("answer"), ledger=FakeLedger("session-1"), past=dead)
    assert (await after.agent.execute(again)).text == "answer"
    texts = [m.text for m in after.conversation.messages if isinstance(m, UserMessage)]
    assert texts == ["first", *said]
    state = replay_state((*dead, *records_of(after.ledger)))
    assert state.messages == after.conversation.messages
    assert not state.undelivered_prompts


async def test_a_prompt_that_was_answered_can_be_repeated() -> None:
    ledger = await a_dead_session()
    again = Bench(LlmResponse.from_text("more"), ledger=ledger, past=records_of(ledger))
    await again.agent.execute("go")
    assert [m.text for m in again.conversation.messages if isinstance(m, UserMessage)] == ["go", "go"]


def writes_two() -> LlmResponse:
    return calls_response(
        a_call("write", {"cell": "a", "text": "x"}, id_="one"),
        a_call("write", {"cell": "b", "text": "y"}, id_="two"),
    )


async def test_a_review_that_was_open_is_asked_again_about_the_same_bytes_and_its_call_runs_then() -> None:
    ledger = await a_dead_session(writes("one"))
    dead = up_to(ledger, ReviewRequested)
    (asked,) = [r.event for r in dead if isinstance(r.event, ReviewRequested)]
    person = FakePerson()
    again = Bench(LlmResponse.from_text("written"), person=person, ledger=FakeLedger("session-1"), past=dead)
    await again.front.open()

    assert again.agent.has_pending
    report = await again.agent.resume_pending()

    assert (report.status, report.text) == (RunStatus.COMPLETED, "written")
    assert [request.packet.digest for request in person.requests] == [asked.digest]
    assert not person.requests[0].stale
    assert again.world.cells == {"a": "x"}


async def test_a_review_that_was_open_is_asked_again_also_in_a_mode_that_would_not_have_asked() -> None:
    ledger = await a_dead_session(writes("one"))
    again = Bench(
        LlmResponse.from_text("fine"),
        person=FakePerson(lambda _request: Reject("not this")),
        mode=Mode.AUTO,
        ledger=FakeLedger("session-1"),
        past=up_to(ledger, ReviewRequested),
    )
    await again.front.open()
    await again.agent.resume_pending()

    assert again.world.cells == {}
    assert "not this" in results(again)[0]


class _Asking(Hook):
    async def before_tool_call(self, call: CallDraft) -> HookAnswer:
        return Ask("it is late")


async def test_a_call_that_a_hook_had_asked_about_is_asked_about_again_after_a_restart() -> None:
    ledger = FakeLedger("session-1")
    hooks = [HookRegistration(name="mine", hook=_Asking())]
    await Bench(reads("a"), LlmResponse.from_text("done"), ledger=ledger, hooks=hooks).agent.execute("go")
    person = FakePerson()
    again = Bench(
        LlmResponse.from_text("read"),
        person=person,
        ledger=FakeLedger("session-1"),
        past=up_to(ledger, ReviewRequested),
    )
    await again.front.open()

    assert (await again.agent.resume_pending()).text == "read"
    assert [request.reasons for request in person.requests] == [("the hook mine asks about it: it is late",)]


async def test_where_the_world_changed_meanwhile_the_question_says_so() -> None:
    ledger = await a_dead_session(writes("one"))
    person = FakePerson()
    again = Bench(
        LlmResponse.from_text("written"),
        person=person,
        ledger=FakeLedger("session-1"),
        past=up_to(ledger, ReviewRequested),
    )
    again.world.cells["a"] = "somebody else was here"
    await again.front.open()
    await again.agent.resume_pending()

    assert person.requests[0].stale


async def test_another_prompt_gives_an_open_review_up_and_its_call_does_not_run() -> None:
    ledger = await a_dead_session(writes("one"))
    again = Bench(
        LlmResponse.from_text("fine"), ledger=FakeLedger("session-1"), past=up_to(ledger, ReviewRequested)
    )
    await again.front.open()
    report = await again.agent.execute("something else")

    assert report.text == "fine"
    assert again.world.cells == {}
    assert "nobody answered its review" in results(again)[0]


async def test_what_a_call_returned_is_given_to_the_model_and_it_runs_no_second_time() -> None:
    ledger = await a_dead_session(reads("a", "b"))
    dead = up_to(ledger, CallFinished, nth=2)
    ran: list[str] = []

    async def read(arguments: JsonObject, context: ToolExecutionContext) -> str:
        ran.append(context.call_id)
        return "anew"

    again = Bench(
        LlmResponse.from_text("thanks"),
        tool=FakeTool("read", read),
        ledger=FakeLedger("session-1"),
        past=dead,
    )
    await again.front.open()
    assert (await again.agent.retry()).text == "thanks"

    assert ran == []
    assert list(results(again)) == ["contents", "contents"]


@given(st.integers(0, 60))
@examples(60)
async def test_wherever_the_record_ends_the_session_goes_on_with_a_legal_history(place: int) -> None:
    ledger = await a_dead_session(reads("a", "b"), writes("c"), writes_two())
    again = Bench(
        LlmResponse.from_text("here I am"), ledger=FakeLedger("session-1"), past=records_of(ledger)[:place]
    )
    await again.front.open()
    if again.agent.has_pending:
        report = await again.agent.resume_pending()
    else:
        report = await again.agent.execute("next")

    assert report.status is RunStatus.COMPLETED
    assert find_unpaired_call(again.conversation.messages) is None
    whole = replay_state((*records_of(ledger)[:place], *records_of(again.ledger)))
    assert whole.messages == again.conversation.messages


@given(st.integers(0, 80))
@examples(80)
async def test_cancelled_at_any_step_conversation_and_record_say_the_same(steps: int) -> None:
    ledger = FakeLedger("session-1")
    bench = Bench(reads("a"), writes("b"), DOWN, LlmResponse.from_text("end"), ledger=ledger)
    await bench.front.open()
    turn = asyncio.create_task(bench.agent.execute("go"))
    for _ in range(steps):
        await asyncio.sleep(0)
    turn.cancel()
    await asyncio.wait({turn})

    if not turn.cancelled():  # it had taken its first step
        assert replay_state(records_of(ledger)).messages == bench.conversation.messages
        assert not bench.conversation.open_calls


@pytest.mark.parametrize("steps", range(1, 30))
@pytest.mark.parametrize("last", [TurnStarted, CallStarted], ids=["a prompt", "a call"])
async def test_cancelled_while_what_an_earlier_process_left_is_put_right_the_prompt_is_said_all_the_same(
    last: type[Event], steps: int
) -> None:
    dead = up_to(await a_dead_session(reads("a")), last)
    bench = Bench(LlmResponse.from_text("end"), ledger=FakeLedger("session-1"), past=dead)
    await bench.front.open()
    bench.agent.queue(["one that waits"])  # it is being recorded yet
    turn = asyncio.create_task(bench.agent.execute("next"))
    for _ in range(steps):
        await asyncio.sleep(0)
    turn.cancel()
    report = await turn

    assert report.status in {RunStatus.INTERRUPTED, RunStatus.COMPLETED}
    assert [m.text for m in bench.conversation.messages if isinstance(m, UserMessage)] == ["go", "next"]
    assert replay_state((*dead, *records_of(bench.ledger))).messages == bench.conversation.messages


async def test_a_call_whose_beginning_cannot_be_recorded_does_not_begin() -> None:
    bench = Bench(writes("one"), LlmResponse.from_text("a pity"), ledger=Refusing(CallStarted))
    await bench.front.open()

    report = await bench.agent.execute("go")

    assert report.calls[0].outcome is Outcome.ERROR
    assert results(bench)[0].startswith("not run: ")
    assert bench.world.cells == {}


async def test_a_server_that_was_waited_for_in_vain_ends_the_turn_and_is_no_error_of_a_call() -> None:
    away = Refusing(CallStarted, LostConnection("the server does not answer"))
    bench = Bench(writes("one"), LlmResponse.from_text("a pity"), ledger=away)
    await bench.front.open()

    report = await bench.agent.execute("go")

    assert (report.status, report.error) == (RunStatus.FAILED, "the server does not answer")
    assert report.calls[0].outcome is Outcome.NOT_RUN
    assert results(bench) == ["not run: the server does not answer"]
    assert bench.session.script
    assert bench.world.cells == {}


async def test_that_a_server_is_waited_for_is_shown_whichever_thread_says_so() -> None:
    watchers: list[Callable[[str], None]] = []
    bench = Bench(record=replace(no_record(), watch_outages=watchers.append))
    await bench.front.open()

    await asyncio.to_thread(watchers[0], "it does not answer")
    await asyncio.sleep(0)

    assert bench.observer.events[-1] == NoticeGiven(message="it does not answer")


async def test_a_turn_that_its_host_ends_is_not_over_where_others_may_go_on_with_it() -> None:
    away = Refusing(CallStarted, LostConnection("the server does not answer"))
    bench = Bench(writes("one"), ledger=away)
    await bench.front.open()
    bench.agent.leaves_host_failures = True

    with pytest.raises(HostFailed, match="the server does not answer"):
        await bench.agent.execute("go")

    assert not any(isinstance(event, TurnFinished) for event in away.events)
    past = [each for each in records_of(away) if not isinstance(each.event, CallStarted)]
    again = Bench(LlmResponse.from_text("done"), ledger=FakeLedger("session-1"), past=tuple(past))
    assert not again.front.state.finished
    await again.front.open()
    assert (await again.agent.retry()).text == "done"


@pytest.mark.parametrize(
    "error", [ProgramChanged("restart it"), MemoryError(), LostConnection("away")], ids=repr
)
async def test_what_the_machine_refuses_is_raised_where_others_may_go_on(error: Exception) -> None:
    ledger = FakeLedger("session-1")
    bench = Bench(error, ledger=ledger)  # type: ignore[arg-type]
    bench.agent.leaves_host_failures = True

    with pytest.raises(HostFailed):
        await bench.agent.execute("go")

    assert not any(isinstance(event, TurnFinished) for event in ledger.events)


async def test_a_prompt_that_cannot_be_recorded_is_not_sent_and_can_be_sent_later() -> None:
    ledger = FakeLedger("session-1")
    bench = Bench(LlmResponse.from_text("answer"), ledger=ledger)
    await bench.front.open()
    ledger.trouble = "the disk is full"

    report = await bench.agent.execute("go")
    assert report.status is RunStatus.FAILED
    assert bench.front.unrecorded == "the disk is full"
    assert bench.session.script
    message = [e.message for e in bench.observer.events if isinstance(e, ErrorOccurred)]
    assert message == ["the disk is full"]

    ledger.trouble = None
    assert (await bench.agent.retry()).text == "answer"
    assert bench.front.unrecorded == ""
    assert replay_state(records_of(ledger)).messages == bench.conversation.messages


async def test_what_happened_and_cannot_be_recorded_is_reported_once() -> None:
    bench = Bench(reads("a", "b"), LlmResponse.from_text("answer"), ledger=Refusing(CallFinished))
    await bench.front.open()
    report = await bench.agent.execute("go")

    assert report.text == "answer"
    message = [e.message for e in bench.observer.events if isinstance(e, ErrorOccurred)]
    assert message == ["the disk is full"]


async def test_what_still_runs_of_a_call_without_an_end_is_named_and_of_others_nobody_asks() -> None:
    ledger = await a_dead_session(writes_two())
    dead = up_to(ledger, CallStarted)
    (context,) = [r.event.context for r in dead if isinstance(r.event, CallStarted)]
    again = Bench(ledger=FakeLedger("session-1"), past=dead)
    again.orphan_finder.alive[context.batch_id] = (
        Orphan(pid=41, command="sleep 600"),
        Orphan(pid=42, command=""),
    )
    await again.front.open()

    (resumed,) = [e for e in again.ledger.events if isinstance(e, SessionResumed)]
    assert resumed.told[-1] == (
        "still running, started by a call whose end is not known: process 41 (sleep 600), 42; quorum leaves "
        "that to you, and this ends it: kill 41 42"
    )

    ended = Bench(ledger=FakeLedger("session-1"), past=up_to(ledger, CallFinished))
    ended.orphan_finder.alive = again.orphan_finder.alive
    await ended.front.open()

    (resumed,) = [e for e in ended.ledger.events if isinstance(e, SessionResumed)]
    assert not any("still running" in sentence for sentence in resumed.told)


async def test_what_a_result_shows_of_a_file_is_known_where_the_process_died_before_the_model_read_it() -> None:
    shown = SeenFile(path="/ws/a", sha256="5f", last_line=1, lines=1)

    async def read(_arguments: JsonObject, context: ToolExecutionContext) -> str:
        context.controls.note_seen(shown)
        return "1\tx"

    ledger = FakeLedger("session-1")
    bench = Bench(reads("a"), LlmResponse.from_text("done"), tool=FakeTool("read", read), ledger=ledger)
    await bench.front.open()
    await bench.agent.execute("go")

    again = Bench(
        LlmResponse.from_text("thanks"),
        ledger=FakeLedger("session-1"),
        past=up_to(ledger, CallFinished),
    )
    await again.front.open()
    await again.agent.retry()

    (given,) = [message for message in again.conversation.messages if isinstance(message, ToolResults)]
    assert [(result.output, result.seen) for result in given.results] == [("1\tx", (shown,))]


async def test_going_back_without_room_to_record_it_leaves_conversation_and_record_agreed() -> None:
    ledger = FakeLedger("session-1")
    bench = Bench(LlmResponse.from_text("one"), LlmResponse.from_text("two"), ledger=ledger)
    await bench.front.open()
    await bench.agent.execute("first")
    await bench.agent.execute("second")
    ledger.trouble = "the disk is full"
    with pytest.raises(LedgerError, match="the disk is full"):
        await bench.front.rewind.rewind_to(1, conversation=True, plan=None, overwrite=frozenset())

    ledger.trouble = None
    bench.session.script[:] = [LlmResponse.from_text("three")]
    await bench.agent.execute("third")
    assert [m.text for m in bench.conversation.messages if isinstance(m, UserMessage)] == ["first", "third"]
    assert replay_state(records_of(ledger)).messages == bench.conversation.messages
