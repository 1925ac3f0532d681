"""The background commands: a list from which each can be stopped, and a dialog before leaving ends them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from quorum.domain.errors import ToolError
from quorum.domain.text.amounts import format_amount, format_duration
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyboard_guard import HoldsLetters
from quorum.tui.keys.keyed_app import fill_in_keys
from quorum.tui.screens.question_card import QuestionCard
from quorum.tui.transcript.kinds.rows import Line, LineKind, clean_line
from quorum.tui.widgets.colours import QUIET
from quorum.tui.widgets.dialog_parts import ChoiceList, ClosesItself, DialogFrame

if TYPE_CHECKING:
    from quorum.application.background_jobs import BackgroundJobs
    from quorum.application.view.present import JobView, JobViews


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


_KEYS = "{jobs_stop=s} stops it · ↑↓ choose · esc closes"
_KEYS_WITHOUT_JOBS = "esc closes"
_NONE = "No command was sent to the background. {toggle_panel=ctrl+b} sends the one there that runs."
_LIVE_SECS = 1 / 4
_NAME_CELLS = 8


class JobsScreen(HoldsLetters, ClosesItself, ModalScreen[None]):
    """Shows name, state, time, command and last line of each job. It is drawn anew while one runs."""

    AUTO_FOCUS = ""
    ALONE = frozenset({"stop"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s,delete", "stop", "Stop the selected background command", id="jobs_stop"),
        Binding("up,k", "move('up')", "Up", id="jobs_up"),
        Binding("down,j", "move('down')", "Down", id="jobs_down"),
        Binding("pageup", "move('page_up')", "A page up", id="jobs_page_up"),
        Binding("pagedown", "move('page_down')", "A page down", id="jobs_page_down"),
        Binding("escape,q", "dismiss", "Close", id="jobs_close"),
    ]
    DEFAULT_CSS = """
    JobsScreen {
        align: center middle;
        #none { display: none; height: auto; color: $text-muted; }
        &.-empty #jobs { height: auto; }
        &.-empty ChoiceList, &.-empty #command { display: none; }
        &.-empty #none { display: block; }
        #command { height: auto; max-height: 6; color: $text-muted; margin-top: 1; }
        #notice { display: none; height: auto; max-height: 3; text-style: bold; color: $text-warning; }
    }
    """

    def __init__(self, views: JobViews, jobs: BackgroundJobs, *, clock: Callable[[], float]) -> None:
        super().__init__()
        self._views, self._jobs, self._clock = views, jobs, clock
        self._rows: Sequence[JobView] = ()

    def compose(self) -> ComposeResult:
        """The jobs, and below them all of the command line of the one that is marked."""
        with DialogFrame(id="jobs") as box:
            box.border_title = Content("Background commands")
            yield Static(fill_in_keys(_NONE, self.app), id="none", markup=False)
            yield ChoiceList()
            yield Static(id="command", markup=False)
            yield Static(id="notice", markup=False)

    def on_mount(self) -> None:
        """Draw them, and again as time passes."""
        self._take_rows()
        self.set_interval(_LIVE_SECS, self._refresh)

    def on_resize(self, event: events.Resize) -> None:
        """Draw the lines anew for another width."""
        self.call_after_refresh(self._draw)

    def _take_rows(self) -> None:
        """Go by the jobs of this moment: without any there is no list, and no key for one."""
        self._rows = self._views.all
        self.set_class(not self._rows, "-empty")
        self.query_one(DialogFrame).name_keys(_KEYS if self._rows else _KEYS_WITHOUT_JOBS)

    def _refresh(self) -> None:
        if any(row.is_running for row in self._rows) or self._rows != self._views.all:
            self._draw()

    def _draw(self) -> None:
        listed = self.query_one(OptionList)
        kept, width, now = listed.highlighted, max(20, listed.size.width - 1), self._clock()
        self._take_rows()
        listed.set_options(Option(render_job(job, width, now)) for job in self._rows)
        if self._rows:
            newest = len(self._rows) - 1
            listed.highlighted = newest if kept is None else min(kept, newest)
        marked = self._marked
        self.query_one("#command", Static).update(Content(make_printable(marked.command if marked else "")))

    @property
    def _marked(self) -> JobView | None:
        place = self.query_one(OptionList).highlighted
        return self._rows[place] if place is not None and place < len(self._rows) else None

    def action_move(self, how: str) -> None:
        self.query_one(ChoiceList).move(how)
        self._draw()

    def action_stop(self) -> None:
        """Stop the marked job, with all it started."""
        if (job := self._marked) is None:
            return
        if not job.is_running:
            self._say(f"{job.job_id} has ended already")
            return
        self._say(f"stopping {job.job_id} …")
        self.run_worker(self._stop(job.job_id), group=job.job_id, exclusive=True)

    async def _stop(self, job_id: str) -> None:
        try:
            self._say(await self._jobs.stop_by_id(job_id))
        except ToolError as error:
            self._say(str(error))
        self._draw()

    def _say(self, text: str) -> None:
        notice = self.query_one("#notice", Static)
        notice.update(Content(make_printable(text)))
        notice.display = bool(text)


def render_job(job: JobView, width: int, now: float) -> Content:
    """Two lines: which job and its command; and how it stands and what it printed last."""
    state = f"running {format_duration(job.count_seconds(now))}" if job.is_running else job.ending
    style = "$text-success" if job.is_running else QUIET
    command = make_printable(" ".join(job.command.split()), newlines=False)
    head = Content.assemble((f"  {job.job_id:<{_NAME_CELLS}}", "bold"), command)
    said = make_printable(job.last_line, newlines=False)
    last = Content.assemble(" " * (2 + _NAME_CELLS), (state, style), (f" · {said}" if said else "", QUIET))
    return Content("\n").join([head.truncate(width, ellipsis=True), last.truncate(width, ellipsis=True)])
