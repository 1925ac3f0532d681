from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.effects import ChangeKind, Effects, FileChange, FileKind, FileState
from quorum.domain.calls.execution import Outcome, Seal, ToolExecutionContext
from quorum.domain.calls.hook_points import HookPoint
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import RiskLevel, ToolResultMessage
from quorum.domain.conversation.history import (
    AssistantMessage,
    Message,
    ToolResults,
    UserMessage,
    find_unpaired_call,
)
from quorum.domain.conversation.response import (
    END_TURN,
    MAX_TOKENS,
    LlmResponse,
    TextBlock,
    ToolUseBlock,
    Usage,
)
from quorum.domain.events.calls import PlannedLane
from quorum.domain.events.event import (
    BatchPlanned,
    CallFinished,
    CallStarted,
    ConversationCompacted,
    EffectsObserved,
    Event,
    FilesKept,
    FilesRestored,
    HookRan,
    JobStarted,
    MessageAdded,
    ModeChanged,
    ModelChanged,
    OutputStored,
    ResponseCompleted,
    ReviewDecided,
    ReviewRequested,
    SessionResumed,
    SessionRewound,
    SessionStarted,
    StateMerged,
    TurnFinished,
    TurnStarted,
    UsageCounted,
)
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.replay import Replay, replay_state
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.sessions.state import CallEnd, OpenCall, SessionState
from tests.support.any_event import of_type
from tests.support.builders import a_call, a_context, calls_response
from tests.support.examples import examples
from tests.support.scripted_record import SCRIPTS, Run, Script

FIRST, SECOND = a_call("edit_file", id_="call-0"), a_call("run_command", {"command": "make"}, id_="call-1")
ZERO, ONE = a_context(0), a_context(1)
ASKED: tuple[Event, ...] = (
    TurnStarted(prompt="do it"),
    MessageAdded(message=UserMessage("do it")),
    ResponseCompleted(turn_index=0, response=calls_response(FIRST, SECOND, text="I will")),
)
PLANNED = BatchPlanned(
    batch_id="batch-1",
    lanes=tuple(
        PlannedLane(context=context, tool=call.tool_name, arguments={}, risk=RiskLevel.HIGH, follows=())
        for context, call in ((ZERO, FIRST), (ONE, SECOND))
    ),
)
DONE = TurnFinished(
    report=RunReport(session_id="s", status=RunStatus.COMPLETED, stop_reason="end_turn", text="", turns=1)
)


def after(*events: Event) -> SessionState:
    return replay_state(LedgerRecord(seq=n, at_ms=1000 + n, event=event) for n, event in enumerate(events))


def started(context: ToolExecutionContext) -> CallStarted:
    return CallStarted(context=context, tool="run_command", arguments={})


def finished(
    context: ToolExecutionContext, output: str = "fine", outcome: Outcome = Outcome.OK
) -> CallFinished:
    return CallFinished(
        context=context,
        tool="run_command",
        outcome=outcome,
        decision=DecisionLabel.NONE,
        output=output,
        duration_secs=0.1,
    )


def result(id_: str, output: str = "fine") -> ToolResultMessage:
    return ToolResultMessage(tool_use_id=id_, tool_name="t", output=output)


def hooked(
    answer: str = "continue",
    *,
    output: str | None = None,
    reason: str | None = None,
    point: HookPoint = HookPoint.AFTER_TOOL_CALL,
) -> HookRan:
    edited = None if output is None else {"output": output}
    return HookRan(point=point, hook="mine", answer=answer, reason=reason, context=ZERO, edited=edited)


def packet(context: ToolExecutionContext, command: str = "make") -> ReviewPacket:
    return ReviewPacket(
        call=a_call("run_command", {"command": command}, id_=context.call_id),
        context=context,
        seal=Seal(cwd="/ws"),
    )


def requested(sealed: ReviewPacket) -> ReviewRequested:
    return ReviewRequested(context=sealed.context, packet=sealed, digest=sealed.digest, reasons=())


