"""The SDK's client, made to leave nothing open behind a process that ended."""

from __future__ import annotations

import contextlib
import subprocess

from copilot import CopilotClient


class TidyClient(CopilotClient):
    """Closes the pipes of its process, however that comes to its end; the SDK leaves them to the collector."""

    async def stop(self) -> None:
        """Ask the process to go. Raises ExceptionGroup of StopError."""
        process = self._cli_process
        try:
            await super().stop()
        finally:
            _close_pipes(process)

    async def force_stop(self) -> None:
        """Kill the process. Raises OSError or subprocess.TimeoutExpired."""
        process = self._cli_process
        try:
            await super().force_stop()
        finally:
            _close_pipes(process)


def _close_pipes(process: subprocess.Popen[bytes] | None) -> None:
    if process is None or process.poll() is None:
        return
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):  # what was still to be written has no reader any more
                pipe.close()
