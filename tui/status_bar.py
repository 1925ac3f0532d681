"""The status bar: what happens now and what can be done about it, in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from tui.transcript.printable import printable


class Status(NamedTuple):
    """What the bar tells. `elapsed` is in seconds; `notice` is a remark that stands until the next key.

    `retry` says what is waited for before a request is sent again; `can_go_on`: the last turn stopped before
    its end.
    """

    ready: bool = False
    running: bool = False
    interrupting: bool = False
    answer_needed: bool = False
    closing: bool = False
    elapsed: float = 0.0
    waiting: int = 0
    retry: str = ""
    can_go_on: bool = False
    used: str = ""
    mode: str = ""
    below: str = ""
    notice: str = ""


class StatusBar(Widget):
    """Draws a status, and once a second again while a turn runs; otherwise it rests."""

    def __init__(self, status: Callable[[], Status], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._status = status
        self._ticking: Timer | None = None
        self._counts_down = False

    def update(self) -> None:
        """Draw the status of this moment."""
        status = self._status()
        running, begins = status.running, bool(status.retry) and not self._counts_down
        self._counts_down = bool(status.retry)
        if self._ticking is not None and (begins or not running):
            self._ticking.stop()
            self._ticking = None
        if running and self._ticking is None:  # a countdown goes by seconds of its own
            self._ticking = self.set_interval(1.0, self.refresh)
        self.refresh()

    def render(self) -> Content:
        """Left what happens, right what has been used; hints that do not fit between are left out."""
        status = self._status()
        left = Content.assemble(" ", self._happening(status))
        used = Content(status.used + " ")
        for hint in _hints(status):
            longer = left + Content(f" · {hint}")
            if longer.cell_length + used.cell_length + 2 > self.size.width:
                break
            left = longer
        gap = self.size.width - left.cell_length - used.cell_length
        return left + Content(" " * gap) + used if gap > 1 else left.truncate(self.size.width, ellipsis=True)

    def _happening(self, status: Status) -> Content:
        loud = "bold $text-accent"
        if status.notice:
            text = Content(printable(status.notice, newlines=False))
            return text.stylize("bold $text-warning")
        if status.closing:
            return Content("closing…").stylize(loud)
        if not status.ready:
            return Content("starting…")
        if status.answer_needed:
            return Content("answer needed").stylize(loud)
        if status.interrupting:
            return Content("interrupting…").stylize(loud)
        if status.retry:
            return Content(status.retry).stylize("bold $text-warning")
        if status.running:
            return Content(f"working {_duration(status.elapsed)}").stylize(loud)
        return Content(status.mode)


def _hints(status: Status) -> list[str]:
    """What can be done now, the most useful first."""
    if status.notice or status.closing:
        return []
    waiting = [f"{status.waiting} waiting (↑ takes back)"] if status.waiting else []
    below = [status.below] if status.below else []
    if status.answer_needed:
        return ["pgup and pgdn scroll the transcript", *waiting]
    if status.interrupting:
        return waiting
    if status.retry:
        return ["esc stops", "/model switches", *waiting, *below]
    if status.running:
        return ["esc interrupts", *waiting, *below, "enter queues", "ctrl+o details"]
    again = ["/retry goes on"] if status.can_go_on else []
    keys = ["enter sends", "ctrl+j new line", "shift+tab mode", "ctrl+p commands", "? help"]
    return [*waiting, *below, *again, *keys]


def _duration(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"