def decided(sealed: ReviewPacket) -> ReviewDecided:
    return ReviewDecided(
        context=sealed.context, digest=sealed.digest, decision=DecisionLabel.APPROVED, reason=None
    )


def file(content: str) -> FileState:
    return FileState(kind=FileKind.FILE, mode=0o644, size=1, sha256=content * 64)


def a_change(path: str, before: FileState | None, after: FileState | None) -> FileChange:
    kind = ChangeKind.DELETED if after is None else ChangeKind.MODIFIED if before else ChangeKind.CREATED
    return FileChange(path=path, kind=kind, declared=True, before=before, after=after)


def observed(context: ToolExecutionContext, *changes: FileChange, complete: bool = True) -> EffectsObserved:
    return EffectsObserved(context=context, effects=Effects(changes=changes, complete=complete))


def kept(context: ToolExecutionContext, manifest: str = "list") -> FilesKept:
    return FilesKept(context=context, manifest=manifest, files=1, complete=True)


def closed(state: SessionState) -> tuple[Message, ...]:
    """The messages once every open call has a result."""
    results = tuple(result(each.call.native_id) for each in state.open_calls)
    return (*state.messages, ToolResults(results)) if results else state.messages


# ------------------------------------------------------------------ any record, cut anywhere


@given(script=SCRIPTS, seed=st.integers(0, 2**32))
@examples(60)
def test_a_whole_record_leads_to_what_the_run_left_behind(script: Script, seed: int) -> None:
    run = Run("/ws", Random(seed)).play(script)

    state = replay_state(run.records)

    assert state.messages == tuple(run.messages)
    assert state.values == run.values
    assert [turn.undone for turn in state.turns] == run.undone
    assert [turn.prompt for turn in state.turns] == [turn.prompt for turn in script]
    assert (state.responses, state.spending.usage) == (run.responses, run.usage)
    assert (state.last_written, state.blobs) == (run.written, frozenset(run.blobs))
    assert (state.session_id, state.cwd, state.finished, state.mended) == (run.session_id, "/ws", True, ())
    assert state.open_calls == ()


@given(script=SCRIPTS, seed=st.integers(0, 2**32))
@examples(30)
def test_wherever_a_record_ends_the_conversation_can_go_on(script: Script, seed: int) -> None:
    replay = Replay()
    for record in Run("/ws", Random(seed)).play(script).records:
        assert record.event is not None
        replay.apply(record.event, record.at_ms)
        state = replay.state

        assert find_unpaired_call(closed(state)) is None
        assert all(find_unpaired_call(turn.before.messages) is None for turn in state.turns)
        assert state.mended == ()


@given(script=SCRIPTS, seed=st.integers(0, 2**32))
@examples(30)
def test_asking_for_the_state_after_each_event_changes_nothing_of_it(script: Script, seed: int) -> None:
    records = Run("/ws", Random(seed)).play(script).records
    asked = Replay()
    for number, record in enumerate(records):
        assert record.event is not None
        asked.apply(record.event, record.at_ms)
        state = asked.state

        if number % 7 == 0 or number == len(records) - 1:
            assert state == replay_state(records[: number + 1])


def test_turns_that_stay_as_they_are_are_not_made_anew() -> None:
    replay = Replay()
    for number in range(4):
        replay.apply(TurnStarted(prompt=f"{number}"), number)
        replay.apply(MessageAdded(message=UserMessage(f"{number}")), number)
    before = replay.state.turns
    replay.apply(MessageAdded(message=UserMessage("more"), steers=True), 5)

    after = replay.state.turns

    assert [one is other for one, other in zip(before, after, strict=True)] == [True, True, True, False]
    assert (before[3].steered, after[3].steered) == ((), ("more",))


