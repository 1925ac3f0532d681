"""The present of a session beside its entries: its status, newest batch, plan, changed files and hooks."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from quorum.application.view.entries import Batch, Call, NoticeKind, Phase, Remark
from quorum.application.view.wording import describe_hook_answer
from quorum.domain.calls.job import JobStatus, JobStopper, describe_job_end, shorten_job_end
from quorum.domain.conversation.cost import Spending
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import ToolError
from quorum.domain.events.event import (
    CallLeaked,
    HookRan,
    InstructionsLoaded,
    JobEnded,
    JobProgressed,
    JobStarted,
    PromptProgressed,
    QuorumConcluded,
    RetryScheduled,
    SessionRedone,
    UsageCounted,
)
from quorum.domain.plan.progress import describe_step_changes, encode_step_list, read_step_list
from quorum.domain.review.quorum_result import SparedVote
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.unified_diff import parse_diff

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


class ChangedFile(Struct, frozen=True):
    """A file as the diffs of calls name it, and how many lines they added to it and removed from it.

    It has no lines where no edit changed it.
    """

    path: str
    added: int = 0
    removed: int = 0


class ChangedFiles:
    """Counts the diffs of calls that ended well, and what else changed. What went back with its turn counts
    no more."""

    def __init__(self) -> None:
        self._diffs: list[tuple[int, ChangedFile]] = []
        self._undone: list[tuple[int, list[tuple[int, ChangedFile]]]] = []

    def add(self, diff: str, turn: int) -> None:
        """A call of the turn of this number changed files like this."""
        self._undone.clear()
        self._diffs += ((turn, file) for file in _list_files(diff))

    def add_unread(self, paths: Iterable[str], turn: int) -> None:
        """A call of the turn of this number changed these files in ways that no diff tells."""
        self._undone.clear()
        self._diffs += ((turn, ChangedFile(path)) for path in paths)

    def take_back(self, turn: int) -> None:
        """The files are as they were before the turn of this number."""
        self._undone.append((turn, self._diffs))
        self._diffs = [(made, file) for made, file in self._diffs if made < turn]

    def redo(self, turn: int) -> None:
        """The files are as they were before the last return to before the turn of this number."""
        while self._undone:
            number, diffs = self._undone.pop()
            if number == turn:
                self._diffs = diffs
                return

    def list_files(self) -> tuple[ChangedFile, ...]:
        """Each file once, the one changed last in front."""
        files: dict[str, ChangedFile] = {}
        for _, one in self._diffs:
            before = files.pop(one.path, ChangedFile(one.path))
            files[one.path] = ChangedFile(one.path, before.added + one.added, before.removed + one.removed)
        return tuple(reversed(files.values()))


def _list_files(diff: str) -> Iterator[ChangedFile]:
    counts: dict[str, list[int]] = {}
    for line in parse_diff(diff):
        if line.sign in ("+", "-"):
            counts.setdefault(line.path, [0, 0])[line.sign == "-"] += 1
    return (ChangedFile(path, added, removed) for path, (added, removed) in counts.items() if path)


_ENDED_KEPT = 20


class JobView(Struct):
    """One job. `began` is by the view's clock, in seconds; `duration_secs` is known once it has ended.
    `subagent_id` is the session of one that is a task."""

    job_id: str
    command: str
    began: float
    status: JobStatus = JobStatus.RUNNING
    ending: str = ""
    exit_code: int | None = None
    last_line: str = ""
    duration_secs: float = 0.0
    blob_id: str | None = None
    subagent_id: str = ""

    @property
    def is_running(self) -> bool:
        return self.status is JobStatus.RUNNING

    def summarise_state(self, now: float) -> str:
        """How it stands, in two words and a time."""
        return shorten_job_end(self.status, self.exit_code, self.count_seconds(now))

    def count_seconds(self, now: float) -> float:
        """How long it runs, or ran."""
        return max(0.0, now - self.began) if self.is_running else self.duration_secs


class JobViews:
    """The jobs of a session, oldest first; of those that have ended the last 20 are kept."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._jobs: dict[str, JobView] = {}

    @property
    def all(self) -> tuple[JobView, ...]:
        """Those that run and those that ended last."""
        return tuple(self._jobs.values())

    @property
    def running(self) -> tuple[JobView, ...]:
        return tuple(job for job in self._jobs.values() if job.is_running)

    def start(self, event: JobStarted) -> None:
        self._jobs[event.job_id] = JobView(
            event.job_id,
            event.command,
            self._now() - event.ran_secs,
            subagent_id=event.subagent_id if isinstance(event.subagent_id, str) else "",
        )

    def show_progress(self, event: JobProgressed) -> bool:
        """A job printed something; whether that changes what is seen of it."""
        job = self._jobs.get(event.job_id)
        last = _format_last_line(event.text)
        if job is None or job.last_line == last:
            return False
        job.last_line = last
        return True

    def end(self, event: JobEnded) -> str:
        """A job ended; what there is to say of that, in a sentence."""
        ending = describe_job_end(
            event.status, event.exit_code, event.stopper, event.duration_secs, reader=JobStopper.PERSON
        )
        if (job := self._jobs.get(event.job_id)) is None:
            return f"{event.job_id} {ending}"
        job.status, job.ending, job.exit_code = event.status, ending, event.exit_code
        job.duration_secs, job.blob_id = event.duration_secs, event.blob_id
        job.last_line = _format_last_line(event.output) or job.last_line
        ended = [each for each in self._jobs.values() if not each.is_running]
        for each in ended[:-_ENDED_KEPT]:
            del self._jobs[each.job_id]
        return f"{event.job_id} {ending}: {job.command}"

    def rest(self) -> None:
        """Nothing of the past runs any more; the end of a job without one may still be reported."""
        for job in self.running:
            job.status, job.ending = JobStatus.UNKNOWN, describe_job_end(JobStatus.UNKNOWN, None, None, 0.0)


