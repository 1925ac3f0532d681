"""Subagents: the names of their sessions, their place in lists, and what becomes of their tasks in a record."""

from __future__ import annotations

from decimal import Decimal

import pytest

from quorum.application.subagents.subagent_runner import find_subagent_ends
from quorum.application.turn.recovery import plan_recovery
from quorum.domain.calls.execution import Outcome, Seal, ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import LedgerError, LostConnection
from quorum.domain.events.event import (
    CallStarted,
    Event,
    MessageAdded,
    ResponseCompleted,
    SessionFinished,
    SessionResumed,
    SubagentFinished,
    SubagentStarted,
    TurnStarted,
    event_from_json,
)
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.events.subagents import SubagentOutcome
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.sessions.replay import Replay
from quorum.domain.sessions.session_ids import build_subagent_id, find_owner
from quorum.domain.sessions.session_summary import (
    LedgerRecord,
    SessionSummary,
    select_own_sessions,
    select_sessions_to_prune,
)
from quorum.domain.sessions.stored_session import find_session, shorten_id
from quorum.domain.subagent_task import SubagentTask
from tests.support.builders import calls_response

OWNER = "01a2097c-4e1c-7306-accf-1e6c30a1cc00"
CALL = ToolCall(tool_name="task", arguments={"prompt": "look"}, native_id="c1")
CONTEXT = ToolExecutionContext(call_id="c1", batch_id="b", call_index=0, turn_index=0)


def listed(*ids: str, updated_ms: int = 0) -> tuple[SessionSummary, ...]:
    return tuple(
        SessionSummary(
            id=id_, title="", cwd="/w", model="m", started_ms=0, updated_ms=updated_ms, turns=1, records=1
        )
        for id_ in ids
    )


def test_the_id_of_a_subagents_session_leads_to_its_owner() -> None:
    assert find_owner(build_subagent_id(OWNER, 12)) == OWNER
    assert find_owner(OWNER) is None
    assert find_owner(f"{OWNER}-t0") is None


def test_a_list_of_sessions_tells_those_of_subagents_apart() -> None:
    sessions = listed(f"{OWNER}-t10", f"{OWNER}-t2", OWNER, "other")
    assert [each.id for each in select_own_sessions(sessions)] == [OWNER, "other"]
    assert [each.id for each in sessions if each.owner == OWNER] == [f"{OWNER}-t10", f"{OWNER}-t2"]


def test_the_beginning_of_an_id_means_the_owner_and_the_whole_id_the_subagent() -> None:
    sessions = listed(f"{OWNER}-t1", OWNER)
    assert find_session(OWNER[:8], sessions).id == OWNER
    assert find_session(f"{OWNER}-t1", sessions).id == f"{OWNER}-t1"
    assert shorten_id(OWNER, sessions) == OWNER[:13]
    with pytest.raises(LedgerError, match="2 sessions begin with"):
        find_session(f"{OWNER}-t", listed(f"{OWNER}-t1", f"{OWNER}-t2"))


def test_sessions_of_subagents_are_pruned_with_their_owner_and_do_not_count() -> None:
    sessions = listed(f"{OWNER}-t1", OWNER, "b-t1", "b", "c")
    gone = select_sessions_to_prune(sessions, older_than_days=None, keep=2, ids=(), now_ms=0)
    assert [each.id for each in gone] == ["c"]
    gone = select_sessions_to_prune(sessions, older_than_days=None, keep=None, ids=["b"], now_ms=0)
    assert [each.id for each in gone] == ["b-t1", "b"]


def test_a_subagent_is_named_by_its_task_on_one_short_line() -> None:
    assert SubagentTask(prompt="find the\ncallers").title == "task: find the callers"
    assert SubagentTask(prompt="look", agent="reviewer").title == "task reviewer: look"
    assert len(SubagentTask(prompt="word " * 100).title) == len("task: ") + 60


@pytest.mark.parametrize(
    ("status", "text", "is_answer", "said"),
    [
        (RunStatus.COMPLETED, "found", True, "found"),
        (RunStatus.COMPLETED, " ", False, "said nothing"),
        (RunStatus.LIMIT, "half", True, "[the task reached a limit before it was done: too long]\nhalf"),
        (RunStatus.NEEDS_APPROVAL, "x", True, "nobody was there to give it]\nx"),
        (RunStatus.FAILED, "half", False, "[the task failed: too long]\nhalf"),
        (RunStatus.REFUSED, "", False, "refused to answer"),
        (RunStatus.INTERRUPTED, "", False, "part of its work may be done"),
    ],
)
def test_every_ending_of_a_task_says_what_it_is(
    status: RunStatus, text: str, is_answer: bool, said: str
) -> None:
    outcome = SubagentOutcome(status=status, text=text, error="too long")
    assert outcome.is_answer is is_answer
    assert said in outcome.message