@given(script=SCRIPTS, seed=st.integers(0, 2**32), holes=st.sets(st.integers(0, 60)), shuffled=st.booleans())
@examples(60)
def test_a_damaged_record_leads_to_a_conversation_that_can_go_on(
    script: Script, seed: int, holes: set[int], shuffled: bool
) -> None:
    records = Run("/ws", Random(seed)).play(script).records
    if shuffled:
        Random(seed).shuffle(records)

    state = replay_state(replace(r, event=None) if r.seq in holes else r for r in records)

    assert find_unpaired_call(closed(state)) is None


@pytest.mark.long
@given(events=st.lists(st.sampled_from(get_args(Event)).flatmap(of_type), max_size=12))
@examples(100)
def test_no_sequence_of_events_whatever_is_too_much_for_it(events: list[Event]) -> None:
    state = after(*events)

    assert find_unpaired_call(closed(state)) is None


# ------------------------------------------------------------------ the conversation


def test_an_answer_counts_as_the_conversation_takes_it() -> None:
    cut = LlmResponse(
        content=(TextBlock("I"), ToolUseBlock(id="c", name="t", input={})), stop_reason=MAX_TOKENS
    )
    empty = LlmResponse(content=(TextBlock(""),), stop_reason=END_TURN, usage=Usage(input=5, output=2))

    state = after(
        MessageAdded(message=UserMessage("go")),
        ResponseCompleted(turn_index=0, response=cut),
        ResponseCompleted(turn_index=1, response=empty),
    )

    assert state.messages == (
        UserMessage("go"),
        AssistantMessage(LlmResponse(content=(TextBlock("I"),), stop_reason=MAX_TOKENS)),
    )
    assert state.responses == 2
    assert state.context_tokens == 7
    assert state.open_calls == ()


def test_compaction_puts_other_messages_in_place_of_the_first() -> None:
    state = after(
        MessageAdded(message=UserMessage("one")),
        MessageAdded(message=UserMessage("two")),
        ConversationCompacted(
            what="summary", replaced=1, by=(UserMessage("short"),), tokens_before=90, tokens_after=9
        ),
    )

    assert state.messages == (UserMessage("short"), UserMessage("two"))
    assert state.context_tokens == 9


def test_what_would_break_the_conversation_is_left_out_and_reported() -> None:
    stray = MessageAdded(message=ToolResults((result("nobody"),)))
    breaking = ConversationCompacted(
        what="summary", replaced=2, by=(UserMessage("s"),), tokens_before=0, tokens_after=0
    )
    too_many = replace(breaking, replaced=9)
    twice = calls_response(FIRST, FIRST)

    state = after(
        stray,
        ResponseCompleted(turn_index=0, response=twice),
        too_many,
        SessionRewound(turn=3, conversation=True, files=True),
    )
    halved = after(*ASKED, MessageAdded(message=ToolResults((result("call-0"), result("call-1")))), breaking)

    assert state.messages == ()
    assert len(state.mended) == 4
    assert "turn 3" in state.mended[-1]
    assert len(halved.messages) == 3
    assert len(halved.mended) == 1


def test_calls_whose_answer_was_compacted_away_wait_for_nothing() -> None:
    compacted = ConversationCompacted(
        what="summary", replaced=2, by=(UserMessage("s"),), tokens_before=0, tokens_after=0
    )

    state = after(*ASKED, compacted, MessageAdded(message=UserMessage("on")))

    assert state.messages == (UserMessage("s"), UserMessage("on"))
    assert state.open_calls == ()


@pytest.mark.parametrize(
    "going_on",
    [
        MessageAdded(message=UserMessage("never mind")),
        ResponseCompleted(turn_index=1, response=LlmResponse.from_text("well")),
    ],
)
def test_calls_that_something_else_follows_are_closed_with_what_is_known_of_them(going_on: Event) -> None:
    third = a_call("t", id_="call-2")
    state = after(
        *ASKED[:2],
        ResponseCompleted(turn_index=0, response=calls_response(FIRST, SECOND, third)),
        started(ZERO),
        finished(ZERO, "I did it"),
        started(ONE),
        going_on,
    )

    *_, results, last = state.messages
    assert isinstance(results, ToolResults)
    assert results.results[0].output == "I did it"
    assert "unknown" in results.results[1].output
    assert results.results[2].output.startswith("not run")
    assert [r.is_error for r in results.results] == [False, True, True]
    assert isinstance(last, UserMessage | AssistantMessage)
    assert state.open_calls == ()
    assert len(state.mended) == 1


