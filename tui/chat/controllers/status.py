"""What the chat tells beside the transcript: header, status bar, what waits, and what an empty screen says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.widgets import Static

from quorum.domain.text.printable import make_printable
from quorum.tui.agent.turns import Turns
from quorum.tui.chat.controllers.host import ChatHost, CurrentSession
from quorum.tui.chat.header import Header
from quorum.tui.chat.status_bar import Status, StatusBar, StatusLine, encode_session
from quorum.tui.chat.welcome import Welcome
from quorum.tui.keys.keyed_app import READER, does_enter_steer
from quorum.tui.side_panel.plan_line import PlanLine
from quorum.tui.side_panel.side_panel import SidePanel
from quorum.tui.themes.looks import Looks
from quorum.tui.transcript.cells.lines import fit_text
from quorum.tui.transcript.layout.view import TranscriptView

if TYPE_CHECKING:
    from quorum.application.view.entries import Call
    from quorum.tui.session.session import Session

_MOST_LINES = 4
_LONGEST = 500
_MOST_OF_NAME = 40


class WaitingLines(Static):
    """What was sent and has not begun: first what goes into the running turn, then the prompts that wait."""

    DEFAULT_CSS = """
    WaitingLines {
        height: auto;
        padding: 0 1;
        color: $text-muted;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        display: none;
    }
    """

    def show(self, undelivered: tuple[str, ...], prompts: tuple[str, ...]) -> None:
        """Show these, a line each, as many as have room."""
        lines = [
            *(f"↪ goes in next: {text}" for text in undelivered),
            *(f"◔ waits: {text}" for text in prompts),
        ]
        if len(lines) > _MOST_LINES:
            lines[_MOST_LINES - 1 :] = [f"… {len(lines) - _MOST_LINES + 1} more"]
        self.display = bool(lines)
        text = "\n".join(make_printable(line[:_LONGEST], newlines=False) for line in lines)
        if text != self.content:  # each update has the whole screen laid out again
            self.update(text)


class StatusController:
    """Shows the state of the session and its turns in the widgets around the transcript.

    `is_asking`: a question to the person is open.
    """

    def __init__(
        self,
        host: ChatHost,
        current: CurrentSession,
        turns: Turns,
        transcript: TranscriptView,
        panel: SidePanel,
        *,
        workspace: Path,
        is_asking: Callable[[], bool],
    ) -> None:
        self.header = Header(workspace, id="header")
        self.welcome = Welcome(workspace, id="welcome")
        self.plan_line = PlanLine(id="plan-line", markup=False)
        self.waiting_lines = WaitingLines(id="waiting", markup=False)
        self.above_prompt = (self.plan_line, self.waiting_lines)
        self.status_bar = StatusBar(self._build_status, id="status")
        self.status_line = StatusLine(host.tell, id="status-line")
        self._vim_mode = ""
        self._host, self._current, self._turns = host, current, turns
        self._transcript, self._panel = transcript, panel
        self._workspace, self._is_asking = str(workspace), is_asking
        self._closing = False
        self._elsewhere = (0, 0)

    def show_elsewhere(self, waiting: int, running: int) -> None:
        """Show how much waits for the person elsewhere, and runs in the background and in other tabs."""
        if (waiting, running) != self._elsewhere:
            self._elsewhere = (waiting, running)
            self.status_bar.update()

    def tell_closing(self) -> None:
        """Say that the app is about to end."""
        self._closing = True
        self.status_bar.update()

    def use_vim_mode(self, mode: str | None) -> None:
        """Tell the status line of a mode of Vim, None where there are none."""
        self._vim_mode = mode or ""
        self.show()

    def show(self) -> None:
        if (session := self._current.session) is not None:
            facts = session.facts
            in_use = bool(session.agent.record.in_use)
            self.header.show(
                model=session.model_label,
                mode=session.mode_label,
                sandbox=facts.sandbox,
                read_only=in_use,
                asked=" and ".join(session.agent.review.list_asked()),
                error=session.agent.review.describe_error_shortly(),
            )
            self.welcome.show(session, self._host.app.version if isinstance(self._host.app, Looks) else "")
            if facts.used:
                self._panel.show_usage(*session.context, facts.used)
            self.status_line.request(lambda: encode_session(session, self._workspace, self._vim_mode))
        self.show_plan()
        self.waiting_lines.show(self._turns.undelivered, self._turns.prompts)
        self.status_bar.update()

    def show_present(self) -> None:
        """Show what the turn is at, beside the transcript or above the prompt."""
        self._panel.show(self._transcript.session_view)
        self.show_plan()

    def show_plan(self) -> None:
        """Show how far the plan is, while a turn runs and the side panel has no room for it."""
        is_read_out = self._host.app.has_class(READER)  # one column, and no line that changes by itself
        is_shown = self._turns.running and self._panel.lacks_room and not is_read_out
        self.plan_line.show(self._transcript.session_view.present.current_plan if is_shown else ())

    def _build_status(self) -> Status:
        session, turns = self._current.session, self._turns
        facts = session.facts if session is not None else None
        does, elapsed = self._describe_activity() if turns.running else (turns.does, 0.0)
        return Status(
            ready=facts is not None,
            running=turns.running,
            does=does,
            interrupting=turns.interrupting,
            answer_needed=self._is_asking(),
            closing=self._closing,
            elapsed=elapsed,
            waiting=turns.waiting,
            steering=len(turns.undelivered),
            enter_steers=does_enter_steer(self._host.app),
            retry=facts.retry if facts else "",
            can_retry=turns.can_retry,
            enter_continues=turns.does_enter_continue,
            used=facts.used if facts else "",
            context=session.context if session is not None and session.facts.book.turn else (0, 0),
            mode=_describe_mode(session) if session is not None else "",
            below=self._transcript.new_below,
            notice=self._host.notice,
            refuses=bool(self._host.refusal),
            own=turns.own.running,
            own_secs=turns.own.elapsed,
            waits_elsewhere=self._elsewhere[0],
            runs_elsewhere=self._elsewhere[1],
            cost=facts.cost if facts else "",
            label=self.header.label,
        )

    def _describe_activity(self) -> tuple[str, float]:
        """What runs, in a few words, and for how many seconds: the model is waited for, a tool, or the turn.

        The turn's time is without that in which the person was waited for.
        """
        from quorum.application.view.entries import Phase
        from quorum.application.view.turn_timings import measure_waited

        turns, view = self._turns, self._transcript.session_view
        if turns.does != "working":
            return turns.does, turns.elapsed
        now = view.clock()
        running = [call for call in view.present.running if call.since]
        if running:
            name = fit_text(make_printable(_name_running(running[0]), newlines=False), _MOST_OF_NAME)
            others = f" and {len(running) - 1} more" if len(running) > 1 else ""
            return f"{name}{others}", max(
                (end - begin for begin, end in running[0].list_stretches(Phase.RUNNING, now)), default=0.0
            )
        if (since := view.timings.waiting_since) is not None:
            return view.status.reading_share or "waiting for the model", now - since
        if awaited := self._name_awaited_servers():
            return f"waiting for {awaited}", turns.elapsed
        waited = measure_waited(view.timings.turns[-1], now) if view.timings.turns else 0.0
        return turns.does, max(turns.elapsed - waited, 0.0)

    def _name_awaited_servers(self) -> str:
        servers = self._current.session.agent.tool_servers.list_statuses() if self._current.session else ()
        awaited = [make_printable(server.name, newlines=False) for server in servers if server.is_awaited]
        if not awaited:
            return ""
        others = f" and {len(awaited) - 1} more" if awaited[1:] else ""
        return f"MCP server {fit_text(awaited[0], _MOST_OF_NAME)}{others}"


def _name_running(call: Call) -> str:
    """What runs: the program of a command, else the tool."""
    from quorum.domain.calls.server_tools import format_tool_name
    from quorum.domain.calls.tool_traits import find_traits
    from quorum.domain.shell.script import name_main_program

    command = find_traits(call.tool).find_command(call.arguments)
    program = name_main_program(command) if command is not None else ""
    return f"running {program}" if program else format_tool_name(call.tool)


def _describe_mode(session: Session) -> str:
    """The mode, and how often it was wrong, if that is known."""
    return " ".join(filter(None, (session.mode_label, session.agent.review.describe_error_shortly())))
