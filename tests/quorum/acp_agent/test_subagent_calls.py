"""What a client is shown of a subagent's calls: those that it was asked about, from question to end."""

from __future__ import annotations

from quorum.acp_agent.update_feed import SubagentCalls
from quorum.domain.calls.execution import Outcome, Seal, ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import ToolCall
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    Event,
    ReviewRequested,
    SubagentFinished,
    SubagentProgressed,
    TextDelta,
)
from quorum.domain.events.report import RunStatus
from quorum.domain.events.subagents import SubagentOutcome
from quorum.domain.review.questions import DecisionLabel
from tests.support.builders import a_context

ASKED = ToolExecutionContext(call_id="x1", batch_id="inner", call_index=0, turn_index=0)
OTHER = ToolExecutionContext(call_id="x2", batch_id="inner", call_index=1, turn_index=0)
CALL = ToolCall(tool_name="read_file", arguments={"path": ".env"}, native_id="x1")
PACKET = ReviewPacket(call=CALL, context=ASKED, seal=Seal(cwd="/w"), asked_by="task: look")
QUESTION = ReviewRequested(context=ASKED, packet=PACKET, digest=PACKET.digest, reasons=("a sensitive file",))


def starts(context: ToolExecutionContext) -> CallStarted:
    return CallStarted(context=context, tool="read_file", arguments={"path": ".env"})


def finishes(context: ToolExecutionContext, outcome: Outcome = Outcome.OK) -> CallFinished:
    return CallFinished(
        context=context,
        tool="read_file",
        outcome=outcome,
        decision=DecisionLabel.NONE,
        output="NAME=value",
        duration_secs=0.1,
    )


def ends(subagent_id: str = "s-t1") -> SubagentFinished:
    outcome = SubagentOutcome(status=RunStatus.INTERRUPTED, text="")
    return SubagentFinished(context=a_context(), subagent_id=subagent_id, outcome=outcome)


def show(calls: SubagentCalls, *events: Event) -> list[tuple[str, str, str | None]]:
    """Each update by its kind, the id of its call and its status."""
    shown: list[tuple[str, str, str | None]] = []
    for event in events:
        if not isinstance(event, SubagentFinished):
            event = SubagentProgressed(context=a_context(), subagent_id="s-t1", event=event.to_json())
        shown += [(each.session_update, each.tool_call_id, each.status) for each in calls.map_event(event)]
    return shown


def test_a_call_that_was_asked_about_is_shown_to_its_end_and_no_other() -> None:
    calls = SubagentCalls("/w")
    assert show(calls, TextDelta(text="x"), starts(OTHER), QUESTION, starts(ASKED), finishes(OTHER)) == [
        ("tool_call", "inner:0", "pending"),
        ("tool_call_update", "inner:0", "in_progress"),
    ]
    assert show(calls, finishes(ASKED)) == [("tool_call_update", "inner:0", "completed")]
    assert show(calls, ends()) == []


def test_a_call_that_is_asked_about_once_more_begins_once() -> None:
    kinds = [kind for kind, _, _ in show(SubagentCalls("/w"), QUESTION, QUESTION)]
    assert kinds == ["tool_call", "tool_call_update"]


def test_a_call_that_had_no_end_when_its_task_ended_is_shown_as_failed() -> None:
    calls = SubagentCalls("/w")
    show(calls, QUESTION)
    assert show(calls, ends("s-t2")) == []
    assert show(calls, ends()) == [("tool_call_update", "inner:0", "failed")]
    assert show(calls, ends()) == []