def test_results_that_do_not_fit_are_completed() -> None:
    state = after(*ASKED, MessageAdded(message=ToolResults((result("call-1", "second"),))))

    last = state.messages[-1]
    assert isinstance(last, ToolResults)
    assert [r.tool_use_id for r in last.results] == ["call-0", "call-1"]
    assert last.results[0].output.startswith("not run")
    assert last.results[1].output == "second"
    assert len(state.mended) == 1


# ------------------------------------------------------------------ open calls


def test_an_unplanned_call_is_open_without_a_place() -> None:
    state = after(*ASKED)

    assert state.open_calls == (OpenCall(call=FIRST), OpenCall(call=SECOND))
    assert not state.finished


def test_a_call_stands_where_its_record_ends() -> None:
    sealed = packet(ONE)

    state = after(*ASKED, PLANNED, started(ZERO), finished(ZERO, "did it"), requested(sealed))

    assert state.open_calls == (
        OpenCall(call=FIRST, context=ZERO, started=True, end=CallEnd(outcome=Outcome.OK, message="did it")),
        OpenCall(call=SECOND, context=ONE, pending=sealed, pending_digest=sealed.digest),
    )


def test_a_call_that_hooks_asked_about_keeps_why() -> None:
    point = HookPoint.BEFORE_TOOL_CALL
    asked = hooked("ask", reason="it is late", point=point), hooked("ask", point=point), hooked(point=point)
    first, second = after(*ASKED, *asked, PLANNED).open_calls

    assert first.hook_asks == ("the hook mine asks about it: it is late", "the hook mine asks about it")
    assert second.hook_asks == ()


def test_results_close_the_calls() -> None:
    state = after(*ASKED, PLANNED, MessageAdded(message=ToolResults((result("call-0"), result("call-1")))))

    assert state.open_calls == ()
    assert state.mended == ()


def test_a_call_that_ended_unplanned_has_the_place_its_end_tells() -> None:
    state = after(*ASKED, finished(ZERO, "not run: a hook ended the run", Outcome.NOT_RUN))

    assert state.open_calls[0].context == ZERO
    assert state.open_calls[0].end == CallEnd(outcome=Outcome.NOT_RUN, message="not run: a hook ended the run")
    assert state.open_calls[1].context is None


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((), "whole"),
        ((hooked(),), "whole"),
        ((hooked(output="edited"),), "edited"),
        ((hooked(output="one"), hooked(output="two")), "two"),
        ((hooked("skip", reason="secret"),), "the result was withheld by a hook: secret"),
        ((hooked("abort"),), "the result was withheld by a hook"),
        ((hooked("error", reason="took too long"),), "the result was withheld by a hook: took too long"),
        ((hooked("error", reason="took too long"), hooked()), "whole"),
        ((hooked(output="arguments", point=HookPoint.BEFORE_TOOL_CALL),), "whole"),
        (
            (
                hooked(output="edited"),
                OutputStored(context=ZERO, blob_id="b", size_bytes=9, summary="[blob:b]"),
            ),
            "[blob:b]",
        ),
    ],
)
def test_an_ended_call_tells_what_the_model_was_to_read(events: tuple[Event, ...], expected: str) -> None:
    state = after(*ASKED, PLANNED, finished(ZERO, "whole"), *events)

    assert state.open_calls[0].end == CallEnd(outcome=Outcome.OK, message=expected)


def test_a_review_is_pending_until_it_is_decided() -> None:
    first, edited = packet(ZERO), packet(ZERO, "make all")

    def pending(*events: Event) -> ReviewPacket | None:
        return after(*ASKED, PLANNED, *events).open_calls[0].pending

    assert pending(requested(first)) == first
    assert pending(requested(first), requested(edited)) == edited
    assert pending(requested(first), decided(edited)) == first
    assert pending(requested(first), decided(first)) is None
    assert pending(requested(first), decided(first), requested(first)) == first
    assert pending(requested(first), started(ZERO)) is None
    assert pending(requested(first), finished(ZERO)) is None


