"""The person's own program for the status line: the session as JSON on its input, one line on its output."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from quorum.application.program_lookup import (
    explain_local_package,
    explain_missing,
    filter_environment,
    find_local_package,
    find_program,
    pin_runner,
)
from quorum.domain.errors import QuorumError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.execution.commands.output import CommandOutput
from quorum.infrastructure.execution.commands.process import start_with_payload

TIMEOUT_SECS = 5.0
_MOST_BYTES = 16_000
_LONGEST_LINE = 2_000


class StatusCommandError(QuorumError):
    """The program gave no line; the message says why."""


class StatusCommand:
    """Runs `argv`, a program by name or absolute path and its arguments, in `cwd` with this environment.

    A leading `~` of a part is the home folder.
    """

    def __init__(self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> None:
        self._argv = tuple(os.path.expanduser(part) for part in argv)
        self._cwd, self._environment = cwd, environment

    async def print_line(self, session: JsonObject) -> str:
        """The first line that the program prints, with its sequences for colours.

        Empty where it prints none. Raises StatusCommandError where there is no such program, it exits with
        another code than 0, or takes longer than `TIMEOUT_SECS`. Cancelled, it ends the program.
        """
        name = self._argv[0]
        path = self._environment.get("PATH")
        program = await asyncio.to_thread(find_program, name, path)
        if program is None:
            raise StatusCommandError(await asyncio.to_thread(explain_missing, name, path))
        if local := await asyncio.to_thread(find_local_package, self._argv, str(self._cwd)):
            raise StatusCommandError(explain_local_package(self._argv, local))
        words, settings = pin_runner(self._argv, program, str(self._cwd))
        output, errors = bytearray(), CommandOutput(_MOST_BYTES)

        def feed(data: bytes) -> None:
            output.extend(data[: _MOST_BYTES - len(output)])

        try:
            process = start_with_payload(
                words,
                json.dumps(session, ensure_ascii=False).encode("utf-8", "replace"),
                cwd=self._cwd,
                environment=filter_environment(self._environment) | settings,
                timeout_secs=TIMEOUT_SECS,
                on_output=feed,
                on_errors=errors.feed,
            )
            ending = await process.wait()
        except OSError as error:
            raise StatusCommandError(f"{name} could not be started: {error}") from error
        if ending.failure is not None:
            raise StatusCommandError(f"{name} could not be started: {ending.failure}")
        if ending.timed_out:
            raise StatusCommandError(f"{name} took longer than {TIMEOUT_SECS:g} s")
        if ending.exit_code != 0:
            said = errors.close().text.strip()[-300:]
            raise StatusCommandError(f"{name} exited with {ending.exit_code}{f': {said}' if said else ''}")
        return next(iter(output.decode("utf-8", "replace").splitlines()), "")[:_LONGEST_LINE]
