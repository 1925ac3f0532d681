"""The screen on which a session is picked, each on one line with what else there is to say about it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from quorum.domain.errors import QuorumError
from quorum.domain.sessions.session_summary import SessionSummary, select_own_sessions
from quorum.domain.text.amounts import format_age, format_amount, shorten_home
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.accounts.spending import format_dollars
from quorum.tui.widgets.colours import QUIET
from quorum.tui.widgets.dialog_parts import ClosesItself, DialogFrame, QueryInput
from quorum.tui.widgets.line_list import LineList, Move

if TYPE_CHECKING:
    from quorum.tui.agent.opening import OpenArchive


# Each with two blanks before the longest: "1,234 turns", "$0.00041", "59 min ago".
_TURNS, _COST, _AGE = 13, 10, 12
_FOLDER_SHARE = 0.24
_LEAST_TITLE = 20


def render_row(
    session: SessionSummary,
    width: int,
    now_ms: int,
    *,
    is_here: bool,
    everywhere: bool,
    has_costs: bool = True,
) -> Content:
    """Title, folder where all are shown, turns, cost, and when it was used last; `•`: one of this folder.

    Without `has_costs` no session has a cost, and none has room for it. Where the title would have too little
    room, there is no cost, and if need be no number of turns.
    """
    folder_room = int(width * _FOLDER_SHARE) if everywhere else 0
    columns = {"turns": _TURNS, "cost": _COST if has_costs else 0}
    title_room = width - folder_room - sum(columns.values()) - _AGE - 2
    for name in ("cost", "turns"):  # what tells sessions apart least makes room for what does most
        if title_room < _LEAST_TITLE:
            title_room += columns.pop(name)
    title_room = max(0, title_room)
    sign = "• " if everywhere and is_here else "  "
    title = _fit(make_printable(session.title, newlines=False) or "(no prompt yet)", title_room)
    place = _fit_right(make_printable(shorten_home(session.cwd), newlines=False), folder_room)
    cost = format_dollars(session.cost_usd) if session.cost_usd is not None else ""
    texts = {"turns": format_amount(session.turns, "turn"), "cost": cost}
    counts = "".join(f"{texts[name]:>{cells}}" for name, cells in columns.items())
    if session.open_in is not None:
        when = Content(f"{'open now':>{_AGE}}").stylize("bold $text-warning")
    else:
        when = Content(f"{format_age(session.updated_ms, now_ms):>{_AGE}}").stylize(QUIET)
    return Content.assemble((sign, "$text-accent"), title, place.stylize(QUIET), (counts, QUIET), when)


def describe_session(session: SessionSummary, now_ms: int, *, is_here: bool, present: str) -> str:
    """Model, beginning, id and folder, and what opening it comes to where that is not plain."""
    facts = [
        session.model,
        f"begun {format_age(session.started_ms, now_ms)}",
        session.id,
        shorten_home(session.cwd),
    ]
    return "\n".join((" · ".join(facts), _describe_consequence(session, is_here=is_here, present=present)))


def _describe_consequence(session: SessionSummary, *, is_here: bool, present: str) -> str:
    if session.id == present:
        return "this is the session you are in"
    if session.open_in is not None:
        return f"open in {session.holder}: here it can be read and forked"
    return "" if is_here else "of another folder: it continues in this one"


def _fit(text: str, room: int) -> Content:
    content = Content(text).truncate(room, ellipsis=True)
    return content + " " * (room - content.cell_length)


def _fit_right(text: str, room: int) -> Content:
    """What names a folder best is its end."""
    content = Content(text)
    while text and content.cell_length > room - 2:
        text = text[1:]
        content = Content("…" + text)
    return Content(" " * (room - content.cell_length)) + content if room else Content("")


_HINT = "type to search titles, folders and models"


def _read_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class SessionPicker(ClosesItself, ModalScreen[str | None]):
    """Lists the sessions of this folder, and those of all folders where that is wanted or here are none.

    It is left with the id of a session, or with None. `present` is the id of the session the person is in;
    `leaving` says what leaving it without a choice comes to; `now_ms` is the clock that stamps sessions.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move('up')", "Up", show=False, id="sessions_up"),
        Binding("down", "move('down')", "Down", show=False, id="sessions_down"),
        Binding("pageup", "move('page_up')", "A page up", show=False, id="sessions_page_up"),
        Binding("pagedown", "move('page_down')", "A page down", show=False, id="sessions_page_down"),
        Binding("ctrl+home", "move('first')", "To the first", show=False, id="sessions_first"),
        Binding("ctrl+end", "move('last')", "To the last", show=False, id="sessions_last"),
        Binding("tab", "toggle_folders", "This folder or all folders", priority=True, id="sessions_folders"),
        Binding("escape", "leave", "Leave", id="sessions_leave"),
    ]
    DEFAULT_CSS = """
    SessionPicker {
        align: center middle;
        #about {
            height: 2;
            margin-top: 1;
            color: $text-muted;
            text-wrap: nowrap;
            text-overflow: ellipsis;
        }
    }
    """

    def __init__(
        self,
        open_archive: OpenArchive,
        *,
        cwd: str,
        present: str = "",
        leaving: str = "esc leaves",
        now_ms: Callable[[], int] = _read_clock_ms,
    ) -> None:
        super().__init__()
        self._open_archive, self._present, self._leaving = open_archive, present, leaving
        self._cwd, self._now_ms = cwd, now_ms
        self._register: Register | None = None
        self._everywhere = False
        self._rows: list[SessionSummary] = []

    def compose(self) -> ComposeResult:
        """What is typed, what fits it, and what there is to say about the marked one."""
        with DialogFrame(id="sessions") as box:
            box.border_title = Content("Sessions")
            yield QueryInput(placeholder=_HINT)
            yield LineList()
            yield Static(id="about", markup=False)

    def on_mount(self) -> None:
        """Read the list while the person may already type."""
        self._tell("reading the list of sessions…")
        self._name_keys()
        self.run_worker(self._read(), group="reading")

    async def _read(self) -> None:
        try:
            archive = await self._open_archive()
            sessions = select_own_sessions(await archive.list_sessions())
        except QuorumError as error:
            self._tell(str(error))
            return
        self._register = Register(sessions, self._cwd)
        self._everywhere = self._register.here == 0
        self._show()

    def _show(self) -> None:
        """Draw what fits; the first one is marked."""
        if self._register is None:
            return
        query = self.query_one(Input).value
        self._rows = self._register.find_fitting(query, everywhere=self._everywhere)
        self._name_keys()
        self.query_one(LineList).show(len(self._rows), self._render_row)

    def _render_row(self, place: int, width: int) -> Content:
        session, register = self._rows[place], self._register
        is_here = register is not None and register.is_here(session)
        return render_row(
            session,
            width,
            self._now_ms(),
            is_here=is_here,
            everywhere=self._everywhere,
            has_costs=any(each.cost_usd is not None for each in self._rows),
        )

    @on(LineList.Marked)
    def _describe_marked(self) -> None:
        if self._register is None:
            return
        place = self.query_one(LineList).marked
        if place is None:
            self._tell(self._explain_nothing(self._register))
            return
        session = self._rows[place]
        is_here = self._register.is_here(session)
        self._tell(describe_session(session, self._now_ms(), is_here=is_here, present=self._present))

    def _explain_nothing(self, register: Register) -> str:
        if not register.everywhere:
            return "there is no session yet"
        if self._everywhere:
            return "no session matches"
        return "no session of this folder matches; tab searches all folders"

    def _name_keys(self) -> None:
        register = self._register
        box = self.query_one(DialogFrame)
        shown = f" · {len(self._rows):,}" if register is not None else ""
        box.border_title = Content(f"Sessions of {'all folders' if self._everywhere else 'this folder'}{shown}")
        other = "this folder only" if self._everywhere else "all folders"
        box.name_keys(f"enter opens · {{sessions_folders=tab}} {other} · {self._leaving}")

    # -- keys ---------------------------------------------------------------------------------------------

    @on(Input.Changed)
    def _on_typed(self, message: Input.Changed) -> None:
        message.stop()
        self._show()

    def action_move(self, how: Move) -> None:
        self.query_one(LineList).move(how)

    def action_toggle_folders(self) -> None:
        """Show the sessions of all folders, or of this one."""
        if self._register is not None:
            self._everywhere = not self._everywhere
            self._show()

    @on(Input.Submitted)
    def _on_entered(self, message: Input.Submitted) -> None:
        message.stop()
        if (place := self.query_one(LineList).marked) is not None:
            self.dismiss(self._rows[place].id)

    @on(LineList.LineClicked)
    def _on_clicked(self, message: LineList.LineClicked) -> None:
        self.dismiss(self._rows[message.place].id)

    def action_leave(self) -> None:
        """Choose none."""
        self.dismiss(None)

    def _tell(self, text: str) -> None:
        self.query_one("#about", Static).update(Content(make_printable(text)))


class Register:
    """Every session with a turn, the one used last first, and which of them are of the folder `cwd`."""

    def __init__(self, sessions: Sequence[SessionSummary], cwd: str) -> None:
        self._cwd = cwd
        begun = [one for one in sessions if one.turns]  # in others there is nothing to continue with
        here = [one for one in begun if one.cwd == cwd]
        elsewhere = [one for one in begun if one.cwd != cwd]
        self._searched = [(_join_searchable(one), one) for one in (*here, *elsewhere)]
        self.here, self.everywhere = len(here), len(self._searched)

    def is_here(self, session: SessionSummary) -> bool:
        """Whether a session is of this folder."""
        return session.cwd == self._cwd

    def find_fitting(self, query: str, *, everywhere: bool) -> list[SessionSummary]:
        """Those with every word of the query in title, folder, model or id; upper and lower case are alike."""
        words = query.casefold().split()
        among = self._searched if everywhere else self._searched[: self.here]
        return [session for text, session in among if all(word in text for word in words)]


def _join_searchable(session: SessionSummary) -> str:
    return "\n".join(
        (session.title, shorten_home(session.cwd), session.cwd, session.model, session.id)
    ).casefold()
