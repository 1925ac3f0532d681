"""Calls and titles of a session that is continued, and calls that were cut short, in an editor."""

from __future__ import annotations

import json

import pytest
from acp.schema import SessionInfoUpdate, ToolCallProgress, ToolCallStart

from quorum.acp_agent.standard_io import SessionUpdate
from quorum.acp_agent.update_feed import UpdateFeed
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev
from quorum.domain.review.questions import DecisionLabel
from tests.tui.transcript_scenes import asked, completed, context, finished, planned, started

RUN = {"command": "make all"}
HIGH = RiskLevel.HIGH
OPEN: tuple[ev.Event, ...] = (
    ev.TurnStarted(prompt="build it"),
    completed("yes", calls=True),
    planned(("run_command", RUN, HIGH, ()), ("run_command", RUN, HIGH, (0,))),
    asked("run_command", RUN),
)


class Past:
    """As much of a record as is replayed."""

    def __init__(self, *events: ev.Event) -> None:
        self.past = events


def replay(*events: ev.Event) -> list[SessionUpdate]:
    return list(UpdateFeed("/ws", lambda _update: None).replay(Past(*events)))  # type: ignore[arg-type]


def statuses(updates: list[SessionUpdate]) -> list[str | None]:
    return [update.status for update in updates if isinstance(update, ToolCallStart)]


def test_a_call_whose_review_is_open_is_replayed_as_one_that_waits() -> None:
    assert statuses(replay(*OPEN)) == ["pending", "pending"]


def test_a_call_that_ran_when_the_process_ended_is_replayed_as_failed() -> None:
    assert statuses(replay(*OPEN[:3], started("run_command", RUN))) == ["failed", "failed"]


def test_a_session_that_is_continued_or_copied_keeps_its_title() -> None:
    updates: list[SessionUpdate] = []
    feed = UpdateFeed("/ws", updates.append)
    feed.take_title(Past(*OPEN))  # type: ignore[arg-type]

    feed.notify(ev.TurnStarted(prompt="and now?"))

    assert not [update for update in updates if isinstance(update, SessionInfoUpdate)]


@pytest.mark.parametrize("is_replayed", [False, True])
def test_a_command_that_is_stopped_shows_what_it_had_printed_once_now_and_later(is_replayed: bool) -> None:
    output = "interrupted while it ran. Until then it had shown:\nstep 1 of 7"
    ended = finished("run_command", output, outcome=Outcome.CANCELLED, decision=DecisionLabel.APPROVED)
    events = (
        *OPEN[:3],
        started("run_command", RUN),
        ev.CallProgressed(context=context(), text="step 1 of 7\n"),
        ended,
    )
    updates: list[SessionUpdate] = []
    if is_replayed:
        updates += replay(*(event for event in events if event.durable))
    else:
        feed = UpdateFeed("/ws", updates.append)
        for event in events:
            feed.notify(event)

    (last,) = [
        update
        for update in updates
        if isinstance(update, ToolCallStart | ToolCallProgress) and "interrupted" in str(update.content)
    ]
    shown = json.dumps([each.model_dump() for each in last.content or ()])
    assert shown.count("step 1 of 7") == 1
