"""The tool `run_command`: a shell command in the workspace."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from quorum.application.background_jobs import BackgroundJobs
from quorum.application.ports.storage import Spill
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import CallEffect, OutputKind, ToolTraits
from quorum.domain.errors import ToolError
from quorum.domain.replacing import replace
from quorum.domain.shell.command_line import ShellVerdict, ShellVerdictKind
from quorum.domain.shell.git_commands import changes_repository
from quorum.domain.shell.network_hosts import BadHost, HostPattern, read_hosts
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.output import COMMAND_LIMITS, OutputLimits, Printed, ToolOutput
from quorum.infrastructure.blocking import look_where_we_work
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.execution.commands.running_command import RunningCommand
from quorum.infrastructure.execution.commands.sealing import require_unchanged, seal_command
from quorum.infrastructure.execution.sandbox.confinement import Confinement
from quorum.infrastructure.execution.sandbox.repository_places import find_written_folders
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

Judge: TypeAlias = Callable[[str, Path], Awaitable[ShellVerdict]]

DEFAULT_TIMEOUT_SECS = 60
DEFAULT_OUTPUT_BYTES = 32768
_IN_BACKGROUND = (
    " With background = true it runs while you work, as a server does: you get the id of its "
    "job for the tool jobs, and it ends with the session."
)
_BACKGROUND = ToolParameter(name="background", type="boolean")
_HOSTS = ToolParameter(
    name="hosts",
    type="string",
    description=(
        'Hosts to reach where the sandbox has no network, as "pypi.org, files.pythonhosted.org". The person is '
        "asked about hosts that nothing allows"
    ),
)
_MAX_COMMAND_BYTES = (1 << 17) - 1
_MAX_TIMEOUT_SECS = 86_400
_SHELLS = (("/bin/bash", "--noprofile", "--norc"), ("/bin/sh",))


class _CommandRequest(Struct, frozen=True, kw_only=True):
    command: str
    cwd: Path
    timeout_secs: int | None
    outside: bool
    background: bool
    opens_git: bool
    hosts: tuple[HostPattern, ...]


TRAITS = ToolTraits(
    verb="run",
    title="Run a command",
    output=OutputKind.TERMINAL,
    command="command",
    text="command",
    wording={
        "working_dir": "in {}",
        "timeout_secs": "at most {} s",
        "background": "in the background",
        "opens_git": "with .git open",
        "outside_sandbox": "outside the sandbox",
        "hosts": "reaching {}",
    },
    kind="execute",
    effect=CallEffect.COMMAND,
    arguments=("command", "working_dir", "timeout_secs", "background", "outside_sandbox", "opens_git", "hosts"),
    can_wait=True,
)


def build(
    parts: ToolParts,
    *,
    timeout_secs: int | None = None,
    on_start: Callable[[RunningCommand], None] | None = None,
) -> RunCommand:
    workspace, table = parts.workspace, parts.settings.tools.run_command
    return RunCommand(
        on_start=on_start,
        jobs=parts.jobs,
        root=parts.root,
        resolve_directory=lambda named: Path(workspace.locate(named).path),
        timeout_secs=table.timeout_secs if timeout_secs is None else timeout_secs,
        max_output_bytes=table.max_output_bytes,
        limits=parts.settings.tools.run_command.limits,
        secret_names=parts.secret_names,
        open_spill=parts.outputs.open_spill,
        judge=parts.gate.judge,
        sandbox=parts.sandbox,
    )


class RunCommand:
    """Runs a command in a shell, with null standard input and without our keys, until it and all it started
    have ended.

    `resolve_directory` turns a given working_dir into a folder of the workspace or raises ToolError.
    `secret_names` are variables the command must not see, besides those whose names say so. `sandbox` says what
    each command is held to; without it commands have our rights, and no seal speaks of it. `judge` tells which
    commands only read; without it none is known to. `limits` say how much of an output the model gets. `jobs`
    keeps commands that run in the background; without it none can. `settle_secs` is how long such a command
    may take to fail before its call is answered. `on_start` gets each command that runs, where whoever called
    for it looks at it meanwhile.
    """

    def __init__(  # noqa: PLR0913 - what a command needs meets here
        self,
        *,
        root: Path,
        resolve_directory: Callable[[str], Path],
        timeout_secs: int = DEFAULT_TIMEOUT_SECS,
        max_output_bytes: int = DEFAULT_OUTPUT_BYTES,
        secret_names: Collection[str] = (),
        inherited: Mapping[str, str] = os.environ,
        limits: OutputLimits = COMMAND_LIMITS,
        open_spill: Callable[[], Spill] | None = None,
        sandbox: Sandbox | None = None,
        judge: Judge | None = None,
        jobs: BackgroundJobs | None = None,
        settle_secs: float = 0.5,
        on_start: Callable[[RunningCommand], None] | None = None,
    ) -> None:
        self._on_start = on_start
        self._jobs = jobs
        self._settle_secs = settle_secs
        self._limits = limits
        self._open_spill = open_spill
        self._root = root
        self._resolve_directory = resolve_directory
        self._timeout_secs = timeout_secs
        self._max_output_bytes = max_output_bytes
        self._secret_names = frozenset(secret_names)
        self._inherited = inherited
        self._sandbox = sandbox
        self._judge = judge

    @property
    def definition(self) -> ToolDefinition:
        """High risk, and alone while it runs: nobody can tell what a command touches."""
        git = ToolParameter(
            name="opens_git",
            type="boolean",
            description=(
                "Let this and later commands write to .git, read-only in the sandbox, for example to commit; "
                "git's settings and hooks stay closed. The person is asked once"
            ),
        )
        outside = ToolParameter(
            name="outside_sandbox",
            type="boolean",
            description=(
                "Run it outside the sandbox, with all that the person may do. The person is always asked. Only "
                "for a command that failed for want of that"
            ),
        )
        return ToolDefinition(
            name="run_command",
            description=(
                "Run a shell command (bash) in the workspace and get its output and errors in order, with its "
                "exit code. Standard input is empty. "
                "Processes that it leaves behind are ended with it."
                + (_IN_BACKGROUND if self._jobs is not None else "")
            ),
            parameters=(
                ToolParameter(name="command", type="string", required=True),
                ToolParameter(
                    name="working_dir",
                    type="path",
                    description="Folder to run it in, inside the workspace (default: its root)",
                ),
                ToolParameter(
                    name="timeout_secs",
                    type="integer",
                    description=f"Seconds until it is ended (default {self._timeout_secs}"
                    + ("; in the background none)" if self._jobs is not None else ")"),
                    minimum=1,
                ),
                *((git,) if self._sandbox is not None and self._sandbox.can_open_git else ()),
                *((_HOSTS,) if self._sandbox is not None and self._sandbox.can_open_hosts else ()),
                *((outside,) if self._sandbox is not None and self._sandbox.can_be_left else ()),
                *((_BACKGROUND,) if self._jobs is not None else ()),
            ),
            risk=RiskLevel.HIGH,
            inline_bytes=self._limits.inline_bytes,
            summary_bytes=self._limits.summary_bytes,
        )

    def find_command(self, arguments: JsonObject) -> str | None:
        """The shell text that a call would run."""
        command = arguments.get("command")
        return command if isinstance(command, str) else None

    async def judge(self, arguments: JsonObject) -> ShellVerdict | None:
        """What is known of the command without running it; None where nobody looks, or none could run."""
        try:
            request = self._request(arguments)
            verdict = await self._judge_request(request)
            asks_more = request.outside or request.opens_git or bool(request.hosts)
            is_known = verdict.is_read_only if verdict is not None else not changes_repository(request.command)
            if self._sandbox is None or (is_known and not asks_more):
                return verdict
            confinement = await self._build_confinement(request, verdict)
        except ToolError:
            return None
        verdict = verdict or ShellVerdict(kind=ShellVerdictKind.ASK, reason="nothing here looks at commands")
        asked = tuple(each.text for each in confinement.asked_hosts)
        verdict = replace(verdict, asked_hosts=asked, reached_hosts=confinement.reached)
        if confinement.is_left or confinement.opens_git:
            planted = await asyncio.to_thread(self._sandbox.list_planted) if confinement.is_left else ()
            verdict = replace(verdict, leaves_sandbox=confinement.is_left, planted=planted)
            return replace(verdict, opens_git=confinement.opens_git)
        if verdict.is_read_only:
            return verdict
        gap = await asyncio.to_thread(self._sandbox.find_gap)
        # What a command makes is looked at when it ends: nobody knows when one in the background does, but in
        # a layer, where it ends with the turn.
        has_end = self._sandbox.is_in_layer or not request.background
        is_confined = confinement.is_closed and has_end
        return replace(verdict, sandbox_gap=gap, is_confined=is_confined, offers_git=confinement.offers_git)

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """The folder, programs, files, environment and sandbox of the command as they are now.

        Raises ToolError for a command or a folder that cannot be used, and where a required sandbox is not
        to be had.
        """
        request = self._request(arguments)
        verdict = await self._judge_request(request)
        environment = self._build_environment(verdict)
        return await self._seal(
            request, projected, await self._build_confinement(request, verdict), environment
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> ToolOutput:
        """Run the command; the text is what it printed and how it exited, whatever the exit code.

        If it continues in the background, the text is what it has printed until then and the id of its job. An
        output that is longer than the limit is stored whole, if there is a store, also after a timeout.

        Raises ToolError, with what was printed until then, where it could not be started, ran out of time or
        got rid of its supervisor, and where a required sandbox is not to be had; StaleSeal where it is no
        longer what was approved. CancelledError passes once nothing of the command is alive.
        """
        request = self._request(arguments)
        verdict = await self._judge_request(request)
        confinement = await self._build_confinement(request, verdict)
        if confinement.is_left and not context.controls.was_asked:
            raise ToolError("nothing was run: outside the sandbox only what the person was asked about runs")
        if confinement.opens_git and not context.controls.was_asked:
            raise ToolError("nothing was run: .git is opened only once the person was asked about it")
        if closed := self._list_closed_hosts(confinement, context):
            raise ToolError(
                f"nothing was run: {', '.join(closed)} is opened only once the person was asked about it"
            )
        environment = self._build_environment(verdict)
        if context.controls.seal is not None:
            now = await self._seal(request, {}, confinement, environment)
            require_unchanged(context.controls.seal, now)
        opens_git = confinement.opens_git or (confinement.offers_git and context.controls.was_asked)
        if opens_git and self._sandbox is not None:
            self._sandbox.open_git()
        launch = await asyncio.to_thread(
            confinement.launch,
            _build_shell_argv(request.command),
            cwd=request.cwd,
            environment=environment,
            keeps_home=True,
            approved=confinement.asked_hosts,
        )
        if request.background and self._jobs is not None:
            self._jobs.require_room()
            if verdict is not None and verdict.is_read_only:
                launch = replace(launch, check=None)  # what others make meanwhile is not its work
        command = RunningCommand(
            launch,
            cwd=request.cwd,
            environment=environment,
            timeout_secs=request.timeout_secs,
            max_output_bytes=self._max_output_bytes,
            spill=self._open_spill() if self._open_spill is not None else None,
            owner=context.batch_id,
            report=context.controls.report,
            was_asked=context.controls.was_asked,
        )
        if self._on_start is not None:
            self._on_start(command)
        try:
            if self._jobs is not None and await self._runs_on(command, request, context, self._jobs):
                by_person = not request.background and self._on_start is None
                return await _continue_as_job(command, request, context, self._jobs, by_person=by_person)
            return await command.wait_for_output()
        finally:
            for host in command.asked_hosts:
                context.controls.note_host(host)

    def _list_closed_hosts(self, confinement: Confinement, context: ToolExecutionContext) -> list[str]:
        """The hosts that it asks for and that neither the person nor a rule has opened to it."""
        if self._sandbox is None or context.controls.was_asked:
            return []
        return [each.text for each in confinement.asked_hosts if not self._sandbox.is_host_open(each)]

    async def _runs_on(
        self,
        command: RunningCommand,
        request: _CommandRequest,
        context: ToolExecutionContext,
        jobs: BackgroundJobs,
    ) -> bool:
        """Wait for the command; whether it continues in the background before it has ended.

        One that was asked to do so and ends at once has the result that any has: it may have failed to start.
        """
        if request.background:
            wish: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            timer = asyncio.get_running_loop().call_later(self._settle_secs, wish.set_result, None)
            try:
                return await command.runs_on(wish)
            finally:
                timer.cancel()
        with jobs.allow_detaching(context.call_id) as wish:
            return await command.runs_on(wish) and jobs.has_room

    async def _build_confinement(self, request: _CommandRequest, verdict: ShellVerdict | None) -> Confinement:
        if self._sandbox is None:
            return Confinement()
        if request.outside:
            return await asyncio.to_thread(self._sandbox.confine_outside)
        if request.opens_git:
            return await asyncio.to_thread(self._sandbox.confine_with_git, request.hosts)
        is_read_only = verdict is not None and verdict.is_read_only
        if not is_read_only and changes_repository(request.command):
            return await asyncio.to_thread(self._sandbox.confine_offering_git, request.hosts)
        return await asyncio.to_thread(self._sandbox.confine, request.hosts)

    async def _judge_request(self, request: _CommandRequest) -> ShellVerdict | None:
        return await self._judge(request.command, request.cwd) if self._judge is not None else None

    def _build_environment(self, verdict: ShellVerdict | None) -> dict[str, str]:
        """What the command is given; one that is known only to read is held to that by its environment too."""
        given = build_command_environment(self._inherited, self._secret_names)
        return {**given, **verdict.environment} if verdict is not None else given

    async def _seal(
        self,
        request: _CommandRequest,
        projected: Mapping[str, bytes],
        confinement: Confinement,
        environment: Mapping[str, str],
    ) -> Seal:
        sealed = await asyncio.to_thread(
            seal_command,
            request.command,
            cwd=request.cwd,
            root=self._root,
            inherited=self._inherited,
            environment=environment,
            projected=projected,
            sandbox=confinement.description,
            leaves_sandbox=confinement.is_left,
        )
        return replace(sealed, opened=await asyncio.to_thread(self._find_opened_folders, request))

    def _find_opened_folders(self, request: _CommandRequest) -> tuple[str, ...]:
        """The folders of repositories that it may change, since the person let it or its text says so."""
        is_open = request.opens_git or (self._sandbox is not None and self._sandbox.is_git_open)
        if not is_open and not changes_repository(request.command):
            return ()
        roots = {os.path.realpath(self._root), os.path.realpath(request.cwd)}
        return tuple(sorted({folder for root in roots for folder in find_written_folders(root)}))

    def _request(self, arguments: JsonObject) -> _CommandRequest:
        command = arguments.get("command")
        if not isinstance(command, str) or not command.strip():
            raise ToolError("command must be a text that is not empty")
        working_dir = arguments.get("working_dir")
        if not isinstance(working_dir, str | None):
            raise ToolError("working_dir must be a path; leave it out to run in the workspace root")
        cwd = (
            self._root
            if working_dir is None
            else look_where_we_work(lambda: self._resolve_directory(working_dir))
        )
        if not look_where_we_work(cwd.is_dir):
            raise ToolError(f"working_dir {working_dir or cwd} is not a folder: name one that exists")
        outside = arguments.get("outside_sandbox", False)
        if not isinstance(outside, bool):
            raise ToolError("outside_sandbox must be true or false; leave it out to stay in the sandbox")
        background = arguments.get("background", False)
        if not isinstance(background, bool):
            raise ToolError("background must be true or false")
        if background and self._jobs is None:
            raise ToolError("background commands are not to be had here: leave background out")
        opens_git = arguments.get("opens_git", False)
        if not isinstance(opens_git, bool):
            raise ToolError("opens_git must be true or false; leave it out where .git is not to be changed")
        if outside and opens_git:
            raise ToolError("outside the sandbox .git is open already: leave out opens_git or outside_sandbox")
        return _CommandRequest(
            command=_require_passable(command),
            cwd=cwd,
            timeout_secs=self._read_timeout(arguments, None if background else self._timeout_secs),
            outside=outside,
            background=background,
            opens_git=opens_git,
            hosts=_read_hosts(arguments.get("hosts")),
        )

    def _read_timeout(self, arguments: JsonObject, usual: int | None) -> int | None:
        value = arguments.get("timeout_secs")
        if value is None:
            return usual
        problem = ToolError(f"timeout_secs must be a whole number from 1 to {_MAX_TIMEOUT_SECS}")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise problem
        if not 1 <= value <= _MAX_TIMEOUT_SECS or value % 1:
            raise problem
        return int(value)


def _read_hosts(given: JsonValue) -> tuple[HostPattern, ...]:
    if given is None or given == "":
        return ()
    if not isinstance(given, str):
        raise ToolError("hosts must be a text, in which commas part the names of hosts")
    try:
        return read_hosts(given)
    except BadHost as error:
        raise ToolError(f"hosts: {error}") from error


async def _continue_as_job(
    command: RunningCommand,
    request: _CommandRequest,
    context: ToolExecutionContext,
    jobs: BackgroundJobs,
    *,
    by_person: bool,
) -> Printed:
    """Make a job of a running command; what the model reads of it. Raises LedgerError where that fails."""
    until_now = command.detach(lift_timeout=not request.background)
    offset = command.printed
    job_id = await jobs.adopt(
        command,
        text=request.command,
        context=context,
        by_person=by_person,
        read_until=offset,
        ran_secs=command.ran_secs,
    )
    began = "the person sent it to the background" if by_person else "it runs in the background"
    said = (
        f"{began} as {job_id}: /board and the tool jobs (offset {offset} on) show what it prints, and stop it"
    )
    return Printed("\n".join([*([until_now.text] if until_now.text else []), said]), until_now.styles)


def _require_passable(command: str) -> str:
    """The command, if the system can hand it to a shell at all; else ToolError."""
    if "\0" in command:
        raise ToolError("command contains a NUL character, which no shell can be given: leave it out")
    try:
        size = len(command.encode())
    except UnicodeEncodeError as error:
        raise ToolError(f"command is not valid Unicode at character {error.start}: leave that out") from error
    if size > _MAX_COMMAND_BYTES:
        raise ToolError(
            f"command has {size} bytes and a shell takes {_MAX_COMMAND_BYTES}: write a script file and run that"
        )
    return command


def _build_shell_argv(command: str) -> tuple[str, ...]:
    shell = next((words for words in _SHELLS if os.access(words[0], os.X_OK)), _SHELLS[-1])
    return (*shell, "-c", "--", command)
