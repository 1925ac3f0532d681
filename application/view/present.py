"""The present of a session beside its entries: the newest batch, decisions, the plan, the hooks of the turn."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from application.view.decisions import describe_decision
from application.view.entries import Batch, Call, NoticeKind, Phase, Remark
from application.view.hook_runs import describe_hook_answer
from application.view.jobs import JobViews
from domain.calls.execution import ToolExecutionContext
from domain.events.event import HookRan, JobEnded, JobProgressed, JobStarted
from domain.text.json_value import JsonObject, JsonValue

_HOOK_RUNS_KEPT = 100
_DECISIONS_KEPT = 20
_EARLIER = "earlier: "


class StepStatus(StrEnum):
    """How far a step of the plan is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the plan that the model keeps."""

    text: str
    status: StepStatus


@dataclass(frozen=True, slots=True)
class HookRun:
    """One run of a hook. A quiet one changed nothing."""

    hook: str
    hook_answer: str
    kind: NoticeKind
    quiet: bool


@dataclass(frozen=True, slots=True)
class Decided:
    """What a review of a call came to."""

    tool: str
    text: str
    runs: bool
    context: ToolExecutionContext


class Present:
    """What is shown of the present turn beside the entries. `batch` is the newest one, also after its end;
    `hooks_run` counts the runs of hooks of the turn. `version` changes with whatever is shown here."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.jobs = JobViews(now)
        self.batch: Batch | None = None
        self.plan: tuple[Step, ...] = ()
        self.hooks: deque[HookRun] = deque(maxlen=_HOOK_RUNS_KEPT)
        self.hooks_run = 0
        self.decisions: deque[Decided] = deque(maxlen=_DECISIONS_KEPT)
        self.version = 0
        self._plans: list[tuple[Step, ...]] = []  # the plan before each turn of the session

    @property
    def reviewed(self) -> Call | None:
        """The call that the person or the reviewers are asked about, the one at the person first."""
        calls = self.batch.calls if self.batch is not None else []
        asked = [call for call in calls if call.phase is Phase.REVIEWED]
        return next(iter([*asked, *(call for call in calls if call.is_voted_on)]), None)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.batch or self.plan or self.hooks or self.jobs.running)

    @property
    def is_running(self) -> bool:
        """Whether a call or a job runs, so that the drawing changes as time passes."""
        return (self.batch is not None and self.batch.is_running) or bool(self.jobs.running)

    def begin_turn(self) -> None:
        """A turn begins."""
        self._plans.append(self.plan)
        self._forget_turn()

    def follow(self, batch: Batch) -> None:
        """Something happened with a call of this batch."""
        self.batch = batch
        self.version += 1

    def rest(self) -> None:
        """Calls that were open are so no more."""
        self.version += 1

    def decide(self, batch: Batch, call: Call, context: ToolExecutionContext) -> None:
        """A review of the call ended; what it came to before counts no more."""
        self.follow(batch)
        for place, one in enumerate(self.decisions):
            if one.context == context and not one.text.startswith(_EARLIER):
                self.decisions[place] = replace(one, text=_EARLIER + one.text)
        text = describe_decision(call)
        shown = text or call.reason or call.decision.value
        self.decisions.append(Decided(call.tool, shown, bool(text), context))

    def run_hook(self, event: HookRan, remark: Remark) -> None:
        """A hook ran, which this remark describes."""
        self.hooks.append(HookRun(event.hook, describe_hook_answer(event), remark.kind, remark.quiet))
        self.hooks_run += 1
        self.version += 1

    def start_job(self, event: JobStarted) -> None:
        """A command continues in the background."""
        self.jobs.start(event)
        self.version += 1

    def progress_job(self, event: JobProgressed) -> None:
        """A background command printed something."""
        if self.jobs.progress(event):
            self.version += 1

    def end_job(self, event: JobEnded) -> str:
        """A background command ended; what there is to say of that, in a sentence."""
        said = self.jobs.end(event)
        self.version += 1
        return said

    def rest_jobs(self) -> None:
        """Jobs of the past run no more; of one that has no end it may still be told."""
        self.jobs.rest()
        self.version += 1

    def merge(self, changed: JsonObject) -> None:
        """These values of the session's state are others now."""
        if "plan" in changed:
            self.plan = _steps(changed["plan"])
            self.version += 1

    def take_back(self, turn: int) -> None:
        """The turn of this number and all after it are forgotten."""
        if turn < len(self._plans):
            self.plan = self._plans[turn]
            self.batch = None
            self._forget_turn()

    def _forget_turn(self) -> None:
        self.decisions.clear()
        self.hooks.clear()
        self.hooks_run = 0
        self.version += 1


def _steps(value: JsonValue) -> tuple[Step, ...]:
    """The plan as `update_plan` keeps it; what has another form is no step."""
    items = value if isinstance(value, list | tuple) else ()
    steps: list[Step] = []
    for item in items:
        if isinstance(item, Mapping) and isinstance(text := item.get("text"), str):
            status = next((one for one in StepStatus if one == item.get("status")), StepStatus.PENDING)
            steps.append(Step(text, status))
    return tuple(steps)
