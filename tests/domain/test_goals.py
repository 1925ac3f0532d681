"""Goals as they are typed, approved, counted and told of."""

from __future__ import annotations

import json
import re

import pytest

from quorum.domain.calls.effects import ChangeKind
from quorum.domain.calls.execution import Outcome, Seal
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import ToolCall
from quorum.domain.errors import GoalRefused
from quorum.domain.events.event import (
    ChecksApproved,
    Event,
    GoalChecked,
    GoalDropped,
    GoalReceiptOutdated,
    GoalSet,
    ReviewDecided,
    ReviewRequested,
    TurnFinished,
    TurnStarted,
)
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.goal import (
    ApprovedChecks,
    CheckRun,
    Goal,
    GoalCheck,
    GoalFile,
    GoalReceipt,
    TypedGoal,
    parse_goal,
    read_commands,
)
from quorum.domain.replacing import replace
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.replay import Replay
from quorum.domain.sessions.session_summary import find_named_manifests
from tests.support.builders import a_context

CHECK = GoalCheck(command="pytest", digest="d")
SET = GoalSet(text="pass", manifest="m", checks=(CHECK,))
ENDED = TurnFinished(
    report=RunReport(session_id="s", status=RunStatus.COMPLETED, stop_reason=None, text="", turns=1)
)


def ran(exit_code: int | None = 0, outcome: Outcome = Outcome.OK) -> CheckRun:
    return CheckRun(command="pytest", outcome=outcome, exit_code=exit_code, output_sha256="o")


def checked(attempt: int, *runs: CheckRun) -> GoalChecked:
    return GoalChecked(receipt=GoalReceipt(attempt=attempt, runs=runs, tree="t" * 64, manifest="n"))


def replay(*events: Event) -> Goal | None:
    state = Replay()
    for event in events:
        state.apply(event, 0)
    return state.state.goal


@pytest.mark.parametrize(
    ("typed", "goal"),
    [
        ("all tests pass", TypedGoal("all tests pass", ())),
        ("all tests pass ! pytest -q", TypedGoal("all tests pass", ("pytest -q",))),
        ("it passes!", TypedGoal("it passes!", ())),
        ("a != b holds ! test 1 != 2", TypedGoal("a != b holds", ("test 1 != 2",))),
        ("clean ! ! grep -r TODO src", TypedGoal("clean", ("! grep -r TODO src",))),
        ("pass\n! pytest\n!ruff check .", TypedGoal("pass", ("pytest", "ruff check ."))),
        ("pass ! a\n! b\n! a", TypedGoal("pass", ("a", "b"))),
        ("first\nsecond\n! c", TypedGoal("first\nsecond", ("c",))),
        ("a != b holds", TypedGoal("a != b holds", ())),
        ("no !important is left ! ruff check .", TypedGoal("no !important is left", ("ruff check .",))),
    ],
)
def test_checks_stand_behind_exclamation_marks(typed: str, goal: TypedGoal) -> None:
    assert parse_goal(typed) == goal


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("pass !pytest -q", "!pytest may be a check or not: write ! pytest to have it run"),
        ("!pytest", "!pytest may be a check or not"),
        ("pass !", "check 1 is empty"),
        ("pass ! ", "check 1 is empty"),
        ("pass\n!", "check 1 is empty"),
    ],
)
def test_a_mark_that_begins_no_check_is_not_taken_for_text(typed: str, why: str) -> None:
    with pytest.raises(GoalRefused, match=re.escape(why)):
        parse_goal(typed)


@pytest.mark.parametrize("commands", [[""], [3], ["x" * 2_001], [str(n) for n in range(11)]])
def test_what_can_be_no_check_is_refused(commands: list[str]) -> None:
    with pytest.raises(GoalRefused):
        read_commands(commands)


def test_a_check_passes_by_its_exit_code_alone() -> None:
    assert ran(0).has_passed
    assert not ran(1).has_passed
    assert not ran(None, Outcome.ERROR).has_passed
    assert not ran(0, Outcome.CANCELLED).has_passed
    assert not GoalReceipt(attempt=1, runs=(), tree="", manifest="").has_passed


def test_what_was_named_runs_unasked_unless_something_speaks_against_it() -> None:
    approved = ApprovedChecks(named=frozenset({"named"}), seen=frozenset({"seen"}))

    assert approved.cover("named", is_objected_to=False)
    assert not approved.cover("named", is_objected_to=True)
    assert approved.cover("seen", is_objected_to=True)
    assert not approved.cover("other", is_objected_to=False)


