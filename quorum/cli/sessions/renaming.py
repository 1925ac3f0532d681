"""`quorum sessions rename`: what lists show of a session, as an event of it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.cli.sessions import RenameOptions
from quorum.errors import UsageError, complain
from quorum.session_store import SessionStore
from quorum.settings import load

if TYPE_CHECKING:
    from quorum.application.ports.storage import Ledger


def rename_session(options: RenameOptions, root: Path) -> int:
    """Record the title; always 0. Raises ConfigError, LedgerError, and UsageError where another process has the
    session."""
    from quorum.application.program_lookup import find_own_command
    from quorum.domain.sessions.session_facts import cut_title, escape_surrogates
    from quorum.domain.sessions.session_summary import NamedSession
    from quorum.infrastructure.storage import open_storage

    loaded = load(options, root, needs_project=False)
    complain([loaded.left_out] if loaded.left_out else [])
    storage = open_storage(loaded.settings.storage, os.environ)
    complain(storage.notices)
    cwd = escape_surrogates(str(root))
    store = SessionStore(
        archive=storage.archive, contents=storage.contents, settings=loaded.settings, root=root, cwd=cwd
    )
    try:
        session = asyncio.run(store.find_named(options.session))
        opened = storage.open_session(NamedSession(session.id), cwd=cwd)
        if opened.ledger is None:
            raise UsageError(f"{opened.in_use}; there, /rename does it")
        asyncio.run(_record(opened.ledger, cut_title(store.build_mask()(options.title))))
    finally:
        storage.close()
    complain([f"session {session.id} is renamed; {find_own_command()} sessions list shows it"])
    return 0


async def _record(ledger: Ledger, title: str) -> None:
    from quorum.domain.events.event import SessionRenamed

    try:
        await ledger.append(SessionRenamed(title=title), urgent=True)
    finally:
        await ledger.aclose()
