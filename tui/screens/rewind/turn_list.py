"""The screen that lists the turns of a session, to go back to before one of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen

from quorum.domain.calls.effects import pair_renames
from quorum.domain.sessions.restoration import find_git_folder
from quorum.domain.sessions.state import PastTurn
from quorum.domain.text.amounts import format_age, format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.rewind.file_plan_screen import TakeBack
from quorum.tui.screens.rewind.restore_screen import RestoreScreen
from quorum.tui.widgets.colours import QUIET
from quorum.tui.widgets.dialog_parts import ClosesItself, DialogFrame
from quorum.tui.widgets.line_list import LineList, Move

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession

_FILES, _AGE = 12, 10


def _read_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class TurnList(ClosesItself, ModalScreen[None]):
    """The turns that were not taken back, newest first; Enter shows what going back to before one would change.

    `now_ms` is the clock that stamps turns.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move('up')", "Later turn", id="turns_up"),
        Binding("down,j", "move('down')", "The turn before", id="turns_down"),
        Binding("pageup", "move('page_up')", "A page up", show=False, id="turns_page_up"),
        Binding("pagedown", "move('page_down')", "A page down", show=False, id="turns_page_down"),
        Binding("home", "move('first')", "The last turn", show=False, id="turns_first"),
        Binding("end", "move('last')", "The first turn", show=False, id="turns_last"),
        Binding("enter", "choose", "Show what undoing would change", id="turns_choose"),
        Binding("escape,q", "dismiss", "Close, nothing changed", id="turns_leave"),
    ]
    DEFAULT_CSS = """
    TurnList {
        align: center bottom;
        #turns {
            width: 100;
            height: auto;
            max-height: 90%;
        }
        LineList { height: auto; }
    }
    """

    def __init__(
        self, agent: AgentSession, take_back: TakeBack, *, cwd: str, now_ms: Callable[[], int] = _read_clock_ms
    ) -> None:
        super().__init__()
        self._agent, self._take_back, self._cwd, self._now_ms = agent, take_back, cwd, now_ms
        self._turns = [turn for turn in reversed(agent.rewind.turns) if not turn.undone]
        self._is_over = False

    def compose(self) -> ComposeResult:
        with DialogFrame(id="turns") as box:
            box.border_title = Content("Go back to before…")
            box.name_keys("enter shows what would change · esc leaves")
            yield LineList()

    def on_mount(self) -> None:
        """The newest turn is marked."""
        turns = self.query_one(LineList)
        turns.styles.height = min(len(self._turns), 30)
        turns.show(len(self._turns), self._render_row)

    def _render_row(self, place: int, width: int) -> Content:
        turn = self._turns[place]
        room = max(0, width - _FILES - _AGE)
        said = make_printable(turn.prompt, newlines=False) or "(continued the previous turn)"
        prompt = Content(said).truncate(room, ellipsis=True)
        told = [change for change in turn.changes if change.declared or not change.ignored]
        changed = {change.path for change, _old in pair_renames(told)}
        count = sum(find_git_folder(path) is None for path in changed)
        files = format_amount(count, "file") if count else ""
        right = f"{files:>{_FILES}}{format_age(turn.at_ms, self._now_ms()):>{_AGE}}"
        return prompt + " " * (room - prompt.cell_length) + Content(right).stylize(QUIET)

    def action_move(self, how: Move) -> None:
        self.query_one(LineList).move(how)

    def action_choose(self) -> None:
        """Show what going back to before the marked turn would change."""
        if (place := self.query_one(LineList).marked) is not None:
            self._show(self._turns[place])

    @on(LineList.LineClicked)
    def _on_clicked(self, message: LineList.LineClicked) -> None:
        self._show(self._turns[message.place])

    def _show(self, turn: PastTurn) -> None:
        screen = RestoreScreen(self._agent, turn, self._take_back, cwd=self._cwd)
        self.app.push_screen(screen, self._on_rewound)

    def _on_rewound(self, is_done: bool | None) -> None:
        self._is_over = bool(is_done)
        self._close_when_over()

    def on_screen_resume(self) -> None:
        """A screen is only left from the top."""
        self._close_when_over()

    def _close_when_over(self) -> None:
        if self._is_over:
            self.dismiss()
