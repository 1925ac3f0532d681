"""Background commands as people see them: which run, since when, and what they printed last."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from quorum.domain.calls.job import JobStatus, JobStopper, describe_job_end, shorten_job_end
from quorum.domain.events.event import JobEnded, JobProgressed, JobStarted

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
