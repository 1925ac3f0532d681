"""What a plan led to, reviewed in the turn that carried it out; everything is real but the models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ConfigError, ProviderError, ProviderErrorKind
from quorum.domain.events.event import (
    ChangeReviewed,
    Event,
    FinalReviewDropped,
    FindingsTried,
    PanelConcluded,
    PartReviewed,
    PlanApproved,
    PlanWithdrawn,
    ResponseCompleted,
    StateMerged,
    TurnFinished,
)
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.plan.plan import PhaseScope
from quorum.domain.text.json_value import JsonValue
from quorum.infrastructure.config.model_choice import AskedModels
from quorum.infrastructure.container import Container
from tests.support.builders import a_call, calls_response
from tests.support.code_review_bench import report, synthesis, trial
from tests.support.disk_images import DiskImages
from tests.support.fake_gateway import Answers, FakeGateway
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.fake_session import Step
from tests.support.real_session import MODEL, LedgerThat, RealSession, SessionStage, call, says, write
from tests.support.session_parts import change_inputs, change_ledger

SETTINGS = '[agent]\nfinal_review = true\n[models]\nreview = ["p/a", "p/b"]\n'
TASKS: JsonValue = [{"id": "lexer", "description": "cut it up", "writes": ["src/*"], "commands": ["git *"]}]
YES, NO = report("approve"), report("reject", ("src/lexer.py", 1, "it cuts nothing up"))
FOR_THE_PLAN = calls_response(
    a_call(
        "cast_ballot",
        {"verdict": "approve", "in_scope": "yes", "confidence": 0.9, "reason": "so", "objections": []},
    )
)
DOWN = ProviderError("it is down", kind=ProviderErrorKind.OVERLOADED)


def plan() -> ToolCall:
    return call("create_plan", objective="a lexer", reasoning="it is asked for", tasks=TASKS)


def mark(status: str) -> ToolCall:
    return call("update_task", id="lexer", status=status)


def carry_out(*calls: ToolCall) -> list[LlmResponse]:
    """What the model says: the plan, the calls of its one task, and that it is done."""
    work = [plan(), mark("started"), *calls, mark("done")]
    return [*(calls_response(each) for each in work), says("it is done")]


@dataclass
class ReviewRig:
    """A session, what it was seen to do, and how often each model was asked."""

    session: RealSession
    gateway: FakeGateway
    seen: RecordingObserver

    async def run(self, *calls: ToolCall) -> RunReport:
        """Have a plan made, approved and carried out."""
        await self.session.agent.plans.set_scope(PhaseScope.PLAN_ONLY)
        self.session.script[:] = carry_out(*calls)
        return await self.session.agent.run.execute("make a lexer")

    def asked(self, model: str) -> list[str]:
        """What was sent to a model, each with all that stood before it."""
        of_model = [session for session in self.gateway.sessions if session.model == model]
        return [str(sent.messages) for session in of_model for sent in session.sent]

    @property
    def dropped(self) -> list[str]:
        return [event.reason for event in self.seen.events if isinstance(event, FinalReviewDropped)]

    @property
    def reviewed(self) -> list[ChangeReviewed]:
        return [event for event in self.seen.events if isinstance(event, ChangeReviewed)]


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    stage = SessionStage(tmp_path, more_settings=SETTINGS)
    stage.git("init", "-q")
    (stage.root / "notes.txt").write_text("committed\n")
    stage.git("add", "-A")
    stage.git("commit", "-qm", "first")
    return stage


@asynccontextmanager
async def rig(
    stage: SessionStage, reviews: Mapping[str, Answers], after: Callable[[Event], object] = lambda _event: None
) -> AsyncIterator[ReviewRig]:
    """The latest session of the stage. `after` is called once an event is recorded."""
    gateway, seen = FakeGateway({MODEL: [], "p/mod": [], **reviews}), RecordingObserver()

    def adjust(container: Container) -> None:
        change_ledger(container, lambda ledger: LedgerThat(ledger, after=after))
        change_inputs(container, gateway=gateway)
        change_inputs(container, asked=AskedModels(models=(MODEL,), moderator="p/mod"))

    async with stage.opened(person=FakePerson(), observer=seen, adjust=adjust) as session:
        session.script = gateway.scripts[MODEL]
        yield ReviewRig(session, gateway, seen)


def votes(*more: LlmResponse | ProviderError | Step) -> Answers:
    """A reviewer that is for the plan, and then says this."""
    return [FOR_THE_PLAN, *more]


WORK = write("src/lexer.py", "cut = True\n")


@pytest.mark.long
async def test_what_a_plan_led_to_is_reviewed_in_its_turn_and_told_to_the_model(stage: SessionStage) -> None:
    (stage.root / "notes.txt").write_text("edited by the person\n")
    (stage.root / "draft.txt").write_text("not committed\n")
    async with rig(stage, {"p/a": votes(YES), "p/b": votes(YES)}) as review:
        report = await review.run(WORK)
        last = review.session.state.messages[-1]
        phase = review.session.state.phase
        await review.session.check()

    assert report.status is RunStatus.COMPLETED, report.error
    (event,) = review.reviewed
    assert event.result.is_approved
    for reviewer in ("p/a", "p/b"):
        (_, question) = review.asked(reviewer)
        assert "src/lexer.py" in question
        assert "cut it up" in question, "the plan that was approved"
        assert "notes.txt" not in question, "the person's own changes from before the plan"
        assert "draft.txt" not in question
    assert "All tasks of the plan are done" in str(last)
    assert "Approved" in str(last)
    assert phase.review is None


@pytest.mark.long
async def test_what_is_not_approved_fails_the_turn_and_is_left_to_the_person(stage: SessionStage) -> None:
    scripts = {"p/a": votes(NO), "p/b": votes(NO), "p/mod": [synthesis("cut something up")]}
    async with rig(stage, scripts) as review:
        report = await review.run(WORK)
        asked = len(review.asked(MODEL))
        review.session.script[:] = [says("I know")]
        await review.session.agent.run.execute("and?")
        read = review.asked(MODEL)[-1]

    assert (report.status, report.exit_code) == (RunStatus.FAILED, 1)
    assert report.error == "the reviewers do not approve what the plan led to: 2 against it; 1 finding"
    assert asked == 5, "the model is not sent back to work"
    assert "it cuts nothing up" in read
    assert (len(review.asked("p/a")), len(review.asked("p/b"))) == (2, 2), "it is over with its turn"


@pytest.mark.long
async def test_what_the_plan_commits_and_what_it_changes_of_the_person_s_work_is_shown(
    stage: SessionStage,
) -> None:
    (stage.root / "src").mkdir()
    (stage.root / "src" / "mine.py").write_text("mine\n")
    commit = call("run_command", command="git add src/lexer.py && git commit -qm lexer src/lexer.py")
    async with rig(stage, {"p/a": votes(YES), "p/b": votes(YES)}) as review:
        report = await review.run(WORK, commit, write("src/mine.py", "mine and more\n"))
        question = review.asked("p/a")[-1]

    assert report.status is RunStatus.COMPLETED, report.error
    assert "cut = True" in question
    assert "mine and more" in question
    (event,) = review.reviewed
    assert "src/mine.py had changes before the plan, which are shown with its own" in event.result.notices


@pytest.mark.long
async def test_reviewers_that_are_down_leave_the_review_due_and_a_retry_asks_them_alone(
    stage: SessionStage,
) -> None:
    async with rig(stage, {"p/a": votes(DOWN), "p/b": votes(DOWN)}) as review:
        failed = await review.run(WORK)
        asked = len(review.asked(MODEL))
        for reviewer in ("p/a", "p/b"):
            review.gateway.scripts[reviewer][:] = [YES]
        again = await review.session.agent.run.retry()

    assert (failed.status, failed.exit_code) == (RunStatus.FAILED, 4)
    assert again.status is RunStatus.COMPLETED, again.error
    assert len(review.asked(MODEL)) == asked
    assert review.reviewed[-1].result.is_approved


@pytest.mark.long
async def test_an_interrupted_review_is_finished_by_another_process_which_asks_for_what_is_missing(
    stage: SessionStage,
) -> None:
    gate = asyncio.Event()
    async with rig(stage, {"p/a": votes(YES), "p/b": votes(Step(answer=YES, gate=gate))}) as review:
        turn = asyncio.create_task(review.run(WORK))
        await _until_answered(review)
        turn.cancel()
        report = await turn
    async with rig(stage, {"p/b": [NO], "p/a": [trial(F1="confirmed")], "p/mod": [synthesis()]}) as later:
        ended = await later.session.agent.run.retry()
        await later.session.check()

    assert report.status is RunStatus.INTERRUPTED
    assert (ended.status, ended.exit_code) == (RunStatus.FAILED, 1)
    assert later.asked(MODEL) == []
    (tries,) = later.asked("p/a")
    assert "it cuts nothing up" in tries, "what the other one found, and not the whole change again"
    assert len(later.asked("p/b")) == 1


@pytest.mark.long
async def test_a_session_that_is_killed_at_any_step_of_the_review_asks_only_for_what_is_missing(
    stage: SessionStage, tmp_path: Path
) -> None:
    """After each event the disk is copied as a killed process would leave it, and each copy is continued."""
    images = DiskImages(
        stage.home / "state",
        tmp_path,
        lambda event: isinstance(event, StateMerged) and "done" in str(event.changed),
    )
    everything = {"p/a": votes(NO), "p/b": votes(YES, trial(F1="confirmed")), "p/mod": [synthesis()]}
    async with rig(stage, everything, images.copy_after) as review:
        report = await review.run(WORK)
    assert report.exit_code == 1
    killed = images.select(without=[TurnFinished])
    steps = (StateMerged, PlanWithdrawn, PartReviewed, FindingsTried, ChangeReviewed, PanelConcluded)
    assert {step.type for step in steps} <= {image.last for image in killed}
    for image in killed:
        later = SessionStage(tmp_path, more_settings=SETTINGS, state_home=image.state_home)
        await _continue_killed(later, image.events)


async def _continue_killed(stage: SessionStage, events: Sequence[Event]) -> None:
    reviewed = {each.review.model for each in events if isinstance(each, PartReviewed)}
    has_tried = any(isinstance(each, FindingsTried) for each in events)
    has_result = any(isinstance(each, ChangeReviewed) for each in events)
    has_ended = any(
        isinstance(each, ResponseCompleted) and each.response.text_content() == "it is done" for each in events
    )
    missing = {
        MODEL: [] if has_ended else [says("it is done")],
        "p/a": [] if "p/a" in reviewed else [NO],
        "p/b": [*([] if "p/b" in reviewed else [YES]), *([] if has_tried else [trial(F1="confirmed")])],
        "p/mod": [] if has_result else [synthesis()],
    }
    async with rig(stage, missing) as later:
        report = await later.session.agent.run.retry()
        told = [each for each in later.session.state.messages if "All tasks of the plan are" in str(each)]
        left = {model: script for model, script in later.gateway.scripts.items() if script}
        phase = later.session.state.phase
        await later.session.check()
    at = type(events[-1]).__name__
    assert (report.exit_code, left) == (1, {}), (at, report.error)
    assert report.error is not None, at
    assert "1 against it, 1 for it; 1 finding" in report.error, at
    assert len([each for each in told if "several models have reviewed" in str(each)]) == 1, at
    assert (phase.approved, phase.review) == (None, None), at


async def _until_answered(review: ReviewRig) -> None:
    """The first reviewer has answered about the change, and the second one is being asked."""
    async with asyncio.timeout(120):
        while not any(type(event).__name__ == "PanelAnswered" for event in review.seen.events):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        while len(review.asked("p/b")) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.long
async def test_a_review_that_is_due_can_be_dropped(stage: SessionStage) -> None:
    async with rig(stage, {"p/a": votes(DOWN), "p/b": votes(DOWN)}) as review:
        await review.run(WORK)
        await review.session.agent.plans.withdraw("you withdrew it")
        review.session.script[:] = [says("fine")]
        report = await review.session.agent.run.execute("go on")

    assert report.status is RunStatus.COMPLETED, report.error
    assert review.dropped == ["you withdrew it"]
    assert review.reviewed == []


@pytest.mark.long
async def test_a_plan_that_changed_nothing_has_nothing_to_review(stage: SessionStage) -> None:
    async with rig(stage, {"p/a": votes(), "p/b": votes()}) as review:
        report = await review.run()

    assert report.status is RunStatus.COMPLETED, report.error
    assert review.dropped == ["there is nothing to review: no file differs from when the plan was approved"]


@pytest.mark.long
async def test_without_a_repository_the_approval_says_that_there_will_be_no_review(tmp_path: Path) -> None:
    async with rig(SessionStage(tmp_path, more_settings=SETTINGS), {"p/a": votes(), "p/b": votes()}) as review:
        report = await review.run(WORK)

    assert report.status is RunStatus.COMPLETED, report.error
    (approved,) = [event for event in review.seen.events if isinstance(event, PlanApproved)]
    assert approved.base is None
    (reason,) = review.dropped
    assert "not a git repository" in reason


async def test_without_reviewers_the_setting_is_refused(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path, more_settings="[agent]\nfinal_review = true\n")
    with pytest.raises(ConfigError, match=r"models\.review is empty"):
        async with stage.opened():
            pass
