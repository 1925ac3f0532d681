"""A subagent that works on while its owner does, as one of the owner's jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from quorum.application.subagents.subagent_progress import SubagentProgress, describe_call
from quorum.domain.calls.job import JobPage, JobResult
from quorum.domain.events.event import CallStarted, Event, ResponseCompleted
from quorum.domain.events.report import RunStatus
from quorum.domain.events.subagents import SubagentOutcome
from quorum.domain.text.output import Printed

_MOST_CHARS = 200_000
_LONGEST_REPORT = 16_000
_SHOWN_OF_LONG = 8_000
_INTERRUPTED = SubagentOutcome(status=RunStatus.INTERRUPTED, text="")


class BackgroundSubagent:
    """Implements `BackgroundCommand`: what it prints is what it says and which calls it makes, line by line."""

    def __init__(self) -> None:
        self._progress = SubagentProgress()
        self._report: Callable[[Printed], None] | None = None
        self._log, self._dropped, self._shown = "", 0, ""
        self._work: asyncio.Task[SubagentOutcome] | None = None

    def carry_out(self, work: asyncio.Task[SubagentOutcome]) -> None:
        """This is what it does."""
        self._work = work

    def apply(self, event: Event) -> None:
        """Something happened in its session."""
        match event:
            case CallStarted():
                self._add(f"{describe_call(event.tool, event.arguments)}\n")
            case ResponseCompleted(response=response) if text := response.text_content().strip():
                self._add(f"{text}\n")
            case _:
                pass
        self._progress.apply(event)
        if (sentence := self._progress.sentence) != self._shown and self._report is not None:
            self._shown = sentence
            self._report(Printed(sentence))

    def _add(self, text: str) -> None:
        self._log += text
        if (too_many := len(self._log) - _MOST_CHARS) > 0:
            self._log, self._dropped = self._log[too_many:], self._dropped + too_many

    def follow(self, report: Callable[[Printed], None]) -> None:
        self._report = report

    def read_page(self, offset: int | None, most: int) -> JobPage:
        printed = self._dropped + len(self._log)
        start = max(0, printed - most) if offset is None else offset
        start = min(max(start, self._dropped), printed)
        text = self._log[start - self._dropped :][:most]
        return JobPage(text=text, start=start, end=start + len(text), printed=printed, kept_from=self._dropped)

    async def inspect(self) -> tuple[str, ...]:
        """Nothing: each of its calls is reviewed by itself."""
        return ()

    def end(self) -> None:
        if self._work is not None:
            self._work.cancel()

    async def wait_for_result(self) -> JobResult:
        assert self._work is not None
        try:
            await asyncio.wait({self._work})
        except asyncio.CancelledError:
            self.end()
            await asyncio.wait({self._work})
            raise
        is_cut_short = self._work.cancelled()  # before it had begun
        outcome = _INTERRUPTED if is_cut_short else self._work.result()
        report = outcome.message
        is_long = len(report) > _LONGEST_REPORT
        shown = f"{report[:_SHOWN_OF_LONG]}\n…" if is_long else report
        return JobResult(
            exit_code=None, output=report, last_lines=shown, is_cut=is_long, has_answered=outcome.is_answer
        )