def _format_last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


_LONGEST_TITLE = 80


class Book:
    """Adds up a session's requests. Turns are counted from 1; `total` is what all of them used.

    `spared` is about what `spared_votes` votes would have used that escalation did not ask for.
    """

    def __init__(self) -> None:
        self.turn = 0
        self.total = self.spared = Spending()
        self.spared_votes = 0
        self._entries: dict[tuple[int, str], Spending] = {}

    def begin_turn(self) -> None:
        """What is counted from now on belongs to a further turn."""
        self.turn += 1

    def add(self, event: UsageCounted) -> None:
        place = (self.turn, event.model)
        self._entries[place] = event.add_to(self._entries.get(place, Spending()))
        self.total = event.add_to(self.total)

    def spare(self, votes: Sequence[SparedVote]) -> None:
        for vote in votes:
            usage = Usage(input=vote.input_tokens, output=vote.output_tokens)
            self.spared_votes += 1
            self.spared = self.spared.with_request(usage, vote.cost_usd, by_plan=bool(vote.by_plan))

    def list_by_turn(self) -> Iterator[tuple[int, str, Spending]]:
        """What each turn used of each model, oldest first."""
        for (turn, model), spending in self._entries.items():
            yield turn, model, spending

    def group_by_model(self) -> dict[str, Spending]:
        """What the session used of each model."""
        models: dict[str, Spending] = {}
        for (_, model), spending in self._entries.items():
            models[model] = _sum(models.get(model, Spending()), spending)
        return models


def _sum(one: Spending, other: Spending) -> Spending:
    priced = [s.priced_usd for s in (one, other) if s.priced_usd is not None]
    return Spending(
        usage=one.usage + other.usage,
        priced_usd=sum(priced, Decimal(0)) if priced else None,
        has_unpriced=one.has_unpriced or other.has_unpriced,
        by_plan=one.by_plan or other.by_plan,
    )


class SessionStatus:
    """The session as its last events left it. `title` is empty until there is a prompt; `sandbox` tells whether
    commands run in one, or the agent that works, None until that is known; `instructions` are those in force,
    None before they are looked for; `retry` is the attempt that is waited for, `leaked_call` the last one
    that a setting would have read, `reading` how far the server has read the prompt. `version` changes
    with whatever is shown here or computed from the conversation."""

    def __init__(self) -> None:
        self.model = self.mode = self.title = ""
        self.effort: Effort | None = None
        self._chosen: tuple[str, Effort | None] | None = None  # what another model stands in for
        self.sandbox: bool | None = None
        self._is_agent_in_charge = False
        self.instructions: InstructionsLoaded | None = None
        self.book = Book()
        self.retry: RetryScheduled | None = None
        self.leaked_call: CallLeaked | None = None
        self.reading: PromptProgressed | None = None
        self.version = 0

    def resume(self, *, model: str, mode: str, effort: Effort | None = None) -> None:
        """All earlier events are of the past; this holds now."""
        self.model, self.mode, self.sandbox, self.retry = model, mode, None, None
        self.effort, self._chosen = effort, None
        self.touch()

    def touch(self) -> None:
        """Something that is reckoned from the conversation is another now."""
        self.version += 1

    def begin_turn(self, prompt: str) -> None:
        self.book.begin_turn()
        self.title = self.title or " ".join(prompt.split())[:_LONGEST_TITLE]
        self.version += 1

    def count(self, event: UsageCounted) -> None:
        """Tokens of a request became known."""
        self.book.add(event)
        self.version += 1

    def spare(self, event: QuorumConcluded) -> None:
        """Votes on a call were counted, and some may not have been asked for."""
        if event.spared:
            self.book.spare(event.spared)
            self.version += 1

    def choose(self, *, model: str, effort: Effort | None) -> None:
        self.model, self.effort, self._chosen = model, effort, None
        self.version += 1

    def choose_mode(self, mode: str) -> None:
        self.mode = mode
        self.version += 1

    def fall_back(self, model: str) -> None:
        """Another model stands in for the rest of the turn."""
        self._chosen = self._chosen or (self.model, self.effort)
        self.model, self.effort = model, None
        self.version += 1

    def end_turn(self) -> None:
        """The next turn asks the chosen model first."""
        self.model, self.effort = self._chosen or (self.model, self.effort)
        self._chosen = None
        self.version += 1

    def check_sandbox(self, on: bool) -> None:
        """It became known whether commands run in a sandbox, which tells nothing of an agent's own."""
        if not self._is_agent_in_charge:
            self.sandbox = on
            self.version += 1

    def connect_agent(self, *, is_confined: bool) -> None:
        """An agent of another vendor works from now on, in the sandbox or outside of it."""
        self._is_agent_in_charge, self.sandbox = True, is_confined
        self.version += 1

    @property
    def reading_share(self) -> str:
        """How far the server has read the prompt, in words; empty where it does not say."""
        return f"reading the prompt {self.reading.percent} %" if self.reading else ""

    def read_prompt(self, event: PromptProgressed | None) -> None:
        """The server reads the prompt, or does so no more."""
        if self.reading is not event:
            self.reading = event
            self.version += 1

    def wait(self, event: RetryScheduled | None) -> None:
        """This attempt is waited for from now on, or none any more."""
        if self.retry is not event:
            self.retry = event
            self.version += 1