def test_a_packet_in_which_something_was_hidden_is_known_by_its_digest() -> None:
    sealed, hidden = packet(ZERO, "login --token abc"), packet(ZERO, "login --token ***")
    request = replace(requested(sealed), packet=hidden)

    (call, _) = after(*ASKED, PLANNED, request).open_calls

    assert call.pending == hidden
    assert call.pending_digest == sealed.digest != hidden.digest
    assert after(*ASKED, PLANNED, request, decided(sealed)).open_calls[0].pending is None


def test_events_of_a_former_call_of_the_same_id_are_not_taken_for_those_of_an_open_one() -> None:
    former = replace(ZERO, batch_id="batch-0")

    state = after(*ASKED, PLANNED, started(former), finished(former))

    assert state.open_calls[0] == OpenCall(call=FIRST, context=ZERO)


def test_calls_stay_open_when_another_process_takes_their_turn_up() -> None:
    sealed = packet(ONE)

    state = after(*ASKED, PLANNED, finished(ZERO), requested(sealed), TurnStarted(prompt=""))

    assert [call.call for call in state.open_calls] == [FIRST, SECOND]
    assert state.open_calls[1].pending == sealed
    assert state.mended == ()
    before = state.turns[1].before.messages
    assert find_unpaired_call(before) is None
    assert len(before) == len(state.messages) + 1


# ------------------------------------------------------------------ turns


def test_a_turn_tells_what_there_was_before_it() -> None:
    state = after(
        TurnStarted(prompt="one"),
        MessageAdded(message=UserMessage("one")),
        StateMerged(batch_id="b", changed={"plan": [1], "x": 1}),
        DONE,
        TurnStarted(prompt="two"),
        MessageAdded(message=UserMessage("two")),
        StateMerged(batch_id="b", changed={"plan": [2], "x": None}),
    )

    one, two = state.turns
    assert (one.number, one.prompt, one.at_ms, one.before.messages, one.values_before) == (
        0,
        "one",
        1000,
        (),
        {},
    )
    assert (two.number, two.at_ms, two.before.messages) == (1, 1004, (UserMessage("one"),))
    assert two.values_before == {"plan": [1], "x": 1}
    assert state.values == {"plan": [2]}


def test_rewinding_brings_back_what_was_said_before_a_turn_even_before_a_compaction() -> None:
    answer = LlmResponse.from_text("a")
    state = after(
        TurnStarted(prompt="one"),
        MessageAdded(message=UserMessage("one")),
        ResponseCompleted(turn_index=0, response=replace(answer, usage=Usage(input=40))),
        DONE,
        TurnStarted(prompt="two"),
        StateMerged(batch_id="b", changed={"x": 1}),
        ConversationCompacted(
            what="summary", replaced=2, by=(UserMessage("s"),), tokens_before=40, tokens_after=4
        ),
        MessageAdded(message=UserMessage("two")),
        SessionRewound(turn=1, conversation=True, files=False),
        TurnStarted(prompt="three"),
    )

    assert [type(message) for message in state.messages] == [UserMessage, AssistantMessage]
    assert state.values == {}
    assert state.context_tokens == 40
    assert [(turn.number, turn.undone) for turn in state.turns] == [(0, False), (1, True), (2, False)]
    assert state.turns[2].before.messages == state.messages
    assert state.mended == ()


def test_rewinding_in_the_middle_of_a_batch_leaves_no_call_open() -> None:
    state = after(*ASKED, PLANNED, started(ZERO), SessionRewound(turn=0, conversation=True, files=True))

    assert state.messages == ()
    assert state.open_calls == ()
    assert state.finished


