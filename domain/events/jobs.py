"""Background commands: jobs that keep running after their calls have ended."""

from __future__ import annotations

from typing import ClassVar

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.job import JobStatus, JobStopper
from quorum.domain.fact import CanonicalPlace, Fact
from quorum.domain.text.styles import Styles


class JobStarted(Fact, frozen=True, kw_only=True, tag="job_started"):
    """A command continues in the background; it has run for `ran_secs` already. `by_person`: they sent it there
    while its call waited for it."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    job_id: str
    context: ToolExecutionContext
    command: str
    by_person: bool = False
    ran_secs: float = 0.0


class JobProgressed(Fact, frozen=True, kw_only=True, tag="job_progressed"):
    """A job printed something: these are its last lines now."""

    durable: ClassVar = False
    job_id: str
    text: str
    styles: Styles = ()


class JobEnded(Fact, frozen=True, kw_only=True, tag="job_ended"):
    """A job ended; `unknown`: nobody saw how.

    `exit_code` is negative for a signal. `output` are the last lines that it printed; the whole is in the
    stored output `blob_id`, of `size_bytes`, where it is longer. `remarks` are sentences about its ending;
    `note` is what the model is to read of it, None where it knows already.
    """

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    job_id: str
    status: JobStatus
    exit_code: int | None
    duration_secs: float
    stopper: JobStopper | None = None
    output: str = ""
    remarks: tuple[str, ...] = ()
    blob_id: str | None = None
    size_bytes: int = 0
    note: str | None = None
