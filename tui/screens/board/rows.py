"""The lines of the board: what each is about, and what can be done with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from textual.content import Content

from quorum.domain.text.ages import format_age
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.inbox.inbox_screen import describe_waiting, name_call
from quorum.tui.screens.session_picker.row import describe_session

if TYPE_CHECKING:
    from quorum.application.inbox.board import SessionBoard
    from quorum.domain.sessions.past_session import SessionSummary
    from quorum.domain.sessions.waiting_review import WaitingReview

GoThere: TypeAlias = Callable[[], Awaitable[None]]
EndHolder: TypeAlias = Callable[[str], Awaitable[None]]

_PART_CELLS, _NAME_CELLS, _STATE_CELLS = 9, 13, 20
_LEAST_TEXT = 24
_QUIET = "$foreground 60%"


class BoardSection(Enum):
    """How something stands, in the order of the board: what it is called there, its mark and style."""

    WAITING = ("waits", "!", "bold $text-warning")
    RUNNING = ("runs", "●", "$text-accent")
    ENDED = ("ended", " ", _QUIET)

    @property
    def label(self) -> str:
        """The mark and the word."""
        word, mark, _style = self.value
        return f"{mark} {word}"

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
    for session in (*board.open, *board.ended):
        is_open = session.open_in is not None
        about = describe_session(session, now_ms, is_here=session.cwd == cwd, present="")
        yield BoardRow(
            part=BoardSection.RUNNING if is_open else BoardSection.ENDED,
            key=session.id,
            name="session",
            text=session.title,
            state=session.holder if is_open else format_age(session.updated_ms, now_ms),
            about=make_lines(*about.split("\n")),
            go=attach(session.id),
            stop=make_stop(session) if is_open else "that has ended already",
            warning=warn(session),
        )


def render_board_row(row: BoardRow, width: int, *, begins_part: bool) -> Content:
    """One line: how it stands, where that differs from the line above; what it is; and since when."""
    label = row.part.label if begins_part else ""
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
