"""Background commands: jobs that keep running after their calls have ended."""

from __future__ import annotations

from typing import ClassVar

from domain.calls.execution import ToolExecutionContext
from domain.calls.job import JobStatus, JobStopper
from domain.lazy_dataclass import dataclass
from domain.text.styles import Styles


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStarted:
    """A command continues in the background; it has run for `ran_secs` already. `by_person`: they sent it there
    while its call waited for it."""

    type: ClassVar = "job_started"
    durable: ClassVar = True
    job_id: str
    context: ToolExecutionContext
    command: str
    by_person: bool = False
    ran_secs: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgressed:
    """A job printed something: these are its last lines now."""

    type: ClassVar = "job_progressed"
    durable: ClassVar = False
    job_id: str
    text: str
    styles: Styles = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded:
    """A job ended; `unknown`: nobody saw how.

    `exit_code` is negative for a signal. `output` are the last lines that it printed; the whole is in the
    stored output `blob_id`, of `size_bytes`, where it is longer. `remarks` are sentences about its ending;
    `note` is what the model is to read of it, None where it knows already.
    """

    type: ClassVar = "job_ended"
    durable: ClassVar = True
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
