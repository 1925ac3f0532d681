"""Recorded sessions as values: which one to open, what a list shows, its records and their verification."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from quorum.domain.conversation.session_kind import SessionKind
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


class Verification(Struct, frozen=True, kw_only=True):
    """What the check of a session's chain came to.

    `broken_at` is the place of the first record that does not fit, with `reason` in words; `newer_at` that of
    the first that only a newer version can verify, with the same where no other is broken. `redacted` are the
    places whose payload was taken out on purpose, and `unrecorded` those of them of which there is no record,
    as earlier versions made them. That a tail was cut off cannot be seen from inside: only by comparing `head`,
    the hash of the last record, and `redaction_head`, that of the last redaction, with those noted elsewhere.
    """

    session_id: str
    records: int
    broken_at: int | None = None
    newer_at: int | None = None
    reason: str = ""
    redacted: tuple[int, ...] = ()
    unrecorded: tuple[int, ...] = ()
    head: str = ""
    redaction_head: str = ""

    @property
    def holds(self) -> bool:
        """Whether every record fits."""
        return self.broken_at is None and self.newer_at is None

    @property
    def flaw(self) -> str:
        """What keeps it from holding, said of the session."""
        if self.broken_at is not None:
            return f"is broken at record {self.broken_at}: {self.reason}"
        return "" if self.newer_at is None else f"cannot be verified: {self.reason}"


def select_own_sessions(listed: Sequence[SessionSummary]) -> tuple[SessionSummary, ...]:
    """Those that a person began: all but those of subagents."""
    return tuple(each for each in listed if each.owner is None)
