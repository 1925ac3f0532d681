"""The tool `run_command`: a shell command in the workspace."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from domain.errors import BlobError, ToolError
from domain.execution import ToolExecutionContext
from domain.json_value import JsonObject
from domain.output import Spilled, ToolOutput
from domain.seal import Seal
from domain.tool import RiskLevel, ToolDefinition, ToolParameter
from infrastructure.blobs.spill import Spill
from infrastructure.commands.account import account
from infrastructure.commands.environment import command_environment
from infrastructure.commands.output import CommandOutput
from infrastructure.commands.process import WardedProcess
from infrastructure.commands.progress import LiveOutput
from infrastructure.commands.sealing import require_unchanged, seal_command

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


# Longer outputs are kept aside: a model seldom needs more than the beginning and the end of a log.
_INLINE_BYTES = 12_000


class RunCommand:
    """Runs a command in a shell, with null standard input and without our keys, until it and all it started
    have ended.

    `resolve_directory` turns a given working_dir into a folder of the workspace or raises ToolError.
    `secret_names` are variables the command must not see, besides those whose names say so.
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
        open_spill: Callable[[], Spill] | None = None,
    ) -> None:
        self._open_spill = open_spill
        self._root = root
        self._resolve_directory = resolve_directory
        self._timeout_secs = timeout_secs
        self._max_output_bytes = max_output_bytes
        self._secret_names = frozenset(secret_names)
        self._inherited = inherited

    @property
    def definition(self) -> ToolDefinition:
        """High risk, and alone while it runs: nobody can tell what a command touches."""
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
            ),
            risk=RiskLevel.HIGH,
            inline_bytes=_INLINE_BYTES,
        )

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """The folder, programs, files and environment of the command as they are now.

        Raises ToolError for a command or a folder that cannot be used.
        """
        return await self._seal(self._request(arguments), projected)

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str | ToolOutput:
        """Run it; the text is what it printed and how it exited, whatever the exit code.

        More than is kept of its output goes whole into the store, where there is one.

        Raises ToolError, with what was printed until then, where it could not be started, ran out of time or
        got rid of its warden; StaleSeal where it is no longer what was approved. CancelledError passes once
        nothing of the command is alive.
        """
        request = self._request(arguments)
        if context.controls.seal is not None:
            require_unchanged(context.controls.seal, await self._seal(request, {}))
        spill = self._open_spill() if self._open_spill is not None else None
        output = CommandOutput(self._max_output_bytes, spill)
        live = LiveOutput(output, context.controls.report)
        try:
            process = WardedProcess(
                _shell_argv(request.command),
                cwd=request.cwd,
                environment=command_environment(self._inherited, self._secret_names),
                timeout_secs=request.timeout_secs,
                on_output=live.feed,
            )
        except OSError as error:
            raise ToolError(f"the command could not be started: {error}") from error
        try:
            ending = await process.wait()
            told = account(ending, output.close(), request.timeout_secs)
        except BaseException:
            if spill is not None:
                spill.discard()
            raise
        finally:
            live.close()
        if spill is None or not output.overflows:
            return told
        return await asyncio.to_thread(_spilled, spill, told)

    async def _seal(self, request: _Request, projected: Mapping[str, bytes]) -> Seal:
        return await asyncio.to_thread(
            seal_command,
            request.command,
            cwd=request.cwd,
            root=self._root,
            inherited=self._inherited,
            secret_names=self._secret_names,
            projected=projected,
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
        return _Request(command=_passable(command), cwd=cwd, timeout_secs=self._timeout(arguments))

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


def _spilled(spill: Spill, told: str) -> str | ToolOutput:
    try:
        blob_id = spill.keep()
    except BlobError as error:
        return f"{told}\nthe whole output: {error}"
    return Spilled(blob_id=blob_id, text=told, lines=spill.lines, size_bytes=spill.size_bytes)


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
