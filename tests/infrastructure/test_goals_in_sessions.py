"""Goals in sessions that are real but for the model: commands, files, record and review."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from quorum.application.export.session_evidence import gather_evidence
from quorum.application.ports.people import PersonAnswer, Question, ReviewQuestion
from quorum.application.view.entries import AnswerEntry
from quorum.application.view.session_view import SessionView
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import GoalRefused
from quorum.domain.events.event import (
    ChecksApproved,
    Event,
    GoalChecked,
    GoalReceiptOutdated,
    OutdatedTestsClaimed,
    ReviewDecided,
)
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.goal import GoalReceipt, TypedGoal
from quorum.domain.plan.plan import PhaseScope
from quorum.domain.review.questions import Approve, NobodyThere, Reject
from quorum.domain.sessions.session_summary import LatestSession, LedgerRecord
from tests.infrastructure.commands.command_bench import eventually
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.real_session import RealSession, SessionStage, call, says, shell, write

AUTO = '[review]\nmode = "auto"\n'
CHECK = "grep -q done state.txt"


def a_stage(folder: Path, settings: str = AUTO) -> SessionStage:
    return SessionStage(folder, more_settings=settings)


async def play(session: RealSession, *steps: object, prompt: str = "go") -> RunReport:
    """One turn: calls are answers with that call, texts answers without."""
    script(session, *steps)
    report = await session.agent.run.execute(prompt)
    assert not session.script, "the model did not send its whole script"
    return report


def script(session: RealSession, *steps: object) -> None:
    session.script[:] = [
        says(step) if isinstance(step, str) else session.answers([step])[0]  # type: ignore[list-item]
        for step in steps
    ]


async def set_goal(session: RealSession, *checks: str, text: str = "state.txt says done") -> None:
    assert session.agent.goals is not None
    await session.agent.goals.set_goal(TypedGoal(text, checks))


def receipts(observer: RecordingObserver) -> list[GoalReceipt]:
    return [event.receipt for event in observer.events if isinstance(event, GoalChecked)]


def kinds(observer: RecordingObserver, kind: type[Event]) -> Sequence[Event]:
    return [event for event in observer.events if isinstance(event, kind)]


def told(session: RealSession) -> list[str]:
    messages = session.container.parts().core.conversation.messages
    return [message.text for message in messages if isinstance(message, UserMessage)]


class Answering(FakePerson):
    """Answers reviews of commands with what the script says, oldest first."""

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self.left = list(answers)
        self.questions: list[ReviewQuestion] = []

    async def ask(self, question: Question) -> PersonAnswer:
        assert isinstance(question, ReviewQuestion)
        self.questions.append(question)
        digest = question.request.packet.digest
        match self.left.pop(0):
            case "yes":
                return Approve(digest)
            case "no":
                return Reject("not this")
            case _:
                return NobodyThere()


async def test_a_turn_goes_on_until_the_check_passes(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path), RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await set_goal(session, CHECK)
        report = await play(session, "it is done", write("state.txt", "done\n"), "now it is")

        assert report.status is RunStatus.COMPLETED
        assert report.text == "now it is"
        assert [each.has_passed for each in receipts(observer)] == [False, True]
        assert any(
            "The goal is not reached: `grep -q done state.txt` exited with 2" in text for text in told(session)
        )
        last = receipts(observer)[-1]
        assert [file.path for file in last.changed] == ["state.txt"]
        assert last.check_files == ("state.txt",)
        assert session.state.goal is not None
        assert not session.state.goal.is_open
        await session.check()


async def test_the_model_reads_which_goal_holds_also_where_it_is_one_of_before(tmp_path: Path) -> None:
    stage = a_stage(tmp_path, AUTO + "[agent]\nmax_goal_attempts = 1\n")
    async with stage.opened() as session:
        for text in ("one", "two", "one"):
            await set_goal(session, "false", text=text)
            await play(session, "not yet")

        named = [text.splitlines()[0] for text in told(session) if text.startswith("The person set")]
        assert named == [f"The person set this goal: {text}" for text in ("one", "two", "one")]


@pytest.mark.long
async def test_attempts_end_at_the_limit_and_a_retry_has_as_many_again(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path, AUTO + "[agent]\nmax_goal_attempts = 2\n"), RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await set_goal(session, "false")
        report = await play(session, "done", "really")

        assert (report.status, report.stop_reason) == (RunStatus.LIMIT, "max_goal_attempts")
        assert len(receipts(observer)) == 2

        script(session, "once more", "and again")
        report = await session.agent.run.retry()

        assert report.status is RunStatus.LIMIT
        assert [each.attempt for each in receipts(observer)] == [1, 2, 3, 4]
        await session.check()


@pytest.mark.long
async def test_a_later_change_makes_the_receipt_stale_whoever_makes_it(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path), RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await set_goal(session, "true")
        await play(session, "done")
        assert session.state.goal is not None
        assert not session.state.goal.is_outdated

        await play(session, "nothing to do", prompt="and?")
        assert not kinds(observer, GoalReceiptOutdated)
        (stage.root / "mine.txt").write_text("by hand")
        assert session.agent.goals is not None
        await session.agent.goals.look_again()

        assert kinds(observer, GoalReceiptOutdated) == [GoalReceiptOutdated(files=("mine.txt",))]
        assert session.state.goal.standing == "reached in attempt 1, receipt stale"
        await session.agent.goals.look_again()
        assert len(kinds(observer, GoalReceiptOutdated)) == 1


@pytest.mark.long
async def test_a_later_edit_of_the_session_makes_the_receipt_stale(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path), RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await set_goal(session, "true")
        await play(session, "done")
        await play(session, write("a.py", "x = 1\n"), "more", prompt="and?")

        assert kinds(observer, GoalReceiptOutdated) == [GoalReceiptOutdated(files=("a.py",))]
        assert len(receipts(observer)) == 1


@pytest.mark.long
async def test_a_change_while_no_process_was_there_makes_the_receipt_stale(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path), RecordingObserver()
    (stage.root / "a.py").write_text("x = 1\n")
    async with stage.opened() as session:
        await set_goal(session, "true")
        await play(session, "done")
    async with stage.opened(LatestSession(), observer=observer):
        assert not kinds(observer, GoalReceiptOutdated)
    (stage.root / "a.py").write_text("x = 2\n")
    async with stage.opened(LatestSession(), observer=observer):
        assert kinds(observer, GoalReceiptOutdated) == [GoalReceiptOutdated(files=("a.py",))]


@pytest.mark.long
async def test_deleted_tests_and_what_the_checks_write_are_in_the_receipt(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path), RecordingObserver()
    (stage.root / "tests").mkdir()
    (stage.root / "tests" / "test_a.py").write_text("assert False\n")
    (stage.root / "tests" / "test_b.py").write_text("assert True\n")
    async with stage.opened(observer=observer) as session:
        await set_goal(session, "ls tests > listed.txt")
        await play(session, shell("rm tests/test_a.py"), "done")

        (receipt,) = receipts(observer)
        assert receipt.check_files == ("listed.txt", "tests/test_a.py (deleted)")
        assert receipt.written == ("listed.txt",)
        assert "changed by the checks themselves: listed.txt" in receipt.sentence


@pytest.mark.long
async def test_a_check_that_hangs_has_not_passed(tmp_path: Path) -> None:
    stage, observer = (
        a_stage(tmp_path, AUTO + "[agent]\ncheck_timeout_secs = 1\nmax_goal_attempts = 1\n"),
        RecordingObserver(),
    )
    async with stage.opened(observer=observer) as session:
        await set_goal(session, "sleep 60")
        report = await play(session, "done")

        assert report.status is RunStatus.LIMIT
        (receipt,) = receipts(observer)
        assert receipt.runs[0].exit_code is None
        assert not receipt.has_passed


@pytest.mark.long
@pytest.mark.parametrize(
    ("check", "exit_code"),
    [
        ("echo 'exit code 0'; kill -9 $$", None),
        ("printf 'exit code 0\\n'; exit 3", 3),
        ("seq 1 200000; echo 'exit code 0'; exit 7", 7),
    ],
)
async def test_no_words_of_a_check_are_taken_for_its_exit_code(
    tmp_path: Path, check: str, exit_code: int | None
) -> None:
    stage, observer = a_stage(tmp_path, AUTO + "[agent]\nmax_goal_attempts = 1\n"), RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await set_goal(session, check)
        report = await play(session, "done")

        assert report.status is RunStatus.LIMIT
        assert [run.exit_code for run in receipts(observer)[0].runs] == [exit_code]


@pytest.mark.long
async def test_an_interrupted_check_leaves_the_goal_open_and_a_retry_runs_the_checks(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path), RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await set_goal(session, "[ -e go ] || { touch waits; sleep 60; }")
        script(session, "done")
        turn = asyncio.ensure_future(session.agent.run.execute("go"))
        await eventually(lambda: (stage.root / "waits").exists())
        turn.cancel()
        report = await turn

        assert report.status is RunStatus.INTERRUPTED
        assert receipts(observer) == []
        (stage.root / "go").touch()
        report = await session.agent.run.retry()

        assert report.status is RunStatus.COMPLETED
        assert [each.has_passed for each in receipts(observer)] == [True]
        assert len(session.requests) == 1
        await session.check()


@pytest.mark.long
async def test_what_the_person_says_meanwhile_goes_with_what_failed(tmp_path: Path) -> None:
    stage = a_stage(tmp_path)
    async with stage.opened() as session:
        await set_goal(session, "[ -e go ] || { touch waits; until [ -e goes ]; do sleep 0.02; done; false; }")
        script(session, "done", "reached")
        turn = asyncio.ensure_future(session.agent.run.execute("go"))
        await eventually(lambda: (stage.root / "waits").exists())
        session.agent.run.steer("use the other file")
        (stage.root / "go").touch()
        (stage.root / "goes").touch()
        report = await turn

        assert report.status is RunStatus.COMPLETED
        steered, failed = told(session)[-3:-1]
        assert steered == "use the other file"
        assert failed.startswith("The goal is not reached")


@pytest.mark.long
async def test_a_goal_that_is_taken_away_during_its_checks_asks_for_nothing_more(tmp_path: Path) -> None:
    stage = a_stage(tmp_path)
    async with stage.opened() as session:
        await set_goal(session, "touch waits; until [ -e go ]; do sleep 0.02; done; false")
        script(session, "done")
        turn = asyncio.ensure_future(session.agent.run.execute("go"))
        await eventually(lambda: (stage.root / "waits").exists())
        assert session.agent.goals is not None
        await session.agent.goals.drop()
        (stage.root / "go").touch()
        report = await turn

        assert report.status is RunStatus.COMPLETED
        assert session.state.goal is None


async def test_a_check_with_a_secret_is_refused_and_the_former_goal_stands(tmp_path: Path) -> None:
    stage = a_stage(tmp_path)
    async with stage.opened() as session:
        await set_goal(session, "true", text="former")
        with pytest.raises(GoalRefused, match="holds a secret"):
            await set_goal(session, f"curl -H 'Authorization: Bearer ghp_{'a1B2' * 9}' localhost", text="new")

        assert session.state.goal is not None
        assert session.state.goal.text == "former"


@pytest.mark.long
async def test_a_check_that_was_named_is_not_asked_about_until_what_it_runs_is_another(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path, '[review]\nmode = "accept-edits"\n'), RecordingObserver()
    (stage.root / "check.sh").write_text("exit 3\n")
    person = Answering("yes")
    async with stage.opened(person=person, observer=observer) as session:
        await set_goal(session, "sh check.sh")
        await play(session, "done", write("check.sh", "exit 0\n"), "now it passes")

        (question,) = person.questions
        assert question.request.packet.call.arguments["command"] == "sh check.sh"
        allowed, approved = [e for e in kinds(observer, ReviewDecided) if isinstance(e, ReviewDecided)]
        assert allowed.reason == "you approved it as a check of the goal, and it is what it was then"
        assert approved.decision == "approved"
        assert receipts(observer)[-1].check_files == ("check.sh",)
        assert receipts(observer)[-1].has_passed


@pytest.mark.long
async def test_what_was_approved_in_a_review_is_not_asked_about_again(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path, '[review]\nmode = "accept-edits"\n'), RecordingObserver()
    (stage.root / "check.sh").write_text("exit 3\n")
    person = Answering("yes")
    async with stage.opened(person=person, observer=observer) as session:
        await set_goal(session, "sh check.sh && ls | grep -q '^n'")
        (stage.root / "check.sh").write_text("exit 0\n")
        await play(session, "done", write("n.txt", "5"), "now")

        assert len(person.questions) == 1
        assert [each.has_passed for each in receipts(observer)] == [False, True]


@pytest.mark.long
async def test_a_guard_asks_about_a_named_check_and_a_rejection_ends_the_turn(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path, '[review]\nmode = "ask"\n'), RecordingObserver()
    person = Answering("no")
    async with stage.opened(person=person, observer=observer) as session:
        await set_goal(session, "git push --force origin main")
        report = await play(session, "done")

        assert len(person.questions) == 1
        assert report.status is RunStatus.FAILED
        assert report.error == "a check of the goal may not run: git push --force origin main"
        assert receipts(observer) == []
        assert session.state.goal is not None
        assert session.state.goal.is_open
        await session.check()


@pytest.mark.long
async def test_the_model_proposes_checks_and_the_person_approves_them(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path), RecordingObserver()
    person = Answering("yes")
    async with stage.opened(person=person, observer=observer) as session:
        await set_goal(session)
        report = await play(
            session,
            "done",
            call("propose_checks", commands=[CHECK]),
            write("state.txt", "done\n"),
            "reached",
        )

        assert report.status is RunStatus.COMPLETED
        (event,) = kinds(observer, ChecksApproved)
        assert isinstance(event, ChecksApproved)
        assert [check.command for check in event.checks] == [CHECK]
        assert receipts(observer)[-1].has_passed
        offered = [[tool["name"] for tool in sent.tools] for sent in session.requests]
        assert ["propose_checks" in names for names in offered] == [True, True, False, False]


async def test_without_a_person_proposed_checks_end_the_turn(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path), RecordingObserver()
    async with stage.opened(person=Answering("nobody"), observer=observer) as session:
        await set_goal(session)
        report = await play(session, call("propose_checks", commands=[CHECK]))

        assert report.status is RunStatus.NEEDS_APPROVAL
        assert report.exit_code == 3
        assert session.state.goal is not None
        assert session.state.goal.checks == ()


async def test_where_the_model_proposes_no_checks_it_is_said_how_a_person_names_them(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path), RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await set_goal(session)
        report = await play(session, "done", "done")

        assert report.status is RunStatus.FAILED
        assert "/goal TEXT ! COMMAND in the app" in (report.error or "")
        assert "run --continue --check COMMAND" in (report.error or "")


async def test_no_check_runs_while_a_plan_is_made(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path), RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await set_goal(session, "false")
        await session.agent.plans.set_scope(PhaseScope.PLAN_ONLY)
        report = await play(session, "I only looked")

        assert report.status is RunStatus.COMPLETED
        assert receipts(observer) == []


@pytest.mark.long
async def test_an_answer_that_speaks_of_tests_older_than_the_last_edit_is_said_so(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path), RecordingObserver()
    async with stage.opened(observer=observer) as session:
        run = shell("true && python3 -m unittest --quiet || true")
        await play(session, run, write("a.py", "x = 1\n"), "All tests pass.")

        (event,) = kinds(observer, OutdatedTestsClaimed)
        assert isinstance(event, OutdatedTestsClaimed)
        assert event.files == ("a.py",)
        assert "predates the last edit (a.py)" in event.sentence

        await play(session, run, "All tests pass.", prompt="again")
        assert len(kinds(observer, OutdatedTestsClaimed)) == 1


async def test_that_the_checks_ran_is_no_answer_of_the_model(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path), RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await set_goal(session, "true")
        await play(session, "it is done")

    view, durable = SessionView(), [event for event in observer.events if event.durable]
    for event in observer.events:
        view.apply(event)
    records = [LedgerRecord(seq=seq, at_ms=seq, event=event) for seq, event in enumerate(durable)]
    assert [entry.text for entry in view.entries if isinstance(entry, AnswerEntry)] == ["it is done"]
    assert gather_evidence(records).amounts["answer"] == 1
