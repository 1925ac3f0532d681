"""The tool `run_command`: a shell command in the workspace."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from application.calls.whole_outputs import error_with_whole, store_whole
from application.ports.storage import Spill
from domain.calls.execution import ToolExecutionContext
from domain.calls.seal import Seal
from domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from domain.errors import ToolError
from domain.shell.command_line import ShellVerdict, ShellVerdictKind
from domain.text.json_value import JsonObject
from domain.text.output import COMMAND_LIMITS, OutputLimits, Printed, ToolOutput
from infrastructure.execution.commands.account import account
from infrastructure.execution.commands.environment import command_environment
from infrastructure.execution.commands.output import CommandOutput
from infrastructure.execution.commands.process import SupervisedProcess
from infrastructure.execution.commands.progress import LiveOutput
from infrastructure.execution.commands.sealing import require_unchanged, seal_command
from infrastructure.execution.sandbox.confinement import Confinement, Launch
from infrastructure.execution.sandbox.sandbox import Sandbox

Judge: TypeAlias = Callable[[str, Path], Awaitable[ShellVerdict]]

DEFAULT_TIMEOUT_SECS = 60
DEFAULT_OUTPUT_BYTES = 32768
_MAX_COMMAND_BYTES = (1 << 17) - 1
_MAX_TIMEOUT_SECS = 86_400
_SHELLS = (("/bin/bash", "--noprofile", "--norc"), ("/bin/sh",))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    command: str
    cwd: Path
    timeout_secs: int
    outside: bool


class RunCommand:
    """Runs a command in a shell, with null standard input and without our keys, until it and all it started
    have ended.

    `resolve_directory` turns a given working_dir into a folder of the workspace or raises ToolError.
    `secret_names` are variables the command must not see, besides those whose names say so. `sandbox` says what
    each command is held to; without it commands have our rights, and no seal speaks of it. `judge` tells which
    commands only read; without it none is known to. `limits` say how much of an output the model gets.
    """

    def __init__(
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
    ) -> None:
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
        outside = ToolParameter(
            name="outside_sandbox",
            type="boolean",
            description=(
                "Run it outside the sandbox that commands are otherwise kept in, with the network and all that "
                "the person may do. The person is always asked. Only for a command that failed for want of that"
            ),
        )
        return ToolDefinition(
            name="run_command",
            description=(
                "Run a shell command (bash) in the workspace and get what it printed, standard output and "
                "standard error in order, with its exit code. Standard input is empty: nothing can be typed. "
                "Background processes are ended when the command ends."
            ),
            parameters=(
                ToolParameter(name="command", type="string", description="The command line", required=True),
                ToolParameter(
                    name="working_dir",
                    type="path",
                    description="Folder to run it in, inside the workspace (default: the workspace root)",
                ),
                ToolParameter(
                    name="timeout_secs",
                    type="integer",
                    description=f"Seconds after which it is ended (default {self._timeout_secs})",
                    minimum=1,
                ),
                *((outside,) if self._sandbox is not None and self._sandbox.can_be_left else ()),
            ),
            risk=RiskLevel.HIGH,
            inline_bytes=self._limits.inline_bytes,
            summary_bytes=self._limits.summary_bytes,
        )

    def command_of(self, arguments: JsonObject) -> str | None:
        """The shell text that a call would run."""
        command = arguments.get("command")
        return command if isinstance(command, str) else None

    async def judge(self, arguments: JsonObject) -> ShellVerdict | None:
        """What can be told of the command without running it; None where nobody looks, or none could run."""
        try:
            request = self._request(arguments)
            verdict = await self._judge_request(request)
            if self._sandbox is None or (verdict is None and not request.outside):
                return verdict
            if verdict is not None and verdict.is_read_only and not request.outside:
                return verdict
            confinement = await self._confinement(request)
        except ToolError:
            return None
        if confinement.is_left:
            verdict = verdict or ShellVerdict(
                kind=ShellVerdictKind.ASK, reason="nothing here looks at commands"
            )
            return replace(verdict, leaves_sandbox=True)
        if verdict is None or verdict.is_read_only:
            return verdict
        gap = await asyncio.to_thread(self._sandbox.gap)
        return replace(verdict, sandbox_gap=gap, is_confined=confinement.is_closed)

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """The folder, programs, files, environment and sandbox of the command as they are now.

        Raises ToolError for a command or a folder that cannot be used, and where a required sandbox is not
        to be had.
        """
        request = self._request(arguments)
        environment = self._environment(await self._judge_request(request))
        return await self._seal(request, projected, await self._confinement(request), environment)

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> ToolOutput:
        """Run it; the text is what it printed and how it exited, whatever the exit code.

        More than is kept of its output goes whole into the store, where there is one, also if time ran out.

        Raises ToolError, with what was printed until then, where it could not be started, ran out of time or
        got rid of its supervisor, and where a required sandbox is not to be had; StaleSeal where it is no
        longer what was approved. CancelledError passes once nothing of the command is alive.
        """
        request = self._request(arguments)
        confinement = await self._confinement(request)
        if confinement.is_left and not context.controls.was_asked:
            raise ToolError("nothing was run: outside the sandbox only what the person was asked about runs")
        environment = self._environment(await self._judge_request(request))
        if context.controls.seal is not None:
            now = await self._seal(request, {}, confinement, environment)
            require_unchanged(context.controls.seal, now)
        launch = await asyncio.to_thread(
            confinement.launch, _shell_argv(request.command), cwd=request.cwd, environment=environment
        )
        spill = self._open_spill() if self._open_spill is not None else None
        output = CommandOutput(self._max_output_bytes, spill)
        live = LiveOutput(output, context.controls.report)
        try:
            process = SupervisedProcess(
                launch.argv,
                cwd=request.cwd,
                environment=environment,
                timeout_secs=request.timeout_secs,
                on_output=live.feed,
                owner=context.batch_id,
            )
        except OSError as error:
            raise ToolError(f"the command could not be started: {error}") from error
        try:
            try:
                ending = await process.wait()
            finally:
                notes = await _finish(launch, was_asked=context.controls.was_asked)
            ending = replace(ending, ended=launch.background(ending.ended))
            printed = output.close()
            told = account(ending, printed.text, request.timeout_secs, notes)
            told = "\n".join([told, *launch.remarks(ending.exit_code, told)])
            shown = Printed(told, printed.styles)  # what was printed stands in front
        except ToolError as error:
            if spill is None or not output.overflows:
                raise
            raise await asyncio.to_thread(error_with_whole, spill, error) from error
        except BaseException:
            if spill is not None:
                spill.discard()
            raise
        finally:
            live.close()
        if spill is None or not output.overflows:
            return shown
        return await asyncio.to_thread(store_whole, spill, shown)

    async def _confinement(self, request: _Request) -> Confinement:
        if self._sandbox is None:
            return Confinement()
        look = self._sandbox.outside if request.outside else self._sandbox.confinement
        return await asyncio.to_thread(look)

    async def _judge_request(self, request: _Request) -> ShellVerdict | None:
        return await self._judge(request.command, request.cwd) if self._judge is not None else None

    def _environment(self, verdict: ShellVerdict | None) -> dict[str, str]:
        """What the command is given; one that is known only to read is held to that by its environment too."""
        given = command_environment(self._inherited, self._secret_names)
        return {**given, **verdict.environment} if verdict is not None else given

    async def _seal(
        self,
        request: _Request,
        projected: Mapping[str, bytes],
        confinement: Confinement,
        environment: Mapping[str, str],
    ) -> Seal:
        return await asyncio.to_thread(
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

    def _request(self, arguments: JsonObject) -> _Request:
        command = arguments.get("command")
        if not isinstance(command, str) or not command.strip():
            raise ToolError("command must be a text that is not empty")
        working_dir = arguments.get("working_dir")
        if not isinstance(working_dir, str | None):
            raise ToolError("working_dir must be a path; leave it out to run in the workspace root")
        cwd = self._root if working_dir is None else self._resolve_directory(working_dir)
        if not cwd.is_dir():
            raise ToolError(f"working_dir {working_dir or cwd} is not a folder: name one that exists")
        outside = arguments.get("outside_sandbox", False)
        if not isinstance(outside, bool):
            raise ToolError("outside_sandbox must be true or false; leave it out to stay in the sandbox")
        return _Request(
            command=_passable(command), cwd=cwd, timeout_secs=self._timeout(arguments), outside=outside
        )

    def _timeout(self, arguments: JsonObject) -> int:
        value = arguments.get("timeout_secs")
        if value is None:
            return self._timeout_secs
        problem = ToolError(f"timeout_secs must be a whole number from 1 to {_MAX_TIMEOUT_SECS}")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise problem
        if not 1 <= value <= _MAX_TIMEOUT_SECS or value % 1:
            raise problem
        return int(value)


async def _finish(launch: Launch, *, was_asked: bool) -> list[str]:
    """What follows the end of a command; done to its end also where the call is cancelled meanwhile."""
    done = asyncio.ensure_future(asyncio.to_thread(launch.finish, was_asked=was_asked))
    cancellation: asyncio.CancelledError | None = None
    while not done.done():
        try:
            await asyncio.wait([done])
        except asyncio.CancelledError as error:
            cancellation = error
    if cancellation is not None:
        raise cancellation
    return done.result()


def _passable(command: str) -> str:
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


def _shell_argv(command: str) -> tuple[str, ...]:
    shell = next((words for words in _SHELLS if os.access(words[0], os.X_OK)), _SHELLS[-1])
    return (*shell, "-c", "--", command)
