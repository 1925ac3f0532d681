"""jobs: the background commands of the session, to be listed, read and stopped by the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorum.application.background_jobs import BackgroundJobs, RunningJob
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.job import JobPage, JobStopper
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import ToolTraits
from quorum.domain.errors import ToolError
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.tools.builtin.parts import require_integer, require_text

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

MOST_CHARS = 12_000
MOST_WAIT_SECS = 600
# Far above what a call can return: a page is never kept aside itself.
_INLINE_BYTES = 1 << 20
_COMMAND_CHARS = 200
_RESOURCE = "state:jobs"
_STEERED = "the wait was cut short: the person says something, which follows the results"

TRAITS = ToolTraits(
    verb="jobs",
    telling=("action", "job_id"),
    wording={"offset": "from character {}", "wait_secs": "waits up to {} s"},
    kind="execute",
    companion_of="run_command",
    can_wait=True,
)


def build(parts: ToolParts) -> Jobs:
    return Jobs(parts.jobs)


class Jobs:
    """Lists, reads and stops jobs.

    Low risk, also to stop one: what it ends was started by a call of this session that was let through, and
    nothing else can be named.
    """

    def __init__(self, jobs: BackgroundJobs) -> None:
        self._jobs = jobs
        self.definition = ToolDefinition(
            name="jobs",
            description=(
                "The background commands and subagents of this session. list: all of them. read: what "
                "one printed since you last read it, or from offset on, and whether it has ended; "
                "with wait_secs it first waits for the end, or so long, or until the person says something. "
                "stop: end it with all it started. You are told of the end of a job without asking."
            ),
            parameters=(
                ToolParameter(name="action", type="string", choices=("list", "read", "stop"), required=True),
                ToolParameter(name="job_id", type="string", description="For read and stop"),
                ToolParameter(
                    name="offset",
                    type="integer",
                    description="Character to read from, as an answer named it",
                    minimum=0,
                ),
                ToolParameter(
                    name="wait_secs",
                    type="integer",
                    description=f"At most {MOST_WAIT_SECS}",
                    minimum=0,
                ),
            ),
            risk=RiskLevel.LOW,
            access=_determine_access,
            inline_bytes=_INLINE_BYTES,
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """The answer as text. Raises ToolError for an action or a job that there is not.

        Cancelled while it waits, the job continues.
        """
        action = _read_action(arguments)
        if action == "list":
            return self._list()
        if action not in ("read", "stop"):
            raise ToolError(f"action must be list, read or stop, not {action!r}")
        if not (job_id := require_text(arguments, "job_id", "")):
            raise ToolError(f"{action} needs job_id, as in job-1; action = list names the jobs")
        job = self._jobs.find(job_id)
        if action == "stop":
            return await self._stop(job)
        await self._jobs.inspect(job)
        offset = None if arguments.get("offset") is None else require_integer(arguments, "offset", 0, minimum=0)
        is_steered = False
        if wait_secs := require_integer(arguments, "wait_secs", 0, minimum=0):
            if wait_secs > MOST_WAIT_SECS:
                raise ToolError(f"wait_secs may be {MOST_WAIT_SECS} at most; read again after that")
            is_steered = await self._jobs.wait_for(job, wait_secs)
        said = self._read(job, offset)
        return f"{said}\n{_STEERED}" if is_steered else said

    def _list(self) -> str:
        lines = []
        for job in self._jobs.all:
            lines.append(f"{self._jobs.describe(job)}: {_shorten_text(job.text)}")
            page = self._jobs.read_page(job, None, 0)
            if page is not None:
                unread = max(0, page.printed - job.read_until)
                lines.append(f"  {format_amount(unread, 'character')} not read yet")
        return "\n".join(lines) if lines else "no command was sent to the background in this session"

    async def _stop(self, job: RunningJob) -> str:
        if job.ended is not None:
            return f"{self._jobs.describe(job)} already\n{self._read(job, None)}"
        await self._jobs.stop(job, JobStopper.MODEL)
        return self._read(job, None)

    def _read(self, job: RunningJob, offset: int | None) -> str:
        stands = self._jobs.describe(job)
        if (page := self._read_page(job, offset)) is None:
            where = f"; [blob:{job.ended.blob_id}] has it" if job.ended and job.ended.blob_id else ""
            return f"{stands}\nits output is not in memory any more{where}"
        self._jobs.note_read(job, page.end)
        lines = [stands, *(job.ended.remarks if job.ended is not None else ()), _describe_extent(page, offset)]
        if page.text:
            lines.append(page.text.rstrip("\n"))
        if page.unfinished and page.end == page.printed:
            lines += ["the line that is not finished yet:", page.unfinished]
        if job.ended is not None and job.ended.blob_id is not None:
            lines.append(f"all that it printed: [blob:{job.ended.blob_id}]")
        return "\n".join(lines)

    def _read_page(self, job: RunningJob, offset: int | None) -> JobPage | None:
        """From the offset on; without one the newest piece of what was not read yet."""
        if offset is not None:
            return self._jobs.read_page(job, offset, MOST_CHARS)
        newest = self._jobs.read_page(job, None, MOST_CHARS)
        if newest is None or newest.start >= job.read_until:
            return newest
        return self._jobs.read_page(job, job.read_until, MOST_CHARS)


def _describe_extent(page: JobPage, offset: int | None) -> str:
    """Which piece of the output follows, and from where there is more."""
    printed = format_amount(page.printed, "character")
    if offset is not None and offset > page.printed:
        return f"nothing: offset {offset} is past the end, it has printed {printed}"
    if page.start == page.end:
        return f"nothing new: it has printed {printed}"
    said = f"characters {page.start} to {page.end} of {page.printed}"
    if offset is not None and offset < page.start:
        said += f"; those from {offset} on are not in memory any more"
    if page.end < page.printed:
        said += f"; offset {page.end} shows what follows"
    if offset is None and page.start > page.kept_from:
        said += f"; what came before is left out, from offset {page.kept_from} on it is in memory"
    return f"{said}:"


def _read_action(arguments: JsonObject) -> JsonValue:
    action = arguments.get("action")
    return action.strip().lower() if isinstance(action, str) else action


def _determine_access(arguments: JsonObject) -> Access:
    if _read_action(arguments) == "stop":
        return Access.of(writes={_RESOURCE})
    return Access.of(reads={_RESOURCE})


def _shorten_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _COMMAND_CHARS else f"{line[: _COMMAND_CHARS - 1]}…"
