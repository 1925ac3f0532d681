"""When the review of what a plan led to is due, and when it is over: from the events of a session alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from quorum.domain.code_review.change import ChangeBase
from quorum.domain.code_review.review_result import ReviewResult
from quorum.domain.conversation.response import Usage
from quorum.domain.events.event import (
    ChangeReviewed,
    Event,
    FinalReviewDropped,
    PlanApproved,
    PlanWithdrawn,
    SessionRedone,
    SessionRewound,
    StateMerged,
    TurnFinished,
    TurnStarted,
    event_from_json,
)
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.plan.plan import Plan, PlanTask
from quorum.domain.plan.progress import PLAN_VALUE
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Verdict
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.sessions.state import SessionState
from tests.support.builders import a_context

PLAN = Plan(
    objective="a parser", reasoning="it is asked for", tasks=(PlanTask(id="parser", description="write"),)
)
BASE = ChangeBase(commit="c" * 40, uncommitted={"notes.txt": "d" * 64})
APPROVED = PlanApproved(context=a_context(), plan=PLAN, digest=PLAN.digest, base=BASE)
DONE = StateMerged(
    batch_id="batch-1", changed={PLAN_VALUE: [{"id": "parser", "text": "write", "status": "done"}]}
)
ALL_DONE = (DONE, PlanWithdrawn(reason="all its tasks are done"))
BEGUN, CONTINUED = TurnStarted(prompt="go"), TurnStarted(prompt="")
ENDED = TurnFinished(
    report=RunReport(
        session_id="s", status=RunStatus.COMPLETED, stop_reason="end_turn", text="", turns=1, usage=Usage()
    )
)
REVIEWED = ChangeReviewed(
    panel_id="p",
    result=ReviewResult(
        description="what came of it",
        digest="0" * 64,
        base=BASE.commit,
        commit=BASE.commit,
        verdict=Verdict.REJECTED,
        rule="majority",
        ballots=(),
        is_independent=True,
        findings=(),
        files=1,
        parts=1,
    ),
)


def replay(*events: Event) -> SessionState:
    given: Sequence[Event] = events
    return replay_state(LedgerRecord(seq=n, at_ms=n, event=event) for n, event in enumerate(given))


def test_the_review_is_due_once_all_tasks_are_done() -> None:
    review = replay(BEGUN, APPROVED, *ALL_DONE).phase.review
    assert review is not None
    assert (review.plan, review.base, review.result) == (PLAN, BASE, None)


def test_a_turn_that_ends_without_the_review_leaves_it_due() -> None:
    assert replay(BEGUN, APPROVED, *ALL_DONE, ENDED, TurnStarted(prompt="and?")).phase.review is not None


@pytest.mark.parametrize(
    ("why", "events"),
    [
        ("tasks are open", (BEGUN, APPROVED)),
        ("the person withdrew the plan", (BEGUN, APPROVED, PlanWithdrawn(reason="you withdrew it"))),
        ("none was wanted when the plan was approved", (
            BEGUN,
            PlanApproved(context=a_context(), plan=PLAN, digest=PLAN.digest),
            *ALL_DONE,
        )),
        ("it was dropped", (BEGUN, APPROVED, *ALL_DONE, FinalReviewDropped(reason="you withdrew it"))),
        ("another plan is in force", (BEGUN, APPROVED, *ALL_DONE, APPROVED)),
        ("its turn is over", (BEGUN, APPROVED, *ALL_DONE, REVIEWED, ENDED)),
        ("the person wants something else of a turn that was killed", (
            BEGUN,
            APPROVED,
            *ALL_DONE,
            REVIEWED,
            TurnStarted(prompt="something else"),
        )),
    ],
)  # fmt: skip
def test_no_review_is_due_where(why: str, events: tuple[Event, ...]) -> None:
    assert replay(*events).phase.review is None, why


def test_the_result_stays_until_the_turn_of_the_review_has_come_to_its_end() -> None:
    review = replay(BEGUN, APPROVED, *ALL_DONE, REVIEWED, CONTINUED).phase.review
    assert review is not None
    assert review.result == REVIEWED.result


def test_a_review_of_something_else_is_no_result() -> None:
    assert replay(BEGUN, APPROVED, REVIEWED).phase.review is None


def test_an_undo_takes_the_review_back_and_a_redo_brings_it_again() -> None:
    turn = (BEGUN, APPROVED, *ALL_DONE, ENDED)
    undo = SessionRewound(turn=0, conversation=True, files=False)
    assert replay(*turn, undo).phase.review is None
    assert replay(*turn, undo, SessionRedone(turns=(0,), files=True, turn=0)).phase.review is not None


def test_an_approval_of_a_ledger_from_before_there_were_reviews_can_be_read() -> None:
    written = {key: value for key, value in APPROVED.to_json().items() if key != "base"}
    event = event_from_json(written)
    assert event == replace(APPROVED, base=None)


def test_an_approval_is_read_back_with_the_repository_that_it_began_with() -> None:
    assert event_from_json(APPROVED.to_json()) == APPROVED
