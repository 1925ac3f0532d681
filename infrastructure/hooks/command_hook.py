"""A hook that is a program: JSON on its standard input, its answer on its standard output and exit code."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from quorum.application.calls.hooks import HookSubject, UniformHook, edit, encode_subject, find_point
from quorum.domain.calls.hook import AnyAnswer, Continue, HookPoint, Skip, describe_point
from quorum.domain.errors import HookFailure, ToolError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.execution.commands.declared_program import find_declared_program
from quorum.infrastructure.execution.commands.fed_process import start_with_payload
from quorum.infrastructure.execution.commands.output import CommandOutput
from quorum.infrastructure.execution.commands.process import Ending, SupervisedProcess
from quorum.infrastructure.execution.sandbox.confinement import Confinement, Launch
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.hooks.command_answer import CommandAnswer, read_answer

OUTPUT_BYTES = 1_000_000
_ERROR_BYTES = 4_000
_SKIP = 2


class _Printed(Struct):
    """Standard output up to its limit, and the end of standard error."""

    output: bytearray = field(default_factory=bytearray)
    errors: CommandOutput = field(default_factory=lambda: CommandOutput(_ERROR_BYTES))
    overflowed: bool = False

    def feed(self, data: bytes) -> None:
        self.overflowed = self.overflowed or len(self.output) + len(data) > OUTPUT_BYTES
        if not self.overflowed:
            self.output += data


class CommandHook(UniformHook):
    """Runs a program at each of its points, in `cwd`, with this environment and under a supervisor, and where
    one is given in a sandbox.

    `argv` is a program by name or absolute path, and its arguments. A run that takes longer than
    `timeout_secs`, or is cancelled, is ended with all it started. `answer` raises HookFailure where the
    program could not be run, broke off, or answered something its point does not know.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        timeout_secs: float = 30.0,
        sandbox: Sandbox | None = None,
    ) -> None:
        self._argv = tuple(argv)
        self._cwd = cwd
        self._environment = environment
        self._timeout_secs = timeout_secs
        self._sandbox = sandbox

    async def answer(self, subject: HookSubject) -> AnyAnswer:
        """Sends the subject; what comes back with Continue is put in its place."""
        given = await self._run_command(find_point(subject), encode_subject(subject))
        answer = given.answer()
        if isinstance(answer, Continue) and given.carried is not None:
            edit(subject, given.carried)
        return answer

    async def _run_command(self, point: HookPoint, subject: JsonObject) -> CommandAnswer:
        payload = json.dumps({"event": point.value, **subject}, ensure_ascii=False).encode("utf-8", "replace")
        printed = _Printed()
        ending = await self._run(payload, printed)
        errors = printed.errors.close().text.strip()
        if ending.failure is not None:
            raise HookFailure(f"{self._argv[0]} could not be started: {ending.failure}")
        if printed.overflowed:
            raise HookFailure(
                f"{self._argv[0]} printed more than {OUTPUT_BYTES:,} bytes; print the answer only"
            )
        if ending.timed_out:
            raise HookFailure(f"{self._argv[0]} took longer than {self._timeout_secs:g} s")
        if ending.exit_code == 0:
            return read_answer(bytes(printed.output), point)
        if ending.exit_code == _SKIP and Skip in describe_point(point).answers:
            return CommandAnswer(decision="skip", reason=errors)
        raise HookFailure(f"{self._argv[0]} {_describe_ending(ending, point)}{f': {errors}' if errors else ''}")

    async def _run(self, payload: bytes, printed: _Printed) -> Ending:
        launch, environment = await asyncio.to_thread(self._launch)
        process: SupervisedProcess | None = None

        def feed(data: bytes) -> None:
            printed.feed(data)
            if printed.overflowed and process is not None:
                process.end()

        try:
            with start_with_payload(
                launch.argv,
                payload,
                cwd=self._cwd,
                environment=environment,
                timeout_secs=self._timeout_secs,
                on_output=feed,
                on_errors=printed.errors.feed,
                keys=launch.keys,
            ) as process:
                return await process.wait()
        except OSError as error:
            raise HookFailure(f"{self._argv[0]} could not be started: {error}") from error

    def _launch(self) -> tuple[Launch, Mapping[str, str]]:
        """The command line, in its sandbox, and its environment. Raises HookFailure where there is none."""
        name, *words = self._argv
        try:
            confinement = self._sandbox.confine() if self._sandbox is not None else Confinement()
            program, environment = find_declared_program(
                name, self._environment, cwd=self._cwd, is_confined=confinement.is_confined
            )
        except ToolError as error:
            raise HookFailure(str(error)) from error
        return confinement.launch((program, *words), cwd=self._cwd, environment=environment), environment


def _describe_ending(ending: Ending, point: HookPoint) -> str:
    if ending.exit_code is None:
        return "got rid of its supervisor, and how it ended is not known"
    if ending.exit_code < 0:
        return f"was killed by signal {-ending.exit_code}"
    if ending.exit_code == _SKIP:
        return f"exited with {_SKIP}, which means skip, and there is nothing to skip at {point}"
    return f"exited with {ending.exit_code}"
