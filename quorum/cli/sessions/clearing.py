"""Sessions deleted, and texts taken out of their records: what cannot be undone."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from quorum.cli.confirmation import confirm
from quorum.cli.sessions import PruneOptions, RedactOptions
from quorum.cli.sessions.actions import print_table
from quorum.domain.sessions.session_summary import Pruned
from quorum.domain.text.amounts import format_amount
from quorum.errors import UsageError, complain
from quorum.infrastructure.session_search import discard_search_index, locate_search_index
from quorum.session_store import SessionStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quorum.domain.sessions.session_summary import SessionSummary

_DAY_MS = 86_400_000


async def prune(wish: PruneOptions, store: SessionStore) -> int:
    """Delete what fits once the person agreed, or said so before; always 0."""
    if wish.older_than is None and wish.keep is None:
        raise UsageError("say what to delete: --older-than DAYS, --keep N, or both")
    sessions = await store.list_chosen(everywhere=wish.all)
    ids = _select_sessions(sessions, wish)
    seen = await store.archive.prune(ids=ids, dry_run=True) if ids else Pruned()
    complain(f"{session.id} is in use and stays" for session in seen.spared)
    before = None if wish.older_than is None else _find_latest_ms(wish)
    cwd = None if wish.all else store.cwd
    unbegun = 0 if before is None else await store.archive.prune_unbegun(before, cwd, dry_run=True)
    if not seen.sessions and not unbegun:
        complain(
            [
                "no session matches, so none is deleted"
                if sessions
                else store.explain_nothing(everywhere=wish.all)
            ]
        )
        return 0
    if seen.sessions:
        shown = [each for each in seen.sessions if each.owner is None]
        print_table(shown, sessions, width=None, folders=wish.all)
    if wish.dry_run:
        complain([f"{_render_amount(seen, unbegun)} would be deleted; nothing was done"])
    elif wish.yes or _is_confirmed(_render_amount(seen, unbegun)):
        if seen.sessions:
            discard_search_index(locate_search_index(os.environ))
            seen = await store.archive.prune(ids=[gone.id for gone in seen.sessions])
        if before is not None:
            unbegun = await store.archive.prune_unbegun(before, cwd)
        complain([f"{_render_amount(seen, unbegun)} deleted"])
    else:
        complain(["nothing was deleted"])
    return 0


def _select_sessions(sessions: Sequence[SessionSummary], wish: PruneOptions) -> list[str]:
    """The ids of what fits every option given. The sessions stand with the one used last first."""
    latest = _find_latest_ms(wish)
    return [
        session.id
        for session in sessions[wish.keep or 0 :]
        if wish.older_than is None or session.updated_ms <= latest
    ]


def _find_latest_ms(wish: PruneOptions) -> int:
    """When what is deleted was used at the latest."""
    return round(time.time_ns() // 1_000_000 - (wish.older_than or 0) * _DAY_MS)


def _is_confirmed(amount: str) -> bool:
    return confirm(
        f"Delete {amount} for good?", otherwise="--yes deletes them without asking, --dry-run only shows them"
    )


def _render_amount(pruned: Pruned, unbegun: int) -> str:
    count, contents = len(pruned.sessions), pruned.contents
    kept = f" with {format_amount(contents, 'stored content')}" if contents else ""
    queued = f" and {unbegun} of a fleet that never began" if unbegun else ""
    return f"{format_amount(count, 'session')}{kept} ({format_amount(pruned.bytes, 'byte')}){queued}"


async def redact(wish: RedactOptions, store: SessionStore) -> int:
    """Take a text out of a session's record: 0 where that was done, 1 where the text is in no record."""
    text = wish.text
    if text == "-":
        text = (sys.stdin.read() if sys.stdin else "").removesuffix("\n")
    if not text.strip():
        raise UsageError("there is no text to remove; name it, or - to read it from stdin")
    session = await store.find_named(wish.session)
    discard_search_index(locate_search_index(os.environ))
    count = await store.archive.redact(session.id, text)
    if not count:
        complain([f"the text is in no record of the session {session.id}"])
        return 1
    complain([f"taken out of {format_amount(count, 'record')}; verify names them from now on"])
    return 0
