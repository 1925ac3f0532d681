"""Showing what a command prints while it prints it, without drowning whoever watches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from quorum.domain.text.output import Printed
from quorum.infrastructure.execution.commands.output import CommandOutput

_EVERY_SECS = 0.1
_LINES = 10
_CHARS = 2000


class LiveOutput:
    """Takes a command's output and reports its last lines, ten times a second at most.

    Each report is the whole of what is to be seen now: it replaces the one before.
    """

    def __init__(self, output: CommandOutput, report: Callable[[Printed], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._output = output
        self._report = report
        self._reported = Printed("")
        self._next_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    def follow(self, report: Callable[[Printed], None]) -> None:
        """From now on this gets the reports, and at once what there is to see."""
        self._report, self._reported = report, Printed("")
        if self._timer is None:
            self._timer = self._loop.call_at(self._next_at, self._show)

    def feed(self, data: bytes) -> None:
        self._output.feed(data)
        if self._timer is None:
            self._timer = self._loop.call_at(self._next_at, self._show)

    def close(self) -> None:
        """Show at once what is not shown yet; nothing is reported afterwards."""
        if self._timer is not None:
            self._timer.cancel()
            self._show()

    def _show(self) -> None:
        self._timer = None
        self._next_at = self._loop.time() + _EVERY_SECS
        lines = self._output.read_last_lines(_LINES, _CHARS)
        if lines.text and lines != self._reported:
            self._reported = lines
            self._report(lines)
