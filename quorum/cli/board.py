"""`quorum board`: what waits for the person, what is open and what ended, in all sessions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.cli.inbox import ListInboxOptions, act_on_inbox
from quorum.command_line.command import CliCommand, flag
from quorum.command_line.shared import PLACES

if TYPE_CHECKING:
    from quorum.application.inbox import Inbox, SessionBoard
    from quorum.domain.sessions.session_summary import SessionSummary
    from quorum.domain.text.json_value import JsonObject


def _show(options: ListInboxOptions, root: Path) -> int:
    async def show(inbox: Inbox, build_mask: Callable[[], Callable[[str], str]]) -> None:
        from shutil import get_terminal_size

        from quorum.application.export.session_json import encode_ascii_json, encode_summary
        from quorum.application.inbox import read_board
        from quorum.cli.inbox.report import encode_review

        board = await read_board(inbox, inbox.archive)
        if options.json:
            value: JsonObject = {
                "waiting": [encode_review(review, build_mask()) for review in board.waiting],
                "staged": [encode_summary(session) for session in board.staged],
                "open": [encode_summary(session) for session in board.open],
                "ended": [encode_summary(session) for session in board.ended],
            }
            print(encode_ascii_json(value, indent=1))
        else:
            width = get_terminal_size().columns if sys.stdout.isatty() else None
            print("\n".join(_render(board, build_mask(), width=width)))

    return act_on_inbox(options, root, show)


def _render(board: SessionBoard, mask: Callable[[str], str], *, width: int | None) -> list[str]:
    from quorum.cli.inbox.report import render_inbox
    from quorum.cli.sessions.actions import render_table
    from quorum.infrastructure.wall_clock import read_wall_clock_ms

    now_ms = read_wall_clock_ms()
    among = (*board.staged, *board.open, *board.ended)

    def render_sessions(sessions: Sequence[SessionSummary]) -> list[str]:
        return render_table(sessions, among=among, now_ms=now_ms, width=width, folders=True)

    parts = (
        ("Waits for you", board.waiting and render_inbox(board.waiting, mask, now_ms=now_ms, width=width)),
        *((("Changes wait: quorum staged --all", render_sessions(board.staged)),) if board.staged else ()),
        ("Open in a process", board.open and render_sessions(board.open)),
        ("Ended last", board.ended and render_sessions(board.ended)),
    )
    return [line for heading, lines in parts for line in (heading, *(lines or ["nothing"]), "")][:-1]


COMMAND = CliCommand(
    ListInboxOptions,
    _show,
    summary="List what waits for you, which sessions are open, and which ended last.",
    details="Those of all folders and, in PostgreSQL, of all machines that share the database. quorum inbox "
    "answers what waits, quorum --resume continues a session, quorum sessions stop ends the process that has "
    "one open; in the app, /board does all three.",
    arguments=(flag("--json", help="print them as JSON"), *PLACES),
    examples=(("quorum board --json", "for a script"),),
)
