"""The background commands of a session, from their start to their end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from msgspec import UNSET, Struct

from quorum.application.calls.outputs import Outputs
from quorum.application.cancellation import run_to_end
from quorum.application.event_bus import EventBus
from quorum.application.ports.subagents import BackgroundCommand
from quorum.application.steering import PendingMessage, PendingMessages
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.job import (
    Job,
    JobPage,
    JobResult,
    JobStatus,
    JobStopper,
    describe_job,
    describe_job_end,
    describe_lost_job,
    describe_lost_subagent,
    describe_subagent,
)
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import ToolError
from quorum.domain.events.event import JobEnded, JobProgressed, JobStarted, NoticeGiven
from quorum.domain.events.report import JobRecord
from quorum.domain.events.subagents import SubagentOutcome
from quorum.domain.replacing import replace
from quorum.domain.text.output import Printed

_ENDED_KEPT = 20  # of so many jobs that ended last the output can still be read
_NEVER_LONG = 1 << 20  # an output that is reported whole is not stored as well


class RunningJob(Struct, eq=False, kw_only=True):
    """A job of this process, also after its end: `ended` is then there, and `command` for as long as its output
    is kept in memory. `read_until` is the character up to which the model has read. `reports_end`: the model is
    to read of its end with the next request."""

    job_id: str
    text: str
    turn: int
    began: float
    command: BackgroundCommand | None
    subagent_id: str = ""
    stopper: JobStopper | None = None
    ended: JobEnded | None = None
    reports_end: bool = True
    read_until: int = 0
    watch: asyncio.Task[None] | None = None


class BackgroundJobs:
    """Keeps the jobs of one session. All of them end with it; `most` bounds how many run at once.

    What became of one waits among the `pending_messages` for the next request. Every `inspect_secs` it is
    looked whether one has made protected paths.
    """

    def __init__(
        self,
        *,
        events: EventBus,
        outputs: Outputs,
        pending_messages: PendingMessages,
        most: int = 20,
        inspect_secs: float = 5.0,
    ) -> None:
        self._inspect_secs = inspect_secs
        self._events = events
        self._outputs = outputs
        self._pending_messages = pending_messages
        self._most = most
        self._jobs: dict[str, RunningJob] = {}
        self._foreground: dict[str, asyncio.Future[None]] = {}
        self._is_closed = False
        past = events.state
        self._started = past.jobs_started
        self._lost = tuple(job for job in past.jobs if not job.ended)
        for job in past.jobs:
            self._tell_model(job.job_id, job.note)

    # ---------------------------------------------------------------- for the tool that runs commands

    def require_room(self) -> None:
        """Raises ToolError where no further command may continue in the background."""
        if self._is_closed:
            raise ToolError("the session ends: no command can run on in the background")
        if self._most == 0:
            raise ToolError("background commands are turned off: tools.run_command.max_jobs is 0")
        if len(self._running) >= self._most:
            raise ToolError(
                f"{len(self._running)} background commands run, which is the most there may be "
                "(tools.run_command.max_jobs): stop one with the tool jobs first"
            )

    @property
    def is_any_running(self) -> bool:
        """Whether a job has not ended yet."""
        return bool(self._running)

    @property
    def has_room(self) -> bool:
        """Whether one more command may continue in the background."""
        return not self._is_closed and len(self._running) < self._most

    @contextmanager
    def allow_detaching(self, call_id: str) -> Iterator[asyncio.Future[None]]:
        """Meanwhile the person may send this call's command to the background: the future is then done."""
        wish: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._foreground[call_id] = wish
        try:
            yield wish
        finally:
            del self._foreground[call_id]

    async def adopt(
        self,
        command: BackgroundCommand,
        *,
        text: str,
        context: ToolExecutionContext,
        by_person: bool = False,
        read_until: int = 0,
        ran_secs: float = 0.0,
        subagent_id: str = "",
    ) -> str:
        """Turn a running command into a job and return the job's id. `text` is its command line; the model has
        read what it printed up to character `read_until`; it has run for `ran_secs` already. With `subagent_id`
        it is a subagent at work, and `text` says what it was given.

        Raises LedgerError where that cannot be recorded, and CancelledError: the command is dead then.
        """
        self._started += 1
        job = RunningJob(
            job_id=f"job-{self._started}",
            text=text,
            turn=len(self._events.state.turns) - 1,
            began=time.monotonic() - ran_secs,
            command=command,
            subagent_id=subagent_id,
            read_until=read_until,
        )
        self._jobs[job.job_id] = job
        job.watch = asyncio.create_task(self._watch(job, command), name=job.job_id)
        started = JobStarted(
            job_id=job.job_id,
            context=context,
            command=text,
            by_person=by_person,
            ran_secs=ran_secs,
            subagent_id=subagent_id or UNSET,
        )
        try:
            await self._events.announce(started, urgent=True)
            await self.inspect(job)  # it may have run for a while, unasked, as a command that ends soon
        except BaseException as error:
            interrupted = isinstance(error, asyncio.CancelledError)
            await run_to_end(self._stop(job, JobStopper.PERSON if interrupted else JobStopper.SESSION))
            raise
        command.follow(lambda printed: self._report_progress(job.job_id, printed))
        return job.job_id

    # ---------------------------------------------------------------- for the tool `jobs`

    @property
    def all(self) -> tuple[RunningJob, ...]:
        """The jobs of this process, oldest first, also those that have ended."""
        return tuple(self._jobs.values())

    def describe(self, job: RunningJob, reader: JobStopper = JobStopper.MODEL) -> str:
        """A job and how it stands, in words for this reader."""
        if job.ended is None:
            ending = describe_job_end(JobStatus.RUNNING, None, None, time.monotonic() - job.began)
        else:
            ending = _describe_end(job.ended, reader)
        return f"{job.job_id} {ending}"

    def find(self, job_id: str) -> RunningJob:
        """The job of that id. Raises ToolError that names those there are."""
        if (job := self._jobs.get(job_id)) is not None:
            return job
        known = ", ".join(self._jobs)
        there_are = f"the jobs are {known}" if known else "no command was sent to the background"
        raise ToolError(f"there is no job {job_id}: {there_are}")

    def read_page(self, job: RunningJob, offset: int | None, most: int) -> JobPage | None:
        """A piece of what a job printed; None where its output is not in memory any more."""
        return None if job.command is None else job.command.read_page(offset, most)

    async def inspect(self, job: RunningJob) -> None:
        """Have protected paths set aside that a job made unasked, and tell the person and the model of them."""
        if job.command is None or job.ended is not None:
            return
        for said in await job.command.inspect():
            sentence = f"{job.job_id}, which still runs: {said}"
            await self._events.record(NoticeGiven(message=sentence))
            self._pending_messages.add(PendingMessage(UserMessage(self._events.hide(sentence)), is_notice=True))

    def note_read(self, job: RunningJob, until: int) -> None:
        """The model reads, with the result of its call, what a job printed up to there, and how it stands."""
        job.read_until = max(job.read_until, until)
        if job.ended is not None:
            self._withdraw_report(job)

    async def wait_for(self, job: RunningJob, secs: float) -> bool:
        """Wait until the job has ended, but no longer than this, and not once the person says something to the
        model: whether that was so. Cancelled, the job continues.
        """
        if job.watch is None:
            return False
        steered = asyncio.create_task(self._pending_messages.wait_until_steered())
        try:
            await asyncio.wait({job.watch, steered}, timeout=secs, return_when=asyncio.FIRST_COMPLETED)
            return job.ended is None and steered.done()
        finally:
            steered.cancel()

    async def stop(self, job: RunningJob, stopper: JobStopper) -> None:
        """End a job with all it started, and wait until it is dead and recorded. Not cut short by a
        cancellation."""
        await run_to_end(self._stop(job, stopper))

    # ---------------------------------------------------------------- for the person and the session

    @property
    def foreground(self) -> int:
        """How many commands run whose calls wait for them."""
        return len(self._foreground)

    def send_to_background(self) -> int:
        """Turn the commands whose calls wait for them into jobs; return their number. One that ends at this
        moment has its usual result. Raises ToolError where there may be no more jobs.
        """
        if self._foreground:
            self.require_room()
        for wish in self._foreground.values():
            if not wish.done():
                wish.set_result(None)
        return len(self._foreground)

    async def stop_by_id(self, job_id: str) -> str:
        """The person stops a job; how it stands then, in words. Raises ToolError where there is none."""
        job = self.find(job_id)
        await self.stop(job, JobStopper.PERSON)
        return self.describe(job, JobStopper.PERSON)

    async def stop_since(self, turn: int) -> tuple[str, ...]:
        """Stop the jobs that this turn and later ones started, since they are undone; the ids of those."""
        undone = [job for job in self._running if job.turn >= turn]
        await run_to_end(self._stop_all(undone, JobStopper.REWIND))
        for job in self._jobs.values():
            if job.turn >= turn:
                self._withdraw_report(job)
        return tuple(job.job_id for job in undone)

    async def stop_with_turn(self) -> None:
        """End all jobs, since nothing may change the layer once its effects are read; the model is told."""
        await run_to_end(self._stop_all(list(self._running), JobStopper.TURN))

    async def close(self) -> tuple[JobRecord, ...]:
        """End all jobs, since the session ends; what became of every job of this process, oldest first."""
        self._is_closed = True
        await run_to_end(self._stop_all(list(self._running), JobStopper.SESSION))
        return tuple(
            JobRecord(
                job_id=job.job_id,
                command=job.text,
                status=job.ended.status,
                exit_code=job.ended.exit_code,
                stopper=job.ended.stopper,
            )
            for job in self._jobs.values()
            if job.ended is not None
        )

    @property
    def lost(self) -> tuple[Job, ...]:
        """Those that ran when a process before this one ended, or whose session this one is a copy of."""
        return self._lost

    async def recover(
        self, *, is_copy: bool, ends: Mapping[str, SubagentOutcome] = MappingProxyType({})
    ) -> None:
        """Record that nobody knows how those ended. None of them is run again. `is_copy`: the session is
        a copy of the one that has them. `ends` are those of subagents that had ended, by their ids."""
        lost, self._lost = self._lost, ()
        for job in lost:
            text, end = self._events.hide(job.command), ends.get(job.subagent_id)
            if end is not None and not is_copy:
                ending = "ended before the quorum that it worked in did"
                note = self._events.hide(describe_subagent(job.job_id, text, ending, report=end.message))
            elif job.subagent_id:
                note = describe_lost_subagent(job.job_id, text, job.subagent_id, is_copy=is_copy)
            else:
                note = describe_lost_job(job.job_id, text, is_copy=is_copy)
            status = JobStatus.UNKNOWN if end is None else _name_subagent_end(end.is_answer)
            await self._events.record(
                JobEnded(job_id=job.job_id, status=status, exit_code=None, duration_secs=0.0, note=note)
            )
            self._tell_model(job.job_id, note)

    # ---------------------------------------------------------------- the life of one

    @property
    def _running(self) -> list[RunningJob]:
        return [job for job in self._jobs.values() if job.ended is None]

    async def _stop_all(self, jobs: list[RunningJob], stopper: JobStopper) -> None:
        await asyncio.gather(*(self._stop(job, stopper) for job in jobs))

    async def _stop(self, job: RunningJob, stopper: JobStopper) -> None:
        if job.ended is None and job.command is not None:
            job.stopper = job.stopper or stopper
            job.command.end()
        if job.watch is not None:
            await asyncio.wait({job.watch})

    async def _watch(self, job: RunningJob, command: BackgroundCommand) -> None:
        inspecting = asyncio.create_task(self._inspect_regularly(job))
        try:
            result = await command.wait_for_result()
        finally:
            inspecting.cancel()
        kept = await self._outputs.keep_within(result.output, inline_bytes=0 if result.is_cut else _NEVER_LONG)
        ended = JobEnded(
            job_id=job.job_id,
            status=_determine_status(job, result),
            exit_code=result.exit_code,
            duration_secs=time.monotonic() - job.began,
            stopper=job.stopper,
            output=result.last_lines,
            remarks=(*result.remarks, *([kept.trouble] if kept.trouble is not None else [])),
            blob_id=kept.blob_id,
            size_bytes=kept.size_bytes,
            hosts=result.hosts or UNSET,
        )
        if job.stopper in (None, JobStopper.PERSON, JobStopper.TURN):
            ended = replace(ended, note=self._events.hide(_describe_for_model(job, ended)))
        job.ended = ended
        await self._events.record(ended)
        if job.reports_end:
            self._tell_model(job.job_id, ended.note)
        for old in [each for each in self._jobs.values() if each.ended is not None][:-_ENDED_KEPT]:
            old.command = None

    async def _inspect_regularly(self, job: RunningJob) -> None:
        while True:
            await asyncio.sleep(self._inspect_secs)
            await self.inspect(job)

    def _report_progress(self, job_id: str, printed: Printed) -> None:
        self._events.show(JobProgressed(job_id=job_id, text=printed.text, styles=printed.styles))

    def _withdraw_report(self, job: RunningJob) -> None:
        job.reports_end = False  # also where its end is still being recorded
        self._pending_messages.withdraw(job.job_id)

    def _tell_model(self, job_id: str, note: str | None) -> None:
        if note is not None:
            self._pending_messages.add(PendingMessage(UserMessage(note), job_id))


