"""Background commands: what a job is, how it ended, and what the model is to read of its end."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.shell.network_hosts import AskedHost
from quorum.domain.text.amounts import format_duration
from quorum.domain.text.output import ToolOutput

_ENDED = "The background command {job_id} {ending} Its command line: {command}"
_PRINTED = "\nThe end of what it printed, each line of it behind a bar:\n{output}"
_SILENT = "\nIt printed nothing."
_WHOLE = "\nAll of it: [blob:{blob_id}]"
_LOST = "ended with the quorum that it ran in: how it ended and what it printed last is not known."
_COPIED = "belongs to the session that this one was copied from: it cannot be read or stopped here."


class JobStatus(StrEnum):
    """Where a job stands. UNKNOWN: the process that ran it died, or another session has it. ANSWERED and FAILED
    are the ends of a subagent."""

    RUNNING = "running"
    ENDED = "ended"
    STOPPED = "stopped"
    TIMED_OUT = "timed_out"
    UNKNOWN = "unknown"
    ANSWERED = "answered"
    FAILED = "failed"


class JobStopper(StrEnum):
    """Who or what stopped a job."""

    MODEL = "model"
    PERSON = "person"
    REWIND = "rewind"
    SESSION = "session"
    TURN = "turn"


class JobPage(Struct, frozen=True, kw_only=True):
    """A piece of what a job printed, from character `start` to character `end`.

    `printed` is how many characters there are in finished lines, and those before `kept_from` are not in
    memory. `unfinished` is the line that has no end yet: it is part of no page.
    """

    text: str
    start: int
    end: int
    printed: int
    kept_from: int
    unfinished: str = ""


class JobResult(Struct, frozen=True, kw_only=True):
    """How the command of a job ended.

    `exit_code` is negative for a signal and None where it never became known; `output` is all it printed or
    both ends of it; `last_lines` are the last of it; `is_cut` tells that they are not all; `remarks` are
    sentences about its processes and its sandbox; `hosts` are those that it asked for. `has_answered` is None
    but for a subagent, whose report the output is.
    """

    exit_code: int | None
    timed_out: bool = False
    output: str | ToolOutput = ""
    last_lines: str = ""
    is_cut: bool = False
    remarks: tuple[str, ...] = ()
    hosts: tuple[AskedHost, ...] = ()
    has_answered: bool | None = None


class Job(Struct, frozen=True, kw_only=True):
    """A job that is not over and done with, as the record tells of it.

    `turn` is the number of the turn that started it; `ended`: its end is recorded; `note` is then what the
    model is still to read of it.
    """

    job_id: str
    command: str
    context: ToolExecutionContext
    turn: int
    ended: bool = False
    note: str | None = None
    subagent_id: str = ""


def describe_job_end(
    status: JobStatus,
    exit_code: int | None,
    stopper: JobStopper | None,
    duration_secs: float,
    *,
    reader: JobStopper | None = None,
) -> str:
    """Describe how a job ended, as a clause that follows its name. `duration_secs` is in seconds; `reader` is
    who reads it, where that is the model or the person."""
    after = f"after {format_duration(duration_secs)}"
    killed_by = -exit_code if exit_code is not None and exit_code < 0 else None
    match status:
        case JobStatus.RUNNING:
            return f"is running for {format_duration(duration_secs)}"
        case JobStatus.ENDED if exit_code is None:
            return f"ended {after}: how is not known"
        case JobStatus.ENDED if killed_by is not None:
            return f"was killed by signal {killed_by} {after}"
        case JobStatus.ENDED:
            return f"ended {after}: exit code {exit_code}"
        case JobStatus.STOPPED:
            return f"{_describe_stop(stopper, reader)} {after}"
        case JobStatus.TIMED_OUT:
            return f"was ended {after}, its time limit"
        case JobStatus.UNKNOWN:
            return "ended, nobody saw how"
        case JobStatus.ANSWERED:
            return f"has reported {after}"
        case JobStatus.FAILED:
            return f"failed {after}"


def _describe_stop(stopper: JobStopper | None, reader: JobStopper | None) -> str:
    match stopper:
        case None:
            return "was stopped"
        case JobStopper.MODEL | JobStopper.PERSON if stopper is reader:
            return "was stopped by you"
        case JobStopper.MODEL:
            return "was stopped by the model"
        case JobStopper.PERSON:
            return "was stopped by the person"
        case JobStopper.REWIND:
            return "was stopped when its turn was undone"
        case JobStopper.SESSION:
            return "was stopped at the end of the session"
        case JobStopper.TURN:
            return "was stopped at the end of its turn, as the mode staged has it,"


def shorten_job_end(status: JobStatus, exit_code: int | None, duration_secs: float) -> str:
    """The same in two words, what matters first, such as `exit 3 · 8.1 s`."""
    took = format_duration(duration_secs)
    match status:
        case JobStatus.RUNNING:
            return f"running {took}"
        case JobStatus.ENDED if exit_code is None:
            return f"ended · {took}"
        case JobStatus.ENDED if exit_code is not None and exit_code < 0:
            return f"killed · {took}"
        case JobStatus.ENDED:
            return f"exit {exit_code} · {took}"
        case JobStatus.STOPPED:
            return f"stopped · {took}"
        case JobStatus.TIMED_OUT:
            return f"time limit · {took}"
        case JobStatus.UNKNOWN:
            return "end not seen"
        case JobStatus.ANSWERED:
            return f"reported · {took}"
        case JobStatus.FAILED:
            return f"failed · {took}"


def describe_job(
    job_id: str, command: str, ending: str, *, last_lines: str, remarks: tuple[str, ...], blob_id: str | None
) -> str:
    """What the model reads of a job that has ended. No line of its output can pass for one of somebody's."""
    said = ". ".join([ending, *remarks]) + "."
    barred = "\n".join(f"| {line}".rstrip() for line in last_lines.splitlines())
    printed = _PRINTED.format(output=barred) if last_lines.strip() else _SILENT
    whole = _WHOLE.format(blob_id=blob_id) if blob_id is not None else ""
    return _ENDED.format(job_id=job_id, command=command, ending=said) + printed + whole


def describe_subagent(
    job_id: str,
    title: str,
    ending: str,
    *,
    report: str,
    remarks: tuple[str, ...] = (),
    blob_id: str | None = None,
) -> str:
    """What the model reads of a subagent that worked in the background. No line of its report can pass for one
    of somebody's."""
    said = ". ".join([ending, *remarks]) + "."
    barred = "\n".join(f"| {line}".rstrip() for line in report.splitlines())
    told = f"\nIts report, each line of it behind a bar:\n{barred}" if report.strip() else ""
    whole = _WHOLE.format(blob_id=blob_id) if blob_id is not None else ""
    return f"The subagent {job_id} {said} It was given {title}{told}{whole}"


def describe_lost_subagent(job_id: str, title: str, subagent_id: str, *, is_copy: bool) -> str:
    """What the model reads of a subagent whose end nobody saw; `is_copy`: it is another session's."""
    ending = (
        "belongs to the session that this one was copied from: it reports there"
        if is_copy
        else "was interrupted when the quorum that it worked in ended, and is not asked again; "
        f"{subagent_id} is the session that has what it did"
    )
    return describe_subagent(job_id, title, ending, report="")


def describe_lost_job(job_id: str, command: str, *, is_copy: bool) -> str:
    """What the model reads of a job whose end nobody saw; `is_copy`: it is another session's."""
    return _ENDED.format(job_id=job_id, command=command, ending=_COPIED if is_copy else _LOST)