def test_rewinding_files_alone_leaves_what_was_said() -> None:
    state = after(*ASKED[:2], DONE, SessionRewound(turn=0, conversation=False, files=True))

    assert state.messages == (UserMessage("do it"),)
    assert not state.turns[0].undone


# ------------------------------------------------------------------ files


def test_only_commands_in_the_background_change_what_nobody_looks_at() -> None:
    command = JobStarted(job_id="job-1", context=ZERO, command="npm start")
    subagent = JobStarted(job_id="job-2", context=ONE, command="read it", subagent_id="s-t1")

    (turn,) = after(*ASKED, command, subagent).turns

    assert turn.unseen == (
        "What the background command job-1 changed after its call had ended was not looked at.",
    )


def test_changes_belong_to_the_turn_that_runs() -> None:
    made, altered = a_change("/ws/a", None, file("a")), a_change("/ws/a", file("a"), file("b"))

    state = after(
        *ASKED, started(ZERO), observed(ZERO, made), started(ONE), observed(ONE, altered, complete=False)
    )

    (turn,) = state.turns
    assert turn.changes == (made, altered)
    (unseen,) = turn.unseen
    assert "run_command" in unseen
    assert state.last_written == {"/ws/a": file("b")}


def test_files_given_back_belong_to_no_turn_but_are_what_we_wrote_last() -> None:
    made, other = a_change("/ws/a", None, file("a")), a_change("/ws/b", file("b"), file("c"))

    state = after(
        *ASKED,
        observed(ZERO, made, other),
        FilesRestored(changes=(a_change("/ws/a", file("a"), None), a_change("/ws/b", file("c"), file("b")))),
    )

    assert state.turns[0].changes == (made, other)
    assert state.last_written == {"/ws/a": None, "/ws/b": file("b")}


def _own(*events: Event) -> Mapping[str, FileState]:
    replay = Replay()
    for event in (*ASKED, *events):
        replay.apply(event, 1000)
    return replay.own_files


def test_what_a_session_made_is_its_own_until_somebody_else_changes_it() -> None:
    made = observed(ZERO, a_change("/ws/a", None, file("a")))
    altered = observed(ONE, a_change("/ws/a", file("a"), file("b")))

    assert _own(made) == {"/ws/a": file("a")}
    assert _own(replace(made, subagent_id="s")) == {}, "a command of a subagent may have moved it there"
    assert _own(made, replace(altered, subagent_id="s")) == {}
    assert _own(made, altered) == {"/ws/a": file("b")}
    assert _own(made, observed(ONE, a_change("/ws/a", file("by hand"), file("b")))) == {}
    assert _own(made, observed(ONE, a_change("/ws/a", file("a"), None))) == {}
    assert _own(observed(ZERO, a_change("/ws/a", file("theirs"), file("b")))) == {}
    assert _own(made, FilesRestored(changes=(a_change("/ws/a", file("a"), file("c")),))) == {}


@pytest.mark.parametrize(
    ("command", "is_own"),
    [
        ("echo x > a", True),
        ("cat <<'E' >sub/../a\nx\nE", True),
        ("date | tee -a a", True),
        ("touch a", True),
        ("make", False),
        ("mv theirs a", False),
        ("cp theirs a; echo > b", False),
        ("mv /elsewhere/a . && touch a", False),
        ("mv /elsewhere/a . && echo more >> a", False),
        ("echo remove >a", True),
    ],
)
def test_of_what_a_command_made_only_what_it_prints_into_a_file_is_the_sessions_own(
    command: str, *, is_own: bool
) -> None:
    call = CallStarted(context=ZERO, tool="run_command", arguments={"command": command})
    made = replace(a_change("/ws/a", None, file("a")), declared=False)

    assert bool(_own(call, observed(ZERO, made))) is is_own
    assert not _own(call, observed(ZERO, made, a_change("/ws/theirs", file("a"), None)))


