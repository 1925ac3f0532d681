"""`quorum sessions`: what is on record, and what can be done with it."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from quorum.cli.errors import UsageError, complain
from quorum.cli.session_store import SessionStore
from quorum.cli.settings import load
from quorum.options import Options, SessionsOptions

if TYPE_CHECKING:
    from domain.sessions.past_session import SessionSummary

BROKEN = 1
"""The exit code of `verify` where a record does not fit."""


def print_sessions(options: Options, root: Path) -> int:
    """Do what is asked about recorded sessions; the exit code.

    Raises ConfigError, LedgerError and UsageError.
    """
    from domain.errors import DamagedLedger
    from domain.sessions.session_facts import storable
    from infrastructure.storage import open_storage

    settings = load(options, root).settings
    storage = open_storage(settings.storage, os.environ)
    sessions = SessionStore(archive=storage.archive, settings=settings, root=root, cwd=storable(str(root)))
    complain(storage.notices)
    try:
        return asyncio.run(_act(options, sessions))
    except DamagedLedger as damage:
        if options.action == "verify":
            complain([str(damage)])
            return BROKEN
        storage.mend()
        complain(storage.notices[-1:])
        return asyncio.run(_act(options, sessions))
    finally:
        storage.close()


async def _act(options: Options, store: SessionStore) -> int:
    wish = options.sessions
    match options.action:
        case "list":
            return await _list(wish, store)
        case "fork":
            return await _fork(wish, store)
        case "show" | "export" as action:
            from quorum.cli import session_output as session_texts

            return await (session_texts.show if action == "show" else session_texts.export)(wish, store)
        case "verify":
            from quorum.cli.session_checks import verify

            return 0 if await verify(wish, store) else BROKEN
        case action:
            from quorum.cli import session_clearing

            return await (session_clearing.prune if action == "prune" else session_clearing.redact)(wish, store)


async def _list(wish: SessionsOptions, store: SessionStore) -> int:
    shown = (await store.chosen(everywhere=wish.all))[: wish.limit]
    if wish.json:
        from application.export.session_json import ascii_json, summary_json

        print(ascii_json([summary_json(session) for session in shown], indent=1))
    elif not shown:
        complain([store.nothing(everywhere=wish.all)])
    else:
        from quorum.cli.session_table import print_table

        width = get_terminal_size().columns if sys.stdout.isatty() else None
        print_table(shown, await store.chosen(everywhere=True), width=width, folders=wish.all)
    return 0


async def _fork(wish: SessionsOptions, store: SessionStore) -> int:
    session = await store.named(wish.session)
    before = None if wish.before is None else await _beginning(session, wish.before, store)
    print(await store.archive.fork(session.id, before=before))
    return 0


async def _beginning(session: SessionSummary, turn: int, store: SessionStore) -> int:
    """The place of the record with which the turn of this number begins, counted from 1."""
    from domain.events.event import TurnStarted

    records = await store.archive.read(session.id)
    places = [record.seq for record in records if isinstance(record.event, TurnStarted)]
    if turn > len(places):
        turns = f"{len(places)} turn{'' if len(places) == 1 else 's'}"
        raise UsageError(f"the session has {turns}; quorum sessions show {session.id} numbers them")
    return places[turn - 1]
