"""Recorded sessions as values: which to open, what a list shows, their verification, and which are pruned."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import LedgerError
from quorum.domain.sessions.session_ids import find_owner

if TYPE_CHECKING:  # a list of sessions is shown without loading what may have happened in them
    from quorum.domain.events.event import Event


class NewSession(Struct, frozen=True):
    """`external_agent` is the one that works in it, by its name in the settings; empty: our own."""

    form: SessionKind = SessionKind.AGENT
    external_agent: str = ""


class LatestSession(Struct, frozen=True):
    """Continue the latest session of this folder, or begin one where there is none."""


class NamedSession(Struct, frozen=True):
    """Continue the session of this id, or of the one id that begins so."""

    id: str


class ContinuedSession(Struct, frozen=True):
    """Continue the session with exactly this id, or begin one under this id if there is none."""

    id: str


class PickedSession(Struct, frozen=True):
    """Let the person choose; where nobody is there to choose, it is an error."""


SessionChoice: TypeAlias = NewSession | LatestSession | NamedSession | ContinuedSession | PickedSession


class SessionSummary(Struct, frozen=True, kw_only=True):
    """One session in a list. Times are milliseconds since 1970, UTC.

    `title` is the first prompt on one line, or, as long as there is none, the first command that the person ran
    themselves, after `! `; `cost_usd` is None where nothing with a known price was used;
    `parent` is the session it was forked from; `open_in` is the process that writes it now, if any does,
    and `host` its machine; empty for this one.
    """

    id: str
    title: str
    cwd: str
    model: str
    started_ms: int
    updated_ms: int
    turns: int
    records: int
    cost_usd: Decimal | None = None
    parent: str | None = None
    open_in: int | None = None
    host: str = ""

    @property
    def is_begun(self) -> bool:
        """Whether the person has said or done something in it."""
        return self.turns > 0 or self.title != ""

    @property
    def holder(self) -> str:
        """The process that writes it now and its machine, in words; empty where none does."""
        if self.open_in is None:
            return ""
        return f"process {self.open_in} on {self.host}" if self.host else f"process {self.open_in}"

    @property
    def owner(self) -> str | None:
        """The session that this one's subagent worked for; None for a session that a person began."""
        return find_owner(self.id)


class LedgerRecord(Struct, frozen=True, kw_only=True):
    """One record of a session: its place, counted from 0, its time in milliseconds, and the event.

    `event` is None where the record cannot be understood; `redacted`: something was taken out of it since.
    """

    seq: int
    at_ms: int
    event: Event | None
    redacted: bool = False


def select_own_sessions(listed: Sequence[SessionSummary]) -> tuple[SessionSummary, ...]:
    """Those that a person began: all but those of subagents."""
    return tuple(each for each in listed if each.owner is None)


_DAY_MS = 24 * 3600 * 1000
_LIST_BEGINS = b'{"roots":'
_NAMING_LISTS = frozenset({"files_kept", "goal_set", "goal_checked"})
_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


class Pruned(Struct, frozen=True, kw_only=True):
    """What was removed, or would be: sessions, the number of contents, and the bytes of both.

    `spared` are the sessions that would have gone, but are in use.
    """

    sessions: tuple[SessionSummary, ...] = ()
    spared: tuple[SessionSummary, ...] = ()
    contents: int = 0
    bytes: int = 0


def select_sessions_to_prune(
    listed: Sequence[SessionSummary],
    *,
    older_than_days: float | None,
    keep: int | None,
    ids: Collection[str],
    now_ms: int,
) -> list[SessionSummary]:
    """Select the sessions to prune, the one used last first; see `SessionArchive.prune`.

    Those of subagents go with the one they worked for, and are not counted. Raises LedgerError
    for an id that no session has.
    """
    unknown = set(ids) - {session.id for session in listed}
    if unknown:
        raise LedgerError(f"there is no session {min(unknown)[:70]!a}, so nothing was removed")
    oldest = None if older_than_days is None else now_ms - older_than_days * _DAY_MS
    by_rule = older_than_days is not None or keep is not None
    there = {session.id for session in listed}
    own = [session for session in listed if session.owner not in there]
    chosen = {
        session.id
        for place, session in enumerate(own)
        if by_rule and (oldest is None or session.updated_ms < oldest) and (keep is None or place >= keep)
    }
    chosen.update(ids)
    return [session for session in listed if session.id in chosen or session.owner in chosen]


def find_named_contents(text: bytes) -> set[bytes]:
    """The hashes of contents, 32 bytes each, that a payload or a stored list of files refers to."""
    return {bytes.fromhex(found.decode("ascii")) for found in _HASH.findall(text)}


def is_list_of_files(beginning: bytes) -> bool:
    """Whether a stored content that begins so is a list of files. If a file begins like one, it counts as one:
    then more is spared than need be.
    """
    return beginning.startswith(_LIST_BEGINS)


def find_named_manifests(event_type: str, payload: bytes) -> set[bytes]:
    """The hash of the stored list of files that a record refers to, if it does."""
    if event_type not in _NAMING_LISTS:
        return set()
    try:
        value: Any = json.loads(payload)
        return {bytes.fromhex(value.get("receipt", value)["manifest"])}
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return set()