def test_a_path_that_nobody_looked_at_afterwards_is_not_known_to_be_ours() -> None:
    blind = FileChange(path="/ws/a", kind=ChangeKind.MODIFIED, declared=True)

    state = after(*ASKED, observed(ZERO, a_change("/ws/a", None, file("a"))), observed(ONE, blind))

    assert state.last_written == {}


@pytest.mark.parametrize(
    ("events", "manifests"),
    [
        ((kept(ZERO),), ("list",)),
        ((kept(ZERO), kept(ONE, "other"), started(ONE)), ("list", "other")),
        ((kept(ZERO), finished(ZERO)), ()),
        ((kept(ZERO), finished(ZERO, outcome=Outcome.ERROR)), ()),
        ((kept(ZERO), observed(ZERO, a_change("/ws/a", None, file("a")))), ()),
        ((kept(ZERO), finished(ZERO, outcome=Outcome.UNKNOWN)), ("list",)),
        ((kept(ZERO), finished(ZERO, outcome=Outcome.CANCELLED)), ("list",)),
        ((kept(ZERO), observed(ZERO), finished(ZERO, outcome=Outcome.CANCELLED)), ()),
        ((kept(ZERO), TurnStarted(prompt="next"), finished(ZERO)), ()),
    ],
)
def test_a_list_of_files_is_kept_until_somebody_has_looked_at_what_the_call_did(
    events: tuple[Event, ...], manifests: tuple[str, ...]
) -> None:
    assert after(*ASKED, PLANNED, *events).turns[0].manifests == manifests


# ------------------------------------------------------------------ all else


def test_the_latest_word_on_session_model_and_mode_holds() -> None:
    begun = SessionStarted(session_id="s", model="a/one", mode=Mode.ASK, cwd="/ws")
    resumed = SessionResumed(session_id="s", model="a/two", mode=Mode.AUTO, cwd="/ws/sub")

    changed = after(begun, ModelChanged(model="b/three"), ModeChanged(mode=Mode.QUORUM))
    again = after(begun, ModeChanged(mode=Mode.QUORUM), resumed)

    assert (changed.session_id, changed.model, changed.mode, changed.cwd) == (
        "s",
        "b/three",
        Mode.QUORUM,
        "/ws",
    )
    assert (again.model, again.mode, again.cwd) == ("a/two", Mode.AUTO, "/ws/sub")


@pytest.mark.parametrize(("second", "total"), [("0.2", "0.3"), (None, None)])
def test_costs_add_up_as_far_as_they_are_known(second: str | None, total: str | None) -> None:
    state = after(
        UsageCounted(model="m", usage=Usage(input=1, output=2), cost_usd=Decimal("0.1")),
        UsageCounted(model="n", usage=Usage(input=3), cost_usd=Decimal(second) if second else None),
    )

    assert state.spending.usage == Usage(input=4, output=2)
    assert state.spending.cost_usd == (Decimal(total) if total else None)


def test_a_turn_is_finished_when_it_says_so() -> None:
    assert after().finished
    assert not after(TurnStarted(prompt="")).finished
    assert after(TurnStarted(prompt=""), DONE).finished


def test_a_state_once_given_does_not_change() -> None:
    replay = Replay()
    for event in (*ASKED, PLANNED, started(ZERO), observed(ZERO, a_change("/ws/a", None, file("a")))):
        replay.apply(event, 0)
    early = replay.state
    copy = repr(early)

    for event in (finished(ZERO), observed(ONE, a_change("/ws/a", file("a"), None)), DONE):
        replay.apply(event, 0)
    replay.apply(SessionRewound(turn=0, conversation=True, files=True), 0)

    assert repr(early) == copy
    assert replay.state != early
    assert replay.state is replay.state


def test_records_that_cannot_be_understood_are_passed_over() -> None:
    records = [
        LedgerRecord(seq=0, at_ms=1, event=None),
        LedgerRecord(seq=1, at_ms=2, event=TurnStarted(prompt="p")),
        LedgerRecord(seq=2, at_ms=3, event=None, redacted=True),
    ]

    assert [turn.prompt for turn in replay_state(records).turns] == ["p"]
