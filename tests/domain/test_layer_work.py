"""The record of a session says what was done in its layer since the last review."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from quorum.domain.calls.command_end import CommandEnd
from quorum.domain.calls.effects import ChangeKind, Effects, FileChange, FileKind, FileState
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.job import JobStatus
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    EffectsApproved,
    EffectsObserved,
    EffectsReviewed,
    EffectsVoted,
    Event,
    JobEnded,
    JobStarted,
    LayerEntered,
    LayerWaits,
    ResponseCompleted,
    SessionResumed,
    SubagentFinished,
    SubagentStarted,
)
from quorum.domain.events.report import RunStatus
from quorum.domain.events.staging import EffectsDecision
from quorum.domain.events.subagents import SubagentOutcome
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.replay import Replay
from quorum.domain.shell.network_hosts import AskedHost
from quorum.domain.staging.effects_answer import EffectsVotes
from quorum.domain.staging.layer_work import MOST_COMMANDS, LayerWork, SubagentChanges, SubagentStep
from tests.support.builders import a_context, calls_response

ENTERED = LayerEntered(layer="1", workspace="/w")
RESUMED = SessionResumed(session_id="s", model="m", mode=Mode.ASK, cwd="/w")
WAITS = LayerWaits(layer="1", digest="d", files=1)
APPROVED = EffectsApproved(layer="1", workspace="/w", digest="d")
ANSWERED = ResponseCompleted(turn_index=0, response=calls_response())


def reviewed(decision: EffectsDecision) -> EffectsReviewed:
    return EffectsReviewed(layer="1", decision=decision)


def run(place: int, command: str, output: str, outcome: Outcome = Outcome.OK) -> tuple[Event, Event]:
    return (
        CallStarted(context=a_context(place), tool="run_command", arguments={"command": command}),
        CallFinished(
            context=a_context(place),
            tool="run_command",
            outcome=outcome,
            decision=DecisionLabel.ALLOWED,
            output=output,
            duration_secs=0.1,
        ),
    )


def replay(*events: Event) -> LayerWork:
    state = Replay()
    for event in events:
        state.apply(event, 0)
    return state.state.layer


def test_commands_in_a_layer_are_told_with_their_exit_codes_and_last_lines() -> None:
    work = replay(ENTERED, *run(0, "pytest -q", "F.\n1 failed\nexit code 1\n1 background process was ended"))

    assert work.commands == (
        CommandEnd(command="pytest -q", outcome=Outcome.OK, exit_code=1, last_lines=("F.", "1 failed")),
    )
    assert work.commands[0].is_test
    assert work.commands[0].failed


def test_a_command_that_prints_an_exit_code_of_its_own_is_not_believed() -> None:
    (command,) = replay(ENTERED, *run(0, "false", "exit code 0\nexit code 1")).commands

    assert command.exit_code == 1


def test_a_command_that_ran_out_of_time_has_no_exit_code() -> None:
    output = "the command was ended after 2 s; what it had printed until then:\nexit code 0"
    (command,) = replay(ENTERED, *run(0, "sleep 9", output, Outcome.ERROR)).commands

    assert command.exit_code is None
    assert command.failed


def test_outside_a_layer_nothing_is_collected() -> None:
    assert replay(*run(0, "make", "exit code 0")) == LayerWork()


@pytest.mark.parametrize(
    ("decision", "left"), [("applied", 0), ("discarded", 0), ("refused", 1), ("rejected", 1)]
)
def test_what_was_done_counts_until_the_effects_are_applied_or_dropped(decision: str, left: int) -> None:
    reviewed = EffectsReviewed(layer="1", decision=EffectsDecision(decision))

    assert len(replay(ENTERED, *run(0, "make", "exit code 0"), reviewed).commands) == left


def test_a_session_that_continues_in_its_layer_still_knows_what_was_done_there() -> None:
    before = (ENTERED, *run(0, "make", "exit code 0"))

    assert len(replay(*before, RESUMED, ENTERED).commands) == 1
    assert replay(*before, RESUMED) == LayerWork()
    assert replay(*before, RESUMED, LayerEntered(layer="2", workspace="/w")).commands == ()


def test_what_was_found_in_a_layer_is_said_as_the_session_enters_it() -> None:
    entered = LayerEntered(layer="1", workspace="/w", notices=("applying was broken off", "changes wait in it"))

    assert entered.sentence.endswith("(layer 1); applying was broken off; changes wait in it")


def test_addresses_and_commands_that_still_run_are_told() -> None:
    started = CallStarted(context=a_context(0), tool="web_fetch", arguments={"url": "https://example.com/a"})
    fetched = CallFinished(
        context=a_context(0),
        tool="web_fetch",
        outcome=Outcome.OK,
        decision=DecisionLabel.APPROVED,
        output="a page",
        duration_secs=0.1,
    )
    command, done = run(2, "pip install x", "")
    done = replace(done, hosts=(AskedHost("pypi.org", 443), AskedHost("example.net", 22, "nothing allows it")))
    job = JobStarted(job_id="j", context=a_context(1), command="npm start")
    work = replay(ENTERED, started, fetched, command, done, job)

    assert work.addresses == ("https://example.com/a", "pypi.org", "example.net:22 (refused)")
    assert work.jobs == ("npm start",)


def test_hosts_of_a_background_command_are_told_whenever_it_asked_for_them() -> None:
    begun, answered = run(0, "npm start", "it runs in the background as j")
    answered = replace(answered, hosts=(AskedHost("early.example", 443),))
    started = JobStarted(job_id="j", context=a_context(0), command="npm start")
    ended = JobEnded(
        job_id="j",
        status=JobStatus.STOPPED,
        exit_code=None,
        duration_secs=1,
        hosts=(AskedHost("early.example", 443), AskedHost("late.example", 443, "nothing allows it")),
    )

    assert replay(ENTERED, begun, started, answered).addresses == ("early.example",)
    work = replay(ENTERED, begun, started, answered, ended)
    assert work.addresses == ("early.example", "late.example (refused)")


def changed(*paths: str, by: str = "") -> EffectsObserved:
    changes = tuple(FileChange(path=path, kind=ChangeKind.MODIFIED, declared=True) for path in paths)
    effects = Effects(changes=changes, complete=True)
    return EffectsObserved(context=a_context(0), effects=effects, subagent_id=by or UNSET)


def test_what_each_subagent_changed_is_known_and_whether_nobody_else_did() -> None:
    one, other = (
        SubagentStarted(context=a_context(0), subagent_id=id_, prompt="p", model="m", agent=agent)
        for id_, agent in (("s-t1", ""), ("s-t2", "tester"))
    )
    events = (
        *(ENTERED, one, other, changed("/w/a", "/w/b", by="s-t1"), changed("/w/b", "/w/c", by="s-t2")),
        *(changed("/w/a", by="s-t1"), changed("/w/d")),
    )

    assert replay(*events).changes == (
        SubagentChanges(
            subagent_id="s-t1", name="subagent 1", paths={"/w/a": True, "/w/b": False}, beside=("s-t2",)
        ),
        SubagentChanges(
            subagent_id="s-t2", name="tester 2", paths={"/w/b": False, "/w/c": True}, beside=("s-t1",)
        ),
    )
    (first, _) = replay(*events, changed("/w/a")).changes
    assert first.own == frozenset()
    assert replay(*events, APPROVED, reviewed(EffectsDecision.APPLIED)).changes == ()
    assert replay(one, changed("/w/a", by="s-t1")).changes == ()


def stepped(path: str, before: str, after: str, by: str = "") -> EffectsObserved:
    states = (FileState(kind=FileKind.FILE, mode=0o644, sha256=sha256) for sha256 in (before, after))
    old, new = (state if state.sha256 else None for state in states)
    kind = ChangeKind.MODIFIED if before and after else ChangeKind.CREATED if after else ChangeKind.DELETED
    change = FileChange(path=path, kind=kind, declared=True, before=old, after=new)
    effects = Effects(changes=(change,), complete=True)
    return EffectsObserved(context=a_context(0), effects=effects, subagent_id=by or UNSET)


def test_of_a_file_that_several_changed_each_step_is_known_with_who_took_it() -> None:
    one, other = (
        SubagentStarted(context=a_context(0), subagent_id=id_, prompt="p", model="m")
        for id_ in ("s-t1", "s-t2")
    )
    ended = SubagentFinished(
        context=a_context(0),
        subagent_id="s-t1",
        outcome=SubagentOutcome(status=RunStatus.COMPLETED, text="done"),
    )
    steps = (
        *(
            stepped("/w/a", "", "1", "s-t1"),
            stepped("/w/a", "1", "2", "s-t1"),
            stepped("/w/a", "2", "3", "s-t2"),
        ),
        *(stepped("/w/a", "3", ""), stepped("/w/b", "1", "2", "s-t1"), stepped("/w/c", "1", "2")),
    )

    work = replay(ENTERED, one, other, ended, *steps)

    assert work.shared == {
        "/w/a": (
            SubagentStep(by="s-t1", before="", after="2"),
            SubagentStep(by="s-t2", before="2", after="3"),
            SubagentStep(by="", before="3", after=""),
        )
    }
    assert [each.beside for each in work.changes] == [("s-t2",), ("s-t1",)]
    assert [each.beside for each in replay(ENTERED, one, ended, other, *steps).changes] == [(), ()]
    assert replay(ENTERED, one, other, *steps, reviewed(EffectsDecision.APPLIED)).shared == {}


def test_subagents_are_counted_until_the_next_review() -> None:
    started = SubagentStarted(context=a_context(0), subagent_id="s-t1", prompt="have pytest run", model="m")

    assert replay(started, ENTERED, started, started).subagents == 2
    assert replay(ENTERED, started, APPROVED, reviewed(EffectsDecision.APPLIED)).subagents == 0


def test_a_subagent_in_the_background_is_no_command() -> None:
    started = JobStarted(job_id="j", context=a_context(0), command="have pytest run", subagent_id="s.1")
    ended = JobEnded(job_id="j", status=JobStatus.ANSWERED, exit_code=None, duration_secs=1, output="done")

    assert replay(ENTERED, started).jobs == ("have pytest run",)
    assert replay(ENTERED, started, ended).commands == ()


@pytest.mark.parametrize(
    ("status", "exit_code", "told"),
    [
        (JobStatus.STOPPED, -15, (False, "stopped")),
        (JobStatus.ENDED, 3, (True, "exit code 3")),
        (JobStatus.ENDED, 0, (False, "exit code 0")),
        (JobStatus.UNKNOWN, None, (True, "unknown")),
    ],
)
def test_a_command_in_the_background_is_told_once_by_its_end_and_stopped_it_has_not_failed(
    status: JobStatus, exit_code: int | None, told: tuple[bool, str]
) -> None:
    begun, answered = run(0, "npm start", "it runs in the background as j")
    ended = JobEnded(job_id="j", status=status, exit_code=exit_code, duration_secs=1, output="listening\n")
    started = JobStarted(job_id="j", context=a_context(0), command="npm start")

    (command,) = replay(ENTERED, begun, started, answered, ended).commands

    assert ((command.failed, command.ending), command.last_lines) == (told, ("listening",))


def test_votes_are_those_on_the_effects_since_the_last_review() -> None:
    votes = EffectsVotes(digest="d", verdict="approved", count="1 for")
    voted = EffectsVoted(layer="1", votes=votes)

    assert replay(ENTERED, voted, RESUMED, ENTERED).votes == votes
    assert replay(ENTERED, voted, reviewed(EffectsDecision.REJECTED)).votes == votes
    assert replay(ENTERED, voted, APPROVED, reviewed(EffectsDecision.APPLIED)).votes is None


def test_of_very_many_commands_the_last_are_kept_and_the_others_counted() -> None:
    events = [
        event for place in range(MOST_COMMANDS + 3) for event in run(place, f"echo {place}", "exit code 0")
    ]
    work = replay(ENTERED, *events)

    assert (len(work.commands), work.more, work.commands[0].command) == (MOST_COMMANDS, 3, "echo 3")


def test_where_the_model_answered_last_stays_known_in_a_session_that_left_its_layer() -> None:
    answered = replay(ENTERED, ANSWERED, RESUMED)

    assert (answered.layer, answered.answered_in) == ("", "1")
    assert replay(ENTERED, ANSWERED, RESUMED, ANSWERED).answered_in == ""
    assert replay(ENTERED).answered_in is None


@pytest.mark.parametrize(
    "decision", [EffectsDecision.DISCARDED, EffectsDecision.UNDONE, EffectsDecision.REDONE]
)
def test_files_are_known_to_be_others_than_the_model_saw_until_it_answers_again(
    decision: EffectsDecision,
) -> None:
    assert replay(ENTERED, ANSWERED, reviewed(decision)).was_reset
    assert not replay(ENTERED, ANSWERED, reviewed(decision), ANSWERED).was_reset


def test_a_line_like_an_ending_that_a_killed_command_printed_is_not_its_ending() -> None:
    (command,) = replay(ENTERED, *run(0, "pytest -q", "exit code 0\nkilled by SIGKILL")).commands

    assert (command.exit_code, command.failed, command.ending) == (None, True, "ended without an exit code")


def test_a_command_that_went_on_in_the_background_is_told_once_as_it_ended_there() -> None:
    started, finished = run(0, "make serve", "it continues in the background")
    job = JobStarted(job_id="j", context=a_context(0), command="make serve")
    ended = JobEnded(job_id="j", status=JobStatus.ENDED, exit_code=0, duration_secs=2.0, output="served")

    (command,) = replay(ENTERED, started, job, finished, ended).commands

    assert (command.command, command.ending) == ("make serve", "exit code 0")


def test_a_command_that_a_signal_ended_has_no_exit_code_whatever_it_printed() -> None:
    command = CommandEnd.read("./t", Outcome.OK, "exit code 0\nkilled by SIGKILL\nand a remark")

    assert command.exit_code is None
    assert command.failed
    assert command.last_lines == ("exit code 0",)


def test_what_waits_is_said_of_one_file_and_of_several() -> None:
    assert WAITS.sentence.startswith("1 changed file (+0 −0) waits for your review (layer 1)")
    assert replace(WAITS, files=2).sentence.startswith("2 changed files (+0 −0) wait for")
    assert replace(WAITS, commits=1).sentence.startswith("1 changed file (+0 −0) and 1 commit wait for")
    assert replace(WAITS, files=0, commits=1).sentence.startswith("1 commit waits for")
    assert replace(WAITS, files=0).sentence.startswith("moved refs wait for")
