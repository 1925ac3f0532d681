"""The jobs of a session: which have no end, and whose end the model has not read yet."""

from __future__ import annotations

from quorum.domain.calls.job import Job
from quorum.domain.events.event import JobEnded, JobStarted
from quorum.domain.replacing import replace


class ReplayedJobs:
    """The jobs that still run or whose end is yet to be reported, oldest first. `started` counts all jobs."""

    def __init__(self) -> None:
        self.started = 0
        self._jobs: dict[str, Job] = {}

    @property
    def left(self) -> tuple[Job, ...]:
        """The jobs without an end, and those whose end is still to be reported to the model."""
        return tuple(self._jobs.values())

    def start(self, event: JobStarted, turn: int) -> None:
        """Note that a job began in the turn with this number."""
        self.started += 1
        self._jobs[event.job_id] = Job(
            job_id=event.job_id, command=event.command, context=event.context, turn=turn
        )

    def end(self, event: JobEnded) -> None:
        if (job := self._jobs.pop(event.job_id, None)) is not None and event.note is not None:
            self._jobs[event.job_id] = replace(job, ended=True, note=event.note)

    def mark_as_read(self, job_id: str) -> None:
        """Note that the model has read of the end of a job."""
        if (job := self._jobs.get(job_id)) is not None and job.ended:
            del self._jobs[job_id]
