"""The jobs of a record: which have no end, and of which the model knows no end yet."""

from __future__ import annotations

from dataclasses import replace

from domain.calls.job import Job
from domain.events.event import JobEnded, JobStarted


class ReplayedJobs:
    """Keeps the jobs that are not over and done with, oldest first. `started` counts all that ever were."""

    def __init__(self) -> None:
        self.started = 0
        self._jobs: dict[str, Job] = {}

    @property
    def left(self) -> tuple[Job, ...]:
        """The jobs without an end, and those whose end is still to be reported to the model."""
        return tuple(self._jobs.values())

    def start(self, event: JobStarted, turn: int) -> None:
        """A job began in the turn of this number."""
        self.started += 1
        self._jobs[event.job_id] = Job(
            job_id=event.job_id, command=event.command, context=event.context, turn=turn
        )

    def end(self, event: JobEnded) -> None:
        """A job ended."""
        if (job := self._jobs.pop(event.job_id, None)) is not None and event.note is not None:
            self._jobs[event.job_id] = replace(job, ended=True, note=event.note)

    def tell(self, job_id: str) -> None:
        """The model knows of the end of a job now."""
        if (job := self._jobs.get(job_id)) is not None and job.ended:
            del self._jobs[job_id]
