"""The list of decisions that wait in any session; each opens in the review dialog, and its answer is sent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from quorum.application.inbox import build_request, build_review_context
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.errors import QuorumError
from quorum.domain.review.person_question import PersonReply, find_question
from quorum.domain.review.questions import Approve, Reject, ReviewAnswer, omit_guard
from quorum.domain.text.amounts import format_age, shorten_home
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.person_question_dialog import PersonQuestionDialog
from quorum.tui.screens.review.dialog import ReviewDialog
from quorum.tui.widgets.colours import QUIET
from quorum.tui.widgets.dialog_parts import ClosesItself, DialogFrame
from quorum.tui.widgets.line_list import LineList, Move

if TYPE_CHECKING:
    from quorum.application.inbox import Inbox
    from quorum.domain.sessions.waiting_review import WaitingReview


class InboxAnswers:
    """Answers what waits, for a screen that lists it. `on_sent` is given a sentence on what became of an
    answer; `clock` is the one that stamps keys."""

    def __init__(
        self,
        screen: Screen[Any],
        inbox: Inbox,
        on_sent: Callable[[str], Awaitable[None]],
        *,
        clock: Callable[[], float],
    ) -> None:
        self._screen, self._inbox, self._on_sent, self._clock = screen, inbox, on_sent, clock

    def open(self, review: WaitingReview) -> None:
        """Show a decision in the review dialog, or a question in its own. Esc there leaves it to wait."""
        seeing = self._inbox.note_seen(review.session.id, review.digest)
        self._screen.run_worker(seeing, group="seen")
        if (question := find_question(review.packet.call)) is not None:
            dialog = PersonQuestionDialog(question, review.digest, clock=self._clock)
            self._screen.app.push_screen(dialog, lambda _is_answered: self._accept_reply(review, dialog.reply))
            return
        self._screen.app.push_screen(
            ReviewDialog(
                build_request(review),
                build_review_context(),
                on_answer=lambda answer: self._accept(review, answer),
                root=review.session.cwd,
                clock=self._clock,
            )
        )

    def _accept(self, review: WaitingReview, answer: ReviewAnswer) -> None:
        match answer:
            case Approve(digest) if digest == review.digest:
                verb = "approved" if review.signing is None else "signed"
                self._send(review, verb, self._inbox.answer(digest, approves=True))
            case Reject(reason):
                answering = self._inbox.answer(review.digest, approves=False, reason=reason)
                self._send(review, "rejected", answering)
            case _:
                return

    def _accept_reply(self, review: WaitingReview, reply: PersonReply | None) -> None:
        if reply is not None:
            self._send(review, "answered", self._inbox.reply(review.digest, reply))

    def _send(
        self, review: WaitingReview, verb: str, answering: Coroutine[object, object, WaitingReview]
    ) -> None:
        self._screen.run_worker(self._answer(review, verb, answering), group="answering")

    async def _answer(
        self, review: WaitingReview, verb: str, answering: Coroutine[object, object, WaitingReview]
    ) -> None:
        try:
            await answering
        except QuorumError as error:
            said = str(error)
        else:
            then = "its process takes the answer" if review.is_open else "it counts when the session is resumed"
            said = f"{verb}: {format_tool_name(review.packet.call.tool_name)}; {then}"
        await self._on_sent(said)


_KEYS = "{inbox_open=enter} opens it · ↑↓ choose · esc closes"
_KEYS_WITHOUT_DECISIONS = "esc closes"
_NONE = "No decision waits in any session."
_DANGER = "bold $text-error"
_READ_SECS = 2.0
_AGE = 12
_WHERE_SHARE = 0.3


def _read_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class InboxScreen(ClosesItself, ModalScreen[None]):
    """Shows the call, where and since when it waits. It is read anew, two seconds after each reading.

    `clock` is the one that stamps keys, `now_ms` the one that stamps events.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open the decision", id="inbox_open"),
        Binding("up,k", "move('up')", "Up", id="inbox_up"),
        Binding("down,j", "move('down')", "Down", id="inbox_down"),
        Binding("pageup", "move('page_up')", "A page up", id="inbox_page_up"),
        Binding("pagedown", "move('page_down')", "A page down", id="inbox_page_down"),
        Binding("escape,q", "dismiss", "Close", id="inbox_close"),
    ]
    DEFAULT_CSS = """
    InboxScreen {
        align: center middle;
        #about { height: 3; margin-top: 1; color: $text-muted; }
        #notice {
            height: auto;
            max-height: 3;
            text-style: bold;
            &.-problem { color: $text-warning; }
        }
        &.-nothing {
            #inbox { height: auto; }
            LineList, #about { display: none; }
        }
    }
    """

    def __init__(
        self,
        inbox: Inbox,
        *,
        clock: Callable[[], float] = time.monotonic,
        now_ms: Callable[[], int] = _read_clock_ms,
        read_secs: float = _READ_SECS,
    ) -> None:
        super().__init__()
        self._read_secs = read_secs
        self._inbox, self._now_ms = inbox, now_ms
        self._rows: tuple[WaitingReview, ...] = ()
        self._said = ""
        self._answers = InboxAnswers(self, inbox, self._show_sent, clock=clock)

    def compose(self) -> ComposeResult:
        """The decisions, and below them all about the marked one."""
        with DialogFrame(id="inbox") as box:
            box.border_title = Content("Decisions that wait")
            yield LineList()
            yield Static(id="about", markup=False)
            yield Static(id="notice", markup=False)

    def on_mount(self) -> None:
        """Read the list, and again as time passes."""
        self.query_one(DialogFrame).name_keys(_KEYS_WITHOUT_DECISIONS)
        self._tell("reading the decisions that wait…")
        self.run_worker(self._keep_reading(), group="reading")

    async def _keep_reading(self) -> None:
        """Each time rests after the one before: of many sessions it takes seconds."""
        while True:
            await self._read()
            await asyncio.sleep(self._read_secs)

    async def _read(self) -> None:
        """Show what waits now; the marked decision stays marked."""
        try:
            rows = await self._inbox.list_waiting()
        except QuorumError as error:
            self._tell(str(error), is_problem=True)
            return
        if not self._is_there:
            return
        kept = self._marked.digest if self._marked is not None else ""
        self._rows = rows
        self.set_class(not rows, "-nothing")
        self.query_one(DialogFrame).name_keys(_KEYS if rows else _KEYS_WITHOUT_DECISIONS)
        place = next((place for place, row in enumerate(rows) if row.digest == kept), 0)
        self.query_one(LineList).show(len(rows), self._render_row, marked=place)
        self._describe()
        self._tell(self._said or ("" if rows else _NONE))

    @property
    def _marked(self) -> WaitingReview | None:
        place = self.query_one(LineList).marked
        return self._rows[place] if place is not None and place < len(self._rows) else None

    def _render_row(self, place: int, width: int) -> Content:
        return render_waiting(self._rows[place], width, self._now_ms())

    @on(LineList.Marked)
    def _describe(self) -> None:
        review = self._marked
        self.query_one("#about", Static).update(describe_waiting(review) if review is not None else Content(""))

    def action_move(self, how: Move) -> None:
        self.query_one(LineList).move(how)

    @on(LineList.LineClicked)
    def _open_clicked(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Show the marked decision in the review dialog."""
        if (review := self._marked) is not None:
            self._answers.open(review)

    async def _show_sent(self, said: str) -> None:
        """Say what became of an answer, and what waits now."""
        self._said = said
        self._tell(said)
        await self._read()

    @property
    def _is_there(self) -> bool:
        """Whether there is still something to draw on: it may be closed while the list is read."""
        return bool(self.query(LineList))

    def _tell(self, text: str, *, is_problem: bool = False) -> None:
        if self._is_there:
            notice = self.query_one("#notice", Static)
            notice.update(Content(make_printable(text)))
            notice.set_class(is_problem, "-problem")


def render_waiting(review: WaitingReview, width: int, now_ms: int) -> Content:
    """The call, where it waits, and for how long, on one line."""
    where = int(width * _WHERE_SHARE)
    call = Content(make_printable(name_call(review), newlines=False))
    place = Content(make_printable(review.session.holder or "not running", newlines=False)).stylize(QUIET)
    age = format_age(review.since_ms, now_ms)
    room = max(0, width - where - _AGE - 2)
    return Content.assemble(
        _fit(call, room), "  ", _fit(place, where), Content(f"{age:>{_AGE}}").stylize(QUIET)
    )


def describe_waiting(review: WaitingReview) -> Content:
    """Who asks and where, the session, and why it is asked, in three lines."""
    session = review.session
    asker = review.packet.asked_by or session.model
    lines = (
        f"{asker} asks in {shorten_home(session.cwd)}",
        f"{session.id} · {session.title or '(no prompt yet)'}",
    )
    return Content("\n").join(
        (*(Content(make_printable(line, newlines=False)) for line in lines), _explain(review))
    )


def _explain(review: WaitingReview) -> Content:
    """Why it is asked: what speaks against the call first, marked as in the review dialog."""
    dangers = (
        Content(f"! {make_printable(omit_guard(each), newlines=False)}").stylize(_DANGER)
        for each in review.dangers
    )
    others = (
        Content(make_printable(each, newlines=False)) for each in review.ordered_reasons[len(review.dangers) :]
    )
    signed = (Content(make_printable(each, newlines=False)) for each in (review.signatures,) if each)
    return Content("; ").join((*signed, *dangers, *others))


def name_call(review: WaitingReview) -> str:
    """The tool, and what it is given first."""
    call = review.packet.call
    named = next((value for value in call.arguments.values() if isinstance(value, str)), "")
    return f"{format_tool_name(call.tool_name)} {named}".strip()


def _fit(content: Content, room: int) -> Content:
    fitted = content.truncate(room, ellipsis=True)
    return fitted + " " * (room - fitted.cell_length)
