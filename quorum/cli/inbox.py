"""`quorum inbox`: decisions that wait in any session, listed, shown and answered by their digest."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from quorum.errors import UsageError, complain
from quorum.options import InboxOptions, Options
from quorum.session_store import SessionStore
from quorum.settings import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from application.inbox.inbox import Inbox
    from domain.events.event import ReviewDecided
    from domain.sessions.waiting_review import WaitingReview

_TAKEN_WITHIN_SECS = 4.0
_LOOK_SECS = 0.25


def print_inbox(options: Options, root: Path) -> int:
    """Do what is asked about waiting decisions; the exit code.

    Raises ConfigError, LedgerError, and UsageError where a decision does not wait.
    """
    from application.inbox.inbox import Inbox
    from domain.errors import AnswerRefused
    from domain.sessions.session_facts import escape_surrogates
    from infrastructure.answerer import name_answerer
    from infrastructure.storage import open_storage
    from infrastructure.wall_clock import read_wall_clock_ms

    loaded = load(options, root, needs_project=False)
    complain([loaded.left_out] if loaded.left_out else [])
    storage = open_storage(loaded.settings.storage, os.environ)
    complain(storage.notices)
    try:
        store = SessionStore(
            archive=storage.archive,
            contents=storage.contents,
            settings=loaded.settings,
            root=root,
            cwd=escape_surrogates(str(root)),
        )
        inbox = Inbox(storage.archive, storage.answers, clock=read_wall_clock_ms, answered_by=name_answerer())
        return asyncio.run(_act(options.action, options.inbox, inbox, store.build_mask))
    except AnswerRefused as refusal:
        raise UsageError(str(refusal)) from refusal
    finally:
        storage.close()


async def _act(
    action: str, wish: InboxOptions, inbox: Inbox, build_mask: Callable[[], Callable[[str], str]]
) -> int:
    from infrastructure.wall_clock import read_wall_clock_ms
    from quorum.cli.inbox_report import encode_review, render_inbox, render_review

    match action:
        case "list":
            waiting = await inbox.list_waiting()
            if wish.json:
                _print_json([encode_review(review, build_mask()) for review in waiting])
            elif not waiting:
                complain(["no decision waits in any session"])
            else:
                width = get_terminal_size().columns if sys.stdout.isatty() else None
                print("\n".join(render_inbox(waiting, build_mask(), now_ms=read_wall_clock_ms(), width=width)))
        case "show":
            review = await inbox.find(wish.name)
            if wish.json:
                _print_json(encode_review(review, build_mask()))
            else:
                print(render_review(review, build_mask(), now_ms=read_wall_clock_ms()))
        case _:
            review = await inbox.answer(wish.name, approves=action == "approve", reason=wish.reason)
            print(_describe_answer(action, review, await _wait_for_decision(inbox, review)))
    return 0


async def _wait_for_decision(inbox: Inbox, review: WaitingReview) -> ReviewDecided | None:
    """What the session's process made of the answer; None where it has not taken it yet, or there is none."""
    end = time.monotonic() + (_TAKEN_WITHIN_SECS if review.is_open else 0.0)
    while True:
        if (decided := await inbox.find_decision(review)) is not None or time.monotonic() >= end:
            return decided
        await asyncio.sleep(_LOOK_SECS)


def _describe_answer(action: str, review: WaitingReview, decided: ReviewDecided | None) -> str:
    from domain.text.printable import make_printable

    verb = "approved" if action == "approve" else "rejected"
    session = review.session
    if decided is not None:
        because = f": {make_printable(decided.reason, newlines=False)}" if decided.reason else ""
        return f"session {session.id} has recorded: {decided.decision}{because}"
    if review.is_open:
        holder = make_printable(session.holder, newlines=False)
        return f"{verb}; {holder} has session {session.id} and has not taken the answer yet"
    resumed = f"by a worker if a fleet has it, or quorum --resume {session.id}"
    return f"{verb}; the answer counts when the session is resumed: {resumed}"


def _print_json(value: object) -> None:
    import json

    print(json.dumps(value, indent=1))
