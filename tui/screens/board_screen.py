"""The board: what waits for the person, what runs and what has ended, in this app and in other processes."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from quorum.application.inbox import SessionBoard
from quorum.domain.errors import QuorumError
from quorum.domain.text.amounts import format_age, format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyboard_guard import HoldsLetters
from quorum.tui.keys.keyed_app import choose_sign, fill_in_keys
from quorum.tui.screens.inbox_screen import InboxAnswers, describe_waiting, name_call
from quorum.tui.screens.session_picker import describe_session
from quorum.tui.widgets.colours import QUIET
from quorum.tui.widgets.dialog_parts import ClosesItself, DialogFrame
from quorum.tui.widgets.line_list import LineList, Move

if TYPE_CHECKING:
    from quorum.application.inbox import Inbox
    from quorum.domain.sessions.session_summary import SessionSummary
    from quorum.domain.sessions.waiting_review import WaitingReview


GoThere: TypeAlias = Callable[[], Awaitable[None]]
EndHolder: TypeAlias = Callable[[str], Awaitable[None]]

_PART_CELLS, _NAME_CELLS, _STATE_CELLS = 9, 13, 20
_LEAST_TEXT = 24


class BoardSection(Enum):
    """How something stands, in the order of the board: what it is called there, its mark and style."""

    WAITING = ("waits", "!", "bold $text-warning")
    RUNNING = ("runs", "●", "$text-accent")
    RESTING = ("open", " ", QUIET)
    ENDED = ("ended", " ", QUIET)

    @property
    def word(self) -> str:
        """It in a word."""
        return self.value[0]

    @property
    def mark(self) -> str:
        """What stands before that."""
        return f"{self.value[1]} "

    @property
    def style(self) -> str:
        """How it is drawn."""
        return self.value[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRow:
    """One line. `key` tells it from all others; `about` is what there is to say about it in full.

    `review` waits to be answered; else `go` leads to what the line is about. `stop` stops it and returns what
    came of that, in a sentence; where it is a sentence itself, it says why it cannot be stopped. `warning` is
    what else that stops: it is said first, and has to be confirmed.
    """

    part: BoardSection
    key: str
    name: str
    text: str
    state: str
    about: Content
    go: GoThere | None = None
    review: WaitingReview | None = None
    stop: Callable[[], Awaitable[str]] | str = "that has ended already"
    warning: str = ""


def make_lines(*lines: str) -> Content:
    """Lines of text that can be drawn."""
    return Content("\n".join(make_printable(line, newlines=False) for line in lines))


def list_elsewhere(
    board: SessionBoard,
    attach: Callable[[str], GoThere],
    end_holder: EndHolder,
    *,
    cwd: str,
    now_ms: int,
) -> Iterator[BoardRow]:
    """The lines of sessions that are not open in this app. `attach` makes what leads to one, `end_holder` asks
    its process to end; `cwd` is the folder in which it continues."""
    holders = Counter(
        (session.open_in, session.host)
        for session in {review.session.id: review.session for review in board.waiting}.values()
    )
    holders.update((session.open_in, session.host) for session in board.open)

    def warn(session: SessionSummary) -> str:
        count = holders[session.open_in, session.host]
        with_it = "this session" if count == 1 else f"{format_amount(count, 'session')} in it"
        return f"{session.holder} is asked to end, with {with_it}" if session.open_in is not None else ""

    def make_stop(session: SessionSummary) -> Callable[[], Awaitable[str]] | str:
        if session.open_in is None:
            return "no process has it open"

        async def stop() -> str:
            await end_holder(session.id)
            return f"{session.holder} was asked to end"

        return stop

    for review in board.waiting:
        yield BoardRow(
            part=BoardSection.WAITING,
            key=review.digest,
            name="decision",
            text=name_call(review),
            state=format_age(review.since_ms, now_ms),
            about=describe_waiting(review),
            review=review,
            stop=make_stop(review.session),
            warning=warn(review.session),
        )
    for session in (*board.staged, *board.open, *board.ended):
        is_open, is_staged = session.open_in is not None, session in board.staged
        part = BoardSection.RESTING if is_open else BoardSection.ENDED
        if is_staged:
            part = BoardSection.WAITING
        elif session.id in board.at_work:
            part = BoardSection.RUNNING
        about = describe_session(session, now_ms, is_here=session.cwd == cwd, present="")
        yield BoardRow(
            part=part,
            key=session.id,
            name="changes" if is_staged else "session",
            text=session.title,
            state=session.holder if is_open else format_age(session.updated_ms, now_ms),
            about=make_lines(*about.split("\n")),
            go=attach(session.id),
            stop=make_stop(session) if is_open else "that has ended already",
            warning=warn(session),
        )


def render_board_row(row: BoardRow, width: int, mark: str, *, begins_part: bool) -> Content:
    """One line: how it stands, where that differs from the line above; what it is; and since when. `mark`
    stands before how it stands."""
    label = mark + row.part.word if begins_part else ""
    state_cells = _STATE_CELLS if width >= _PART_CELLS + _NAME_CELLS + _LEAST_TEXT + _STATE_CELLS else 0
    room = max(0, width - _PART_CELLS - _NAME_CELLS - state_cells)
    state = Content(make_printable(row.state, newlines=False)).truncate(max(0, state_cells - 1), ellipsis=True)
    return Content.assemble(
        (f"{label:<{_PART_CELLS}}", row.part.style),
        Content(f"{make_printable(row.name, newlines=False):<{_NAME_CELLS}}").truncate(_NAME_CELLS),
        _fit(row.text, room),
        " " * (state_cells - state.cell_length),
        state.stylize(row.part.style),
    )


def _fit(text: str, room: int) -> Content:
    fitted = Content(make_printable(" ".join(text.split()), newlines=False)).truncate(room, ellipsis=True)
    return fitted + " " * (room - fitted.cell_length)


_KEYS = {
    True: "{board_open=enter} answers · {board_stop=s} stops · ↑↓ choose · esc closes",
    False: "{board_open=enter} goes there · {board_stop=s} stops · ↑↓ choose · esc closes",
}
_READ_SECS, _DRAW_SECS = 2.0, 1.0


def _read_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class BoardScreen(HoldsLetters, ClosesItself, ModalScreen[GoThere | None]):
    """Lists what `list_here` finds in this app at each moment, and what `read` finds in all other sessions,
    anew two seconds after each reading. It is left with what leads to the chosen line.

    `attach` makes what leads to a session of an id, `end_holder` asks its process to end; `cwd` is the folder
    in which a session continues; `clock` is the one that stamps keys, `now_ms` the one that stamps events.
    """

    AUTO_FOCUS = ""
    ALONE = frozenset({"stop", "confirm"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Answer the decision, or go to the tab or session", id="board_open"),
        Binding("s,delete", "stop", "Stop what is marked", id="board_stop"),
        Binding("y", "confirm", "End another process, once that was asked", id="board_confirm"),
        Binding("up,k", "move('up')", "Up", id="board_up"),
        Binding("down,j", "move('down')", "Down", id="board_down"),
        Binding("pageup", "move('page_up')", "A page up", id="board_page_up"),
        Binding("pagedown", "move('page_down')", "A page down", id="board_page_down"),
        Binding("escape,q", "dismiss", "Close", id="board_close"),
    ]
    DEFAULT_CSS = """
    BoardScreen {
        align: center middle;
        #about { height: 3; margin-top: 1; color: $text-muted; }
        #notice {
            height: auto;
            max-height: 3;
            text-style: bold;
            display: none;
            &.-problem { color: $text-warning; }
        }
    }
    """

    def __init__(
        self,
        list_here: Callable[[], Iterable[BoardRow]],
        read: Callable[[], Awaitable[SessionBoard]],
        attach: Callable[[str], GoThere],
        end_holder: EndHolder,
        inbox: Inbox,
        *,
        cwd: str,
        clock: Callable[[], float],
        now_ms: Callable[[], int] = _read_clock_ms,
    ) -> None:
        super().__init__()
        self._list_here, self._read, self._attach_to = list_here, read, attach
        self._end_holder = end_holder
        self._warned_of = ""  # the key of the line whose warning waits to be confirmed
        self._cwd, self._now_ms = cwd, now_ms
        self._board = SessionBoard()
        self._rows: tuple[BoardRow, ...] = ()
        self._is_settled = False  # until other sessions are read, or a line is chosen, the first one is marked
        self._answers = InboxAnswers(self, inbox, self._show_sent, clock=clock)

    def compose(self) -> ComposeResult:
        """The lines, and below them all about the marked one."""
        with DialogFrame(id="board") as box:
            box.border_title = Content("Board")
            yield LineList()
            yield Static(id="about", markup=False)
            yield Static(id="notice", markup=False)

    def on_mount(self) -> None:
        """Show what is in this app at once, and the rest once it is read."""
        self._show()
        self.set_interval(_DRAW_SECS, self._show)
        self.run_worker(self._keep_reading(), group="reading")

    async def _keep_reading(self) -> None:
        """Each time rests after the one before: of many sessions it takes seconds."""
        while True:
            await self._read_elsewhere()
            await asyncio.sleep(_READ_SECS)

    async def _read_elsewhere(self) -> None:
        try:
            self._board = await self._read()
        except QuorumError as error:
            self._tell(str(error), is_problem=True)
        self._show()
        self._is_settled = True

    def _show(self) -> None:
        """Show what there is now; the marked line stays marked."""
        if not self.query(LineList):  # it may be closed while other sessions are read
            return
        kept = self._marked.key if self._is_settled and self._marked is not None else ""
        elsewhere = list_elsewhere(
            self._board, self._attach_to, self._end_holder, cwd=self._cwd, now_ms=self._now_ms()
        )
        order = list(BoardSection)
        self._rows = tuple(sorted((*self._list_here(), *elsewhere), key=lambda row: order.index(row.part)))
        place = next((place for place, row in enumerate(self._rows) if row.key == kept), 0)
        self.query_one(LineList).show(len(self._rows), self._render_row, marked=place)
        self._describe()

    @property
    def _marked(self) -> BoardRow | None:
        place = self.query_one(LineList).marked
        return self._rows[place] if place is not None and place < len(self._rows) else None

    def _render_row(self, place: int, width: int) -> Content:
        row = self._rows[place]
        begins_part = place == 0 or self._rows[place - 1].part is not row.part
        return render_board_row(row, width, choose_sign(self.app, row.part.mark), begins_part=begins_part)

    @on(LineList.Marked)
    def _describe(self) -> None:
        row = self._marked
        self.query_one("#about", Static).update(row.about if row is not None else Content(""))
        self.query_one(DialogFrame).name_keys(_KEYS[row is not None and row.review is not None])

    def action_move(self, how: Move) -> None:
        self._is_settled = True
        self._warned_of = ""
        self._tell("")
        self.query_one(LineList).move(how)

    @on(LineList.LineClicked)
    def _open_clicked(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Answer the marked decision, or go to what the marked line is about."""
        if (row := self._marked) is None:
            return
        if row.review is not None:
            self._answers.open(row.review)
        else:
            self.dismiss(row.go)

    def action_stop(self) -> None:
        """Stop what the marked line is about."""
        if (row := self._marked) is None:
            return
        if isinstance(row.stop, str):
            self._tell(row.stop, is_problem=True)
            return
        if row.warning:
            self._warned_of = row.key
            self._tell(fill_in_keys(f"{row.warning}: {{board_confirm=y}} confirms", self.app), is_problem=True)
        else:
            self.run_worker(self._stop(row.stop), group=row.key, exclusive=True)

    def action_confirm(self) -> None:
        """Stop what the marked line is about, if that is what was warned of last."""
        row, warned_of = self._marked, self._warned_of
        self._warned_of = ""
        if row is not None and row.key == warned_of and not isinstance(row.stop, str):
            self.run_worker(self._stop(row.stop), group=row.key, exclusive=True)

    async def _stop(self, stop: Callable[[], Awaitable[str]]) -> None:
        try:
            self._tell(await stop())
        except QuorumError as error:
            self._tell(str(error), is_problem=True)
        self._show()

    async def _show_sent(self, said: str) -> None:
        self._tell(said)
        await self._read_elsewhere()

    def _tell(self, text: str, *, is_problem: bool = False) -> None:
        for notice in self.query("#notice").results(Static):
            notice.set_class(is_problem, "-problem")
            notice.update(Content(make_printable(text)))
            notice.display = bool(text)
