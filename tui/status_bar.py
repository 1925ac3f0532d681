"""The status bar: what happens now and what can be done about it, in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from tui.transcript.printable import printable


class Status(NamedTuple):
    """What the bar tells. `elapsed` is in seconds; `notice` is a remark that stands until the next key."""

    ready: bool = False
    running: bool = False
    interrupting: bool = False
    answer_needed: bool = False
    closing: bool = False
    elapsed: float = 0.0
    waiting: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    mode: str = ""
    below: str = ""
    notice: str = ""


class StatusBar(Widget):
    """Draws a status, and once a second again while a turn runs; otherwise it rests."""

    def __init__(self, status: Callable[[], Status], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._status = status
        self._ticking: Timer | None = None

    def update(self) -> None:
        """Draw the status of this moment."""
        running = self._status().running
        if running and self._ticking is None:
            self._ticking = self.set_interval(1.0, self.refresh)
        elif not running and self._ticking is not None:
            self._ticking.stop()
            self._ticking = None
        self.refresh()

    def render(self) -> Content:
        """Left what happens, right what has been used; hints that do not fit between are left out."""
        status = self._status()
        left = Content.assemble(" ", self._happening(status))
        used = Content(_usage(status) + " ")
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
    if status.running:
        return ["esc interrupts", *waiting, *below, "enter queues", "ctrl+o details"]
    return [*waiting, *below, "enter sends", "ctrl+j new line", "shift+tab mode", "ctrl+p commands", "? help"]


def _usage(status: Status) -> str:
    if not status.tokens_in and not status.tokens_out:
        return ""
    return f"{_count(status.tokens_in)} in · {_count(status.tokens_out)} out"


def _count(tokens: int) -> str:
    if tokens < 1_000:
        return str(tokens)
    return f"{tokens / 1_000:.1f}k" if tokens < 100_000 else f"{tokens // 1_000}k"


def _duration(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"
