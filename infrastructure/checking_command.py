"""Implements the port DiagnosticsCommand: a program run over files, under the supervisor and in the sandbox."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct, field

from quorum.application.cancellation import run_shielded
from quorum.domain.calls.diagnostics import read_lines
from quorum.domain.errors import DiagnosticsFailed, ToolError
from quorum.domain.shell.sandbox import SandboxOn
from quorum.infrastructure.config.program_tables import FILES, DiagnosticsTable
from quorum.infrastructure.execution.commands.process import Ending, SupervisedProcess
from quorum.infrastructure.execution.commands.sealing import (
    expand_declared_command,
    find_declared_program,
)
from quorum.infrastructure.execution.sandbox.confinement import Launch
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox

OUTPUT_BYTES = 1_000_000


class _PrintedStreams(Struct):
    """Both streams of a program, up to a limit together."""

    output: bytearray = field(default_factory=bytearray)
    errors: bytearray = field(default_factory=bytearray)
    overflowed: bool = False

    def add(self, stream: bytearray, data: bytes) -> None:
        self.overflowed = self.overflowed or len(self.output) + len(self.errors) + len(data) > OUTPUT_BYTES
        if not self.overflowed:
            stream += data

    @property
    def lines(self) -> tuple[str, ...]:
        return read_lines(bytes(self.output)) + read_lines(bytes(self.errors))


class CheckingCommand:
    """Runs one program of `[[diagnostics]]`. `argv` may hold `{files}`; the patterns are matched with paths
    relative to `workspace`, which is also where it runs. In the sandbox it has no network."""

    def __init__(
        self,
        name: str,
        patterns: Sequence[str],
        argv: Sequence[str],
        *,
        workspace: Path,
        environment: Mapping[str, str],
        timeout_secs: float = 30.0,
        sandbox: Sandbox | None = None,
    ) -> None:
        self._name = name
        self._patterns = tuple(patterns)
        self._argv = tuple(argv)
        self._workspace = workspace
        self._environment = environment
        self._timeout_secs = timeout_secs
        self._sandbox = sandbox

    @property
    def name(self) -> str:
        return self._name

    async def select_files(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Those of the absolute paths that are files now and match a pattern, sorted."""
        matching = [path for path in paths if self._matches(path)]
        return tuple(sorted(await asyncio.to_thread(_select_existing, matching))) if matching else ()

    def label(self, path: str) -> str:
        """The path relative to the workspace where it is below it, as a program takes it for no option."""
        relative = self._make_relative(path)
        return f"./{relative}" if relative.startswith("-") else relative

    async def run(self, files: Sequence[str]) -> tuple[str, ...]:
        """What it prints, line by line, first its standard output; none where it exits with 0.

        Raises DiagnosticsFailed where it cannot be started, takes too long, prints too much, is killed, makes
        protected paths in the sandbox, or ends with an error and says nothing.
        """
        launch, environment = await asyncio.to_thread(self._launch, tuple(map(self.label, files)))
        printed = _PrintedStreams()
        notes: list[str] = []
        try:
            ending = await self._run(launch, environment, printed)
        finally:
            notes += await run_shielded(asyncio.to_thread(launch.finish, was_asked=False))
        if notes:
            raise DiagnosticsFailed("; ".join(notes))
        if ending.failure is not None:
            raise DiagnosticsFailed(f"{self._argv[0]} could not be started: {ending.failure}")
        if printed.overflowed:
            raise DiagnosticsFailed(f"{self._argv[0]} printed more than {OUTPUT_BYTES:,} bytes")
        if ending.timed_out:
            raise DiagnosticsFailed(f"{self._argv[0]} took longer than {self._timeout_secs:g} s")
        if ending.exit_code is None:
            raise DiagnosticsFailed(f"{self._argv[0]} got rid of its supervisor, and how it ended is not known")
        if ending.exit_code < 0:
            raise DiagnosticsFailed(f"{self._argv[0]} was killed by signal {-ending.exit_code}")
        if ending.exit_code == 0:
            return ()
        if not (lines := printed.lines):
            raise DiagnosticsFailed(f"{self._argv[0]} exited with {ending.exit_code} and printed nothing")
        return lines

    async def _run(self, launch: Launch, environment: Mapping[str, str], printed: _PrintedStreams) -> Ending:
        process: SupervisedProcess | None = None

        def add(stream: bytearray, data: bytes) -> None:
            printed.add(stream, data)
            if printed.overflowed and process is not None:
                process.end()

        try:
            process = SupervisedProcess(
                launch.argv,
                keys=launch.keys,
                cwd=self._workspace,
                environment=environment,
                timeout_secs=self._timeout_secs,
                on_output=lambda data: add(printed.output, data),
                on_errors=lambda data: add(printed.errors, data),
            )
            return await process.wait()
        except OSError as error:
            raise DiagnosticsFailed(f"{self._argv[0]} could not be started: {error}") from error

    def _launch(self, files: Sequence[str]) -> tuple[Launch, Mapping[str, str]]:
        """The program, its arguments and the files, in the sandbox where there is one, and the environment."""
        name, *words = self._argv
        arguments = [part for word in words for part in (files if word == FILES else (word,))]
        sandbox = self._sandbox
        try:
            is_confined = sandbox is not None and isinstance(sandbox.detect_state(), SandboxOn)
            argv, environment = find_declared_program(
                name, arguments, self._environment, cwd=self._workspace, is_confined=is_confined
            )
            if sandbox is None:
                return Launch(argv=argv), environment
            if is_confined:
                return sandbox.wrap(argv, self._workspace, environment, network=False), environment
            sandbox.confine()  # raises where the settings require a sandbox
        except ToolError as error:
            raise DiagnosticsFailed(str(error)) from error
        return Launch(argv=argv), environment

    def _matches(self, path: str) -> bool:
        relative = self._make_relative(path)
        return any(fnmatchcase(relative, pattern) for pattern in self._patterns)

    def _make_relative(self, path: str) -> str:
        root = os.path.realpath(self._workspace)
        return os.path.relpath(path, root) if path.startswith(root.rstrip("/") + "/") else path


def build_checking_commands(
    tables: Sequence[DiagnosticsTable],
    workspace: Path,
    environment: Mapping[str, str],
    sandbox: Sandbox | None = None,
) -> tuple[CheckingCommand, ...]:
    """The enabled commands, in the order of the settings, with the environment that commands get.

    Raises ConfigError that names the table, as `diagnostics[0]`, and the remedy.
    """
    return tuple(
        CheckingCommand(
            table.name,
            (table.pattern,) if isinstance(table.pattern, str) else table.pattern,
            expand_declared_command(table.command, f"diagnostics[{place}]", environment),
            workspace=workspace,
            environment=environment,
            timeout_secs=table.timeout_secs,
            sandbox=sandbox,
        )
        for place, table in enumerate(tables)
        if table.enabled
    )


def _select_existing(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if os.path.isfile(path)]
