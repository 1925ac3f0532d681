"""The present of a session beside its entries: newest batch, plan, changed files, the hooks of the turn."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from quorum.application.view.changed_files import ChangedFiles
from quorum.application.view.entries import Batch, Call, NoticeKind, Phase, Remark
from quorum.application.view.jobs import JobViews
from quorum.application.view.wording import describe_hook_answer
from quorum.domain.errors import ToolError
from quorum.domain.events.event import HookRan, JobEnded, JobProgressed, JobStarted, SessionRedone
from quorum.domain.plan.progress import describe_step_changes, encode_step_list, read_step_list
from quorum.domain.text.json_value import JsonObject, JsonValue

_HOOK_RUNS_KEPT = 100


class StepStatus(StrEnum):
    """How far a step of the plan is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


class Step(Struct, frozen=True):
    """One step of the plan that the model keeps. `is_approved`: a person approved the plan."""

    text: str
    status: StepStatus
    is_approved: bool = False


class HookRun(Struct, frozen=True):
    """One run of a hook. A quiet one changed nothing."""

    hook: str
    hook_answer: str
    kind: NoticeKind
    quiet: bool


class Present:
    """What is shown of the present turn beside the entries. `batch` is the newest one, also after its end;
    `hooks_run` counts the runs of hooks of the turn. `version` changes with whatever is shown here."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.jobs = JobViews(now)
        self.batch: Batch | None = None
        self.plan: tuple[Step, ...] = ()
        self.hooks: deque[HookRun] = deque(maxlen=_HOOK_RUNS_KEPT)
        self.hooks_run = 0
        self.changed_files = ChangedFiles()
        self.version = 0
        self._is_plan_old = False  # whether it is that of an earlier turn
        self._plans: list[
            tuple[tuple[Step, ...], bool]
        ] = []  # the plan before each turn, and whether it was old
        self._undone_plans: list[tuple[int, tuple[Step, ...], bool]] = []

    @property
    def call_in_vote(self) -> Call | None:
        """The call that reviewers vote on; None while the person is asked: the question has the votes."""
        calls = self.batch.calls if self.batch is not None else []
        if any(call.phase is Phase.REVIEWED for call in calls):
            return None
        return next((call for call in calls if call.is_voted_on), None)

    @property
    def open_batch(self) -> Batch | None:
        """The newest batch, while a call of it runs or waits."""
        return self.batch if self.batch is not None and self.batch.is_open else None

    @property
    def running(self) -> list[Call]:
        """The calls of the newest batch that run at this moment."""
        calls = self.batch.calls if self.batch is not None else []
        return [call for call in calls if call.phase is Phase.RUNNING]

    @property
    def is_empty(self) -> bool:
        changed = self.changed_files.list_files()
        return not (self.open_batch or self.current_plan or changed or self.hooks or self.jobs.running)

    @property
    def is_running(self) -> bool:
        """Whether a call or a job runs, so that the drawing changes as time passes."""
        return (self.batch is not None and self.batch.is_running) or bool(self.jobs.running)

    @property
    def current_plan(self) -> tuple[Step, ...]:
        """The plan that the turn goes by: its own, or an approved one that is not carried out yet."""
        is_in_force = any(step.is_approved and step.status is not StepStatus.DONE for step in self.plan)
        return self.plan if is_in_force or not self._is_plan_old else ()

    def begin_turn(self, *, is_continued: bool = False) -> None:
        """A turn begins; `is_continued`: it goes on with the one before."""
        self._plans.append((self.plan, self._is_plan_old))
        self._is_plan_old |= not is_continued
        self._undone_plans.clear()
        self._forget_turn()

    def follow(self, batch: Batch) -> None:
        """Something happened with a call of this batch."""
        self.batch = batch
        self.version += 1

    def rest(self) -> None:
        """Calls that were open are so no more."""
        self.version += 1

    def change_files(self, diff: str) -> None:
        """A call of the present turn changed files like this."""
        self.changed_files.add(diff, len(self._plans) - 1)
        self.version += 1

    def change_unread_files(self, paths: Sequence[str]) -> None:
        """A call of the present turn changed these files in ways that no diff tells."""
        if paths:
            self.changed_files.add_unread(paths, len(self._plans) - 1)
            self.version += 1

    def give_back_files(self, turn: int) -> None:
        """The files are as they were before the turn of this number."""
        self.changed_files.take_back(turn)
        self.version += 1

    def add_hook_run(self, event: HookRan, remark: Remark) -> None:
        """A hook ran, which this remark describes."""
        self.hooks.append(HookRun(event.hook, describe_hook_answer(event), remark.kind, remark.quiet))
        self.hooks_run += 1
        self.version += 1

    def start_job(self, event: JobStarted) -> None:
        """A command continues in the background."""
        self.jobs.start(event)
        self.version += 1

    def show_job_progress(self, event: JobProgressed) -> None:
        """A background command printed something."""
        if self.jobs.show_progress(event):
            self.version += 1

    def end_job(self, event: JobEnded) -> str:
        """A background command ended; what there is to say of that, in a sentence."""
        said = self.jobs.end(event)
        self.version += 1
        return said

    def rest_jobs(self) -> None:
        """Jobs of the past run no more; the end of one without an end may still be reported."""
        self.jobs.rest()
        self.version += 1

    def merge(self, changed: JsonObject) -> None:
        """These values of the session's state are others now."""
        if "plan" in changed:
            self.plan, self._is_plan_old = _read_steps(changed["plan"]), False
            self.version += 1

    def update_plan(self, call: Call) -> None:
        """A call ended that gives the whole plan anew; the session's state has it when the batch has ended."""
        try:
            steps = read_step_list(call.arguments.get("items"))
        except ToolError:  # the arguments of a past call may not be known any more
            return
        before = [(step.status.value, step.text) for step in self.current_plan]
        call.plan_changes = describe_step_changes(before, steps) if before else None
        self.merge({"plan": encode_step_list(steps)})

    def take_back(self, turn: int) -> None:
        """The turn of this number and all after it are forgotten."""
        if turn < len(self._plans):
            self._undone_plans.append((turn, self.plan, self._is_plan_old))
            self.plan, self._is_plan_old = self._plans[turn]
            self.batch = None
            self._forget_turn()

    def redo(self, event: SessionRedone) -> None:
        """The last return to before a turn is undone."""
        if event.files and event.turn is not None:
            self.changed_files.redo(event.turn)
        while event.turns and self._undone_plans:
            number, plan, is_old = self._undone_plans.pop()
            if number == event.turn:
                self.plan, self._is_plan_old = plan, is_old
                break
        self.version += 1

    def _forget_turn(self) -> None:
        self.hooks.clear()
        self.hooks_run = 0
        self.version += 1


def _read_steps(value: JsonValue) -> tuple[Step, ...]:
    """The plan as `update_plan` keeps it, or the approved one; what has another form is no step."""
    items = value if isinstance(value, list | tuple) else ()
    steps: list[Step] = []
    for item in items:
        if isinstance(item, Mapping) and isinstance(text := item.get("text"), str):
            status = next((one for one in StepStatus if one == item.get("status")), StepStatus.PENDING)
            steps.append(Step(text, status, is_approved=isinstance(item.get("id"), str)))
    return tuple(steps)