def open_task(*more: Event) -> Replay:
    """A session whose process died while a task was under way."""
    replay = Replay()
    events: list[Event] = [
        TurnStarted(prompt="go"),
        MessageAdded(message=UserMessage("go")),
        ResponseCompleted(turn_index=0, response=calls_response(CALL)),
        CallStarted(context=CONTEXT, tool="task", arguments=CALL.arguments),
        SubagentStarted(context=CONTEXT, subagent_id=f"{OWNER}-t1", prompt="look", model="p/m"),
        *more,
    ]
    for event in events:
        replay.apply(event_from_json(event.to_json()), 0)
    return replay


def ended() -> SubagentFinished:
    outcome = SubagentOutcome(
        status=RunStatus.COMPLETED, text="found it", turns=2, usage=Usage(input=3), cost_usd=Decimal("0.5")
    )
    return SubagentFinished(context=CONTEXT, subagent_id=f"{OWNER}-t1", outcome=outcome)


def test_a_task_that_was_cut_off_is_interrupted_after_a_restart_and_names_its_session() -> None:
    state = open_task().state
    assert state.subagents == 1
    recovery = plan_recovery(state.open_calls, turn_index=0, scope=RequestedScope())
    assert recovery is not None
    (end,) = recovery.list_ends()
    assert end.outcome is Outcome.UNKNOWN
    assert f"session {OWNER}-t1" in end.output


def test_a_task_that_had_ended_gives_its_text_after_a_restart() -> None:
    recovery = plan_recovery(open_task(ended()).state.open_calls, turn_index=0, scope=RequestedScope())
    assert recovery is not None
    (end,) = recovery.list_ends()
    assert (end.outcome, end.output) == (Outcome.OK, "found it")


REPORT = RunReport(
    session_id=f"{OWNER}-t1", status=RunStatus.COMPLETED, stop_reason="end_turn", text="x", turns=1
)
RESUMED = SessionResumed(session_id=f"{OWNER}-t1", model="p/m", mode=Mode.ASK, cwd="/w")


@pytest.mark.parametrize(
    ("events", "texts"),
    [
        ([SessionFinished(report=REPORT)], ["x"]),
        ([SessionFinished(report=REPORT), RESUMED, SessionFinished(report=replace(REPORT, text="y"))], ["x"]),
        ([RESUMED, SessionFinished(report=REPORT)], []),
        ([None], []),
        ([], []),
    ],
    ids=["ended", "asked more later", "interrupted, and asked more later", "unreadable", "no record"],
)
async def test_the_end_of_a_task_is_the_one_before_anybody_resumed_its_session(
    events: list[Event | None], texts: list[str]
) -> None:
    async def read(session_id: str) -> list[LedgerRecord]:
        assert session_id == f"{OWNER}-t1"
        if not events:
            raise LedgerError("there is no such session")
        return [LedgerRecord(seq=at, at_ms=0, event=event) for at, event in enumerate(events)]

    found = await find_subagent_ends(open_task().state.open_calls, read)
    assert [end.outcome.text for end in found] == texts
    assert await find_subagent_ends(open_task(ended()).state.open_calls, read) == ()


async def test_how_a_task_ended_is_not_guessed_where_the_server_does_not_answer() -> None:
    async def read(_session_id: str) -> list[LedgerRecord]:
        raise LostConnection("the server does not answer")

    with pytest.raises(LostConnection):
        await find_subagent_ends(open_task().state.open_calls, read)


def test_a_packet_names_the_subagent_that_asks_and_its_digest_covers_that() -> None:
    plain = ReviewPacket(call=CALL, context=CONTEXT, seal=Seal(cwd="/w"))
    asked = ReviewPacket(call=CALL, context=CONTEXT, seal=Seal(cwd="/w"), asked_by="task: look")
    assert "asked_by" not in plain.to_json()
    assert asked.to_json()["asked_by"] == "task: look"
    assert asked.digest != plain.digest
