"""A line below the status bar that a program of the person's fills."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace  # noqa: TID251 - loaded before the first paint
from typing import TYPE_CHECKING

from textual.strip import Strip
from textual.widget import Widget

from quorum.tui.themes.looks import Looks, PrintStatusLine
from quorum.tui.transcript.cells.palette import TERMINAL

if TYPE_CHECKING:
    from quorum.domain.text.json_value import JsonObject
    from quorum.tui.session.session import Session

PAUSE_SECS = 0.3
"""The least time between two runs of the program."""


class StatusLine(Widget):
    """Shows what the program prints; it is not there until there is something.

    `report` is called once with why the program fails, and again only after it worked.
    """

    DEFAULT_CSS = """
    StatusLine { height: 1; padding: 0 1; display: none; }
    """

    def __init__(self, report: Callable[[str], None], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._report = report
        self._wanted: JsonObject | None = None
        self._shown: JsonObject | None = None
        self._line = ""
        self._problem = ""

    def request(self, session: Callable[[], JsonObject]) -> None:
        """Run the program soon where anything has changed since; a run that is under way is let end first."""
        app = self.app
        if not self.is_mounted or not isinstance(app, Looks) or app.print_status_line is None:
            return
        wanted = session()
        if wanted in (self._wanted, self._shown):
            return
        is_running, self._wanted = self._wanted is not None, wanted
        if not is_running:
            self.run_worker(self._follow(app.print_status_line), group="status line")

    async def _follow(self, print_line: PrintStatusLine) -> None:
        from quorum.domain.errors import QuorumError

        while (session := self._wanted) is not None:
            try:
                line, problem = await print_line(session), ""
            except QuorumError as error:
                line, problem = "", f"tui.statusline: {error}"
            self._shown = session
            self._show(line, problem)
            await asyncio.sleep(PAUSE_SECS)
            if self._wanted is session:
                self._wanted = None

    def _show(self, line: str, problem: str) -> None:
        if problem and problem != self._problem:
            self._report(problem)
        self._problem = problem
        if line != self._line:
            self._line = line
            self.display = bool(line.strip())
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line in the colours that the program asks for; all else it prints is made harmless."""
        from quorum.tui.transcript.kinds.terminal import draw_live

        palette = replace(TERMINAL, dark=self.app.current_theme.dark)
        strips = draw_live([self._line], self.size.width, palette) if self._line else []
        return (strips[0] if strips else Strip.blank(self.size.width)).apply_style(self.rich_style)


def encode_session(session: Session, folder: str, mode: str) -> JsonObject:
    """What the program is given, with the field names that status lines of Claude Code read.

    `folder` is the working directory, `mode` that of Vim, empty without. What is not known is null.
    """
    facts = session.facts
    tokens, window = session.context
    provider, _, model = facts.model.partition("/")
    total = facts.book.total
    used = round(100 * tokens / window) if window else None
    return {
        "hook_event_name": "Status",
        "session_id": session.agent.session_id,
        "session_name": facts.title,
        "cwd": folder,
        "model": {"id": model, "display_name": model, "provider": provider, "effort": facts.effort or None},
        "workspace": {"current_dir": folder, "project_dir": folder},
        "cost": {"total_cost_usd": None if total.cost_usd is None else float(total.cost_usd)},
        "context_window": {
            "total_input_tokens": total.usage.input + total.usage.cache_read + total.usage.cache_write,
            "total_output_tokens": total.usage.output,
            "context_window_size": window or None,
            "used_percentage": used,
            "remaining_percentage": None if used is None else max(0, 100 - used),
        },
        "review_mode": facts.mode,
        "sandbox": {"sandbox on": True, "sandbox off": False}.get(facts.sandbox),
        "vim": {"mode": mode.upper()} if mode else None,
    }