def test_attempts_of_a_turn_whose_process_died_count_on() -> None:
    begun = (SET, TurnStarted(prompt="go"), checked(1, ran(1)))

    killed = replay(*begun, TurnStarted(prompt=""), checked(2, ran(1)))
    ended = replay(*begun, ENDED, TurnStarted(prompt="on"), checked(2, ran(1)))

    assert killed is not None
    assert ended is not None
    assert (killed.attempts, killed.attempts_in_turn) == (2, 2)
    assert (ended.attempts, ended.attempts_in_turn) == (2, 1)


def test_a_goal_is_open_until_all_checks_pass_and_its_receipt_may_become_stale() -> None:
    open_goal = replay(SET, checked(1, ran(0), ran(1)))
    reached = replay(SET, checked(1, ran(0)), GoalReceiptOutdated(files=("a.py",)))

    assert open_goal is not None
    assert reached is not None
    assert open_goal.is_open
    assert open_goal.standing == "1 of 2 checks pass in attempt 1"
    assert not reached.is_open
    assert reached.standing == "reached in attempt 1, receipt stale"


@pytest.mark.parametrize("event", [SET, checked(1, ran(0))])
def test_lists_of_files_that_a_goal_names_are_spared_by_pruning(event: GoalSet | GoalChecked) -> None:
    named = replace(event, manifest="ab" * 32) if isinstance(event, GoalSet) else event
    if isinstance(named, GoalChecked):
        named = GoalChecked(receipt=replace(named.receipt, manifest="ab" * 32))

    payload = json.dumps(named.to_json()).encode()

    assert find_named_manifests(named.type, payload) == {bytes.fromhex("ab" * 32)}


def test_other_checks_open_a_goal_again() -> None:
    goal = replay(
        SET, checked(1, ran(0)), GoalReceiptOutdated(files=("a.py",)), ChecksApproved(checks=(CHECK,))
    )

    assert goal is not None
    assert goal.is_open
    assert goal.standing == "not checked yet"


def test_a_goal_that_is_off_stays_off_whatever_a_record_says_later() -> None:
    assert replay(SET, GoalDropped(), checked(1, ran(0)), ChecksApproved(checks=(CHECK,))) is None


def review(command: str, decision: DecisionLabel) -> tuple[str, tuple[Event, Event]]:
    packet = ReviewPacket(
        call=ToolCall(tool_name="run_command", arguments={"command": command}, native_id="c"),
        context=a_context(1),
        seal=Seal(cwd="/w"),
    )
    asked = ReviewRequested(context=a_context(1), packet=packet, digest=packet.digest, reasons=())
    decided = ReviewDecided(context=a_context(1), digest=packet.digest, decision=decision, reason=None)
    return packet.content_digest, (asked, decided)


def test_what_the_person_approved_in_a_review_is_remembered_by_its_content() -> None:
    content, approved = review("pytest", DecisionLabel.APPROVED)
    goal = replay(SET, *approved)

    assert goal is not None
    assert goal.approved == ApprovedChecks(named=frozenset({"d"}), seen=frozenset({content}))
    for command, decision in (
        ("other", DecisionLabel.APPROVED),
        ("pytest", DecisionLabel.EDITED),
        ("pytest", DecisionLabel.REJECTED),
        ("pytest", DecisionLabel.ALLOWED),
    ):
        untold = replay(SET, *review(command, decision)[1])
        assert untold is not None
        assert untold.seen == frozenset()


def test_the_receipt_is_one_line_with_all_that_may_be_wrong_with_it() -> None:
    receipt = GoalReceipt(
        attempt=2,
        runs=(ran(0), ran(3), ran(None, Outcome.ERROR)),
        tree="0123456789abcdef",
        manifest="m",
        changed=(GoalFile(path="tests/test_a.py", kind=ChangeKind.DELETED),),
        changed_count=2,
        check_files=("tests/test_a.py (deleted)",),
        written=("out.txt",),
        is_complete=False,
    )

    assert receipt.sentence == (
        "goal not reached, attempt 2: `pytest` passed, `pytest` exited with 3, `pytest` ended with no exit "
        "code (error); 2 files changed, tree 0123456789ab; changed in this goal, and a check depends on it: "
        "tests/test_a.py (deleted); changed by the checks themselves: out.txt; not every file could be looked "
        "at"
    )
    assert "- deleted tests/test_a.py" in receipt.details
    assert "1 more file not listed" in receipt.details