def _determine_status(job: RunningJob, result: JobResult) -> JobStatus:
    if job.stopper is not None:
        return JobStatus.STOPPED
    if result.has_answered is not None:
        return _name_subagent_end(result.has_answered)
    return JobStatus.TIMED_OUT if result.timed_out else JobStatus.ENDED


def _name_subagent_end(has_answered: bool) -> JobStatus:
    return JobStatus.ANSWERED if has_answered else JobStatus.FAILED


def _describe_end(ended: JobEnded, reader: JobStopper) -> str:
    return describe_job_end(ended.status, ended.exit_code, ended.stopper, ended.duration_secs, reader=reader)


def _describe_for_model(job: RunningJob, ended: JobEnded) -> str:
    if job.subagent_id:
        return describe_subagent(
            job.job_id,
            job.text,
            _describe_end(ended, JobStopper.MODEL),
            report=ended.output,
            remarks=ended.remarks,
            blob_id=ended.blob_id,
        )
    return describe_job(
        job.job_id,
        job.text,
        _describe_end(ended, JobStopper.MODEL),
        last_lines=ended.output,
        remarks=ended.remarks,
        blob_id=ended.blob_id,
    )


def describe_lost_jobs(jobs: tuple[Job, ...], *, is_copy: bool) -> tuple[str, ...]:
    """What the person should know of these jobs: a sentence, or none."""
    if not jobs:
        return ()
    commands = ", ".join(f"{each.job_id} `{each.command}`" for each in jobs if not each.subagent_id)
    subagents = ", ".join(f"{each.job_id} `{each.command}`" for each in jobs if each.subagent_id)
    said: list[str] = []
    if is_copy:
        stay = "stay with the session that this one was copied from"
        said += [f"background commands {stay}: {commands}"] if commands else []
        return (*said, *((f"subagents {stay}: {subagents}",) if subagents else ()))
    said += [f"background command ended with the process, not run again: {commands}"] if commands else []
    return (*said, *((f"subagent ended with the process, not asked again: {subagents}",) if subagents else ()))
