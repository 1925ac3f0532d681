"""The dialog that names the background commands which end if the person leaves their session."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from quorum.domain.text.amounts import format_amount, format_duration
from quorum.tui.screens.question_card import QuestionCard
from quorum.tui.transcript.kinds.rows import Line, LineKind, clean_line

if TYPE_CHECKING:
    from quorum.application.view.jobs import JobView


class EndJobsDialog(QuestionCard):
    """Asks whether to leave, which ends these jobs. `now` is by the clock of the jobs, in seconds."""

    HEADING = "End the background commands?"
    REFUSE = ("{end_jobs_refuse=n}", "stay here")
    ACCEPT = ("{end_jobs_accept=y}", "end them")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Leave the session; its background commands end", id="end_jobs_accept"),
        Binding("n,escape", "refuse", "Stay; they keep running", id="end_jobs_refuse"),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="end_jobs_up"),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="end_jobs_down"),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="end_jobs_mark"),
    ]

    def __init__(
        self, jobs: Sequence[JobView], now: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(clock=clock)
        self._rows_of_jobs = [
            (job.job_id, format_duration(job.count_seconds(now)), job.command) for job in jobs
        ]

    def build_lines(self) -> Iterator[Line]:
        """How many there are, and each of them."""
        count = len(self._rows_of_jobs)
        runs, them = ("runs and ends", "it") if count == 1 else ("run and end", "them")
        yield Line(
            "", f"{format_amount(count, 'background command')} {runs} with this session.", LineKind.STRONG
        )
        yield Line("", f"A resumed session does not start {them} again.")
        yield Line("", "")
        for job_id, ran, command in self._rows_of_jobs:
            yield Line(f"{job_id}  ", clean_line(" ".join(command.split())))
            yield Line(" " * (len(job_id) + 2), f"running {ran}", LineKind.QUIET)


def describe_ended_jobs(count: int) -> str:
    """That so many have ended with their session; empty where there were none."""
    if not count:
        return ""
    return f"{format_amount(count, 'background command')} ended with {'its' if count == 1 else 'their'} session"
