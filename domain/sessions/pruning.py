"""Which sessions are pruned because they are old, too many, or named, and which contents records refer to."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct

from quorum.domain.errors import LedgerError
from quorum.domain.sessions.session_summary import SessionSummary

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
