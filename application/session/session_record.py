"""Where a session is recorded, and what was recorded of it when it was opened."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property

from msgspec import Struct

from quorum.application.ports.storage import ContentStore, Ledger, SessionArchive, Storage
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import ConfigError
from quorum.domain.events.agents import AgentConnected
from quorum.domain.events.event import Event, SessionStarted
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.secrets.patterns import MASK
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.text.amounts import format_amount


class SessionRecord(Struct, frozen=True, kw_only=True, dict=True):
    """The record of one session among all others.

    `ledger` is None if another process writes it: `in_use` then says so, with the remedy, and the session
    is read-only. `records` is what happened before, `notices` are sentences for the user. `release` closes
    everything, `storage` too; it raises LedgerError if something could not be written. `outlives` tells
    whether another process can resume it; `begun_as` is the form of a session that has no records
    yet, and `begun_with` the agent of another vendor that is to work in it, if any. `watch_outages` has its
    argument called, in any thread, with a sentence when a server is waited for, until `release`.
    """

    session_id: str
    ledger: Ledger | None
    storage: Storage
    release: Callable[[], Awaitable[None]]
    records: tuple[LedgerRecord, ...] = ()
    notices: tuple[str, ...] = ()
    in_use: str = ""
    outlives: bool = True
    begun_as: SessionKind = SessionKind.AGENT
    begun_with: str = ""
    watch_outages: Callable[[Callable[[str], None]], None] = lambda _tell: None

    @property
    def place(self) -> str:
        """Where the record is kept, as people read it: a file or an address without its password."""
        return self.storage.place

    @property
    def archive(self) -> SessionArchive:
        """All sessions, this one among them."""
        return self.storage.archive

    @property
    def contents(self) -> ContentStore:
        return self.storage.contents

    @cached_property
    def form(self) -> SessionKind:
        """What the session is for, since its beginning."""
        if self.external_agent:
            return SessionKind.EXTERNAL
        started = (record.event for record in self.records if isinstance(record.event, SessionStarted))
        return next((event.form for event in started), self.begun_as)

    @property
    def external_agent(self) -> str:
        """The agent of another vendor that works in it, by its name in the settings; empty: none."""
        return self.connected.agent if self.connected is not None else self.begun_with

    def check_front_end(self, *, brings_agent: bool) -> None:
        """Raises ConfigError where an agent of another vendor works in it, and the front end brings none."""
        if (agent := self.external_agent) and not brings_agent and not self.in_use:
            raise ConfigError(
                f"the agent {agent} works in the session {self.session_id}: continue it in the app, or with "
                f"quorum agent {agent} --resume {self.session_id}"
            )

    @cached_property
    def connected(self) -> AgentConnected | None:
        """How that agent began, when it did last."""
        events = (record.event for record in reversed(self.records))
        return next((event for event in events if isinstance(event, AgentConnected)), None)

    @property
    def past(self) -> tuple[Event, ...]:
        """What had happened before the session was opened, oldest first."""
        return tuple(record.event for record in self.records if record.event is not None)

    @property
    def past_at(self) -> tuple[int, ...]:
        """When each event of the past happened, in milliseconds since 1970."""
        return tuple(record.at_ms for record in self.records if record.event is not None)


def mask_record(record: SessionRecord, mask: SecretMask, notices: Sequence[str]) -> SessionRecord:
    """The record as people may see it: without the secrets that are known by now, and with more to say."""
    shown, hidden = mask_late_secrets(record.records, mask, record.session_id)
    return replace(record, records=shown, notices=(*record.notices, *((hidden,) if hidden else ()), *notices))


def mask_late_secrets(
    records: Sequence[LedgerRecord], mask: SecretMask, session_id: str
) -> tuple[tuple[LedgerRecord, ...], str]:
    """The records as they may be shown now, and a sentence about those that hold what is known by now to be a
    secret; empty where none does. What is on disk stays as it is."""
    shown: list[LedgerRecord] = []
    pairs: list[tuple[Event, Event]] = []
    for record in records:
        if (event := record.event) is not None and (masked := mask.mask_known_in_event(event)) is not event:
            pairs.append((event, masked))
            record = replace(record, event=masked)
        shown.append(record)
    if not pairs:
        return tuple(records), ""
    names = sorted(set().union(*(_collect_words(masked) - _collect_words(event) for event, masked in pairs)))
    count = format_amount(len(pairs), "record")
    holds = "hold" if len(pairs) > 1 else "holds"
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return tuple(shown), (
        f"{count} of this session {holds} what was not known to be a secret then ({listed}); it is hidden, and "
        f"`quorum sessions redact {session_id} -` takes it out of the file"
    )


def _collect_words(event: Event) -> set[str]:
    return set(MASK.findall(json.dumps(event.to_json(), ensure_ascii=False)))
