"""`quorum sessions anchor`, and what `quorum sessions verify` compares with the anchors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.cli.sessions import AnchorOptions
from quorum.domain.errors import LedgerError
from quorum.domain.replacing import replace
from quorum.domain.sessions.stored_session import Anchor, anchor_session, explain_cut
from quorum.errors import UsageError, complain
from quorum.infrastructure.audit.anchor_file import add_anchors, locate_anchors, read_anchors, render_anchor
from quorum.infrastructure.wall_clock import read_wall_clock_ms
from quorum.session_store import SessionStore

if TYPE_CHECKING:
    from quorum.application.ports.storage import SessionArchive
    from quorum.domain.sessions.ledger_chain import Verification


async def print_anchors(wish: AnchorOptions, store: SessionStore) -> int:
    """Print the anchors of sessions, and add them to the file of this machine and the one named; always 0.

    Raises LedgerError that names the sessions that do not hold, once all others are anchored.
    """
    sessions = await store.archive.list_sessions() if wish.all else [await store.find_named(wish.session)]
    anchors: list[Anchor] = []
    broken: list[str] = []
    for session in sessions:
        stored = await store.archive.read_stored(session.id)
        if (checked := stored.verify()).holds:
            anchors.append(anchor_session(stored, at_ms=read_wall_clock_ms()))
        else:
            broken.append(f"the session {session.id} {checked.flaw}; it is not anchored")
    files = [file for file in (locate_anchors(os.environ), wish.file) if file is not None]
    for file in files if anchors else ():
        add_anchors(file, anchors)
    for anchor in anchors:
        print(render_anchor(anchor))
    if not sessions:
        complain([store.explain_nothing(everywhere=True)])
    elif anchors and wish.file is None:
        complain(["whoever can write here can write both: keep the lines above elsewhere, too"])
    if broken:
        raise LedgerError("; ".join(broken))
    return 0


@dataclass(frozen=True, slots=True)
class AnchorComparison:
    """The anchors noted on this machine, and those `named` in a file that was kept elsewhere."""

    noted: tuple[Anchor, ...]
    named: tuple[Anchor, ...]

    @classmethod
    def open(cls, file: Path | None) -> AnchorComparison:
        """Read both. Raises ConfigError for a line that is no anchor, UsageError for no file."""
        own = locate_anchors(os.environ)
        if file is not None and not file.exists():
            raise UsageError(f"{file} does not exist; quorum sessions anchor -o FILE writes such a file")
        return cls(read_anchors(own) if own is not None else (), read_anchors(file) if file is not None else ())

    async def check(self, checked: Verification, archive: SessionArchive) -> Verification:
        """What the check of a session's chain comes to with its anchors."""
        anchors = self._list_anchors(checked.session_id)
        if checked.broken_at is not None or not anchors:
            return checked
        stored = await archive.read_stored(checked.session_id)
        for anchor in anchors:
            if reason := explain_cut(anchor, stored):
                return replace(checked, broken_at=min(len(stored.chain), anchor.records), reason=reason)
        return checked

    def describe(self, checked: Verification) -> Iterator[str]:
        """How many anchors a session was compared with, where it holds."""
        if checked.holds and (count := len(self._list_anchors(checked.session_id))):
            yield f"  it holds all that {count:,} anchor{'' if count == 1 else 's'} of it noted"

    def list_gone(self, present: Sequence[str]) -> tuple[str, ...]:
        """The sessions of the file kept elsewhere that are not there any more.

        Those noted on this machine do not count: `prune` deletes sessions for good.
        """
        here = frozenset(present)
        return tuple(dict.fromkeys(each.session_id for each in self.named if each.session_id not in here))

    def _list_anchors(self, session_id: str) -> tuple[Anchor, ...]:
        return tuple(each for each in (*self.noted, *self.named) if each.session_id == session_id)
