"""Everything that outlives a process, kept in memory: the whole port, written with the domain's rules alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import assert_never

from quorum.application.identifiers import generate_id
from quorum.application.ports.storage import BlobStore, OpenedSession, RequestRate
from quorum.domain.errors import LedgerError, SessionInUse
from quorum.domain.events.event import Event, ReviewRequested, TurnFinished
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.sessions.ledger_chain import (
    NO_LINK,
    ChainedRecord,
    RedactionEntry,
    Verification,
    chain_record,
    declare_format,
    encode_payload,
    fork_records,
)
from quorum.domain.sessions.redaction import check_redactable, redact_name, redact_records
from quorum.domain.sessions.session_facts import StoredSessionFacts, collect_facts, escape_surrogates
from quorum.domain.sessions.session_summary import (
    ContinuedSession,
    LatestSession,
    LedgerRecord,
    NamedSession,
    NewSession,
    PickedSession,
    Pruned,
    SessionChoice,
    SessionSummary,
    find_named_contents,
    find_named_manifests,
    is_list_of_files,
    select_sessions_to_prune,
)
from quorum.domain.sessions.stored_session import StoredSession, find_session
from tests.support.fake_answers import FakeAnswers
from tests.support.fake_blob_store import FakeBlobStore
from tests.support.fake_contents import FakeContents
from tests.support.fake_ledger import FakeLedger


class FakePacer:
    """Keeps buckets as the rule says. Its clock stands still."""

    def __init__(self) -> None:
        self.tokens: dict[str, float] = {}

    async def reserve(self, provider: str, rate: RequestRate) -> float:
        self.tokens[provider] = self.tokens.get(provider, rate.burst) - 1
        return rate.compute_wait(self.tokens[provider])


class FakeStorage:
    """Implements `Storage`. Each asking of the default clock is a millisecond later than the one before."""

    def __init__(self, clock: Callable[[], int] | None = None) -> None:
        self.notices: tuple[str, ...] = ()
        self.place = "in memory"
        self.clock = clock or count(1_700_000_000_000).__next__
        self.contents = FakeContents(self.clock)
        self.answers = FakeAnswers()
        self.pacer = FakePacer()
        self.archive = FakeSessions(self.contents, self.answers, self.clock)
        self._blobs = FakeBlobStore()

    def open_blobs(self, mask: SecretMask | None = None) -> BlobStore:
        return FakeBlobStore(self._blobs.contents, mask)

    def open_session(self, choice: SessionChoice, *, cwd: str, fork: bool = False) -> OpenedSession:
        match choice:
            case NewSession():
                return self.archive.begin(cwd)
            case LatestSession():
                here = [
                    each
                    for each in self.archive.list_blocking()
                    if each.cwd == escape_surrogates(cwd) and each.is_begun
                ]
                if not here:
                    return self.archive.begin(cwd, f"There is no session of {cwd} to continue.")
                return self.archive.resume(here[0].id, fork=fork)
            case NamedSession(name):
                return self.archive.resume(find_session(name, self.archive.list_blocking()).id, fork=fork)
            case ContinuedSession(session_id):
                if session_id in {each.id for each in self.archive.list_blocking()}:
                    return self.archive.resume(session_id, fork=False)
                return self.archive.begin(cwd, session_id=session_id)
            case PickedSession():
                raise ValueError("a session must be picked before it is opened")
            case _:
                assert_never(choice)

    def mend(self) -> None:
        """Memory is never damaged."""

    def close(self) -> None:
        """Nothing is held."""


@dataclass
class _Session:
    id: str
    facts: StoredSessionFacts
    parent: str | None = None
    updated_ms: int = 0
    chain: list[ChainedRecord] = field(default_factory=list)
    redactions: list[RedactionEntry] = field(default_factory=list)
    ledger: FakeLedger | None = None
    opened_ms: int = 0

    @property
    def is_open(self) -> bool:
        return self.ledger is not None and not self.ledger.closed

    def add(self, event: Event, now_ms: int) -> None:
        """Record an event."""
        value = event.to_json()
        before = self.chain[-1].link if self.chain else NO_LINK
        self.updated_ms = max(now_ms, self.updated_ms)
        record = chain_record(
            self.id,
            before,
            seq=len(self.chain),
            at_ms=self.updated_ms,
            event_type=event.type,
            payload=encode_payload(declare_format(value)),
        )
        self.chain.append(record)
        self.facts = self.facts.after(value)

    def summary(self) -> SessionSummary:
        """What a list shows."""
        return SessionSummary(
            id=self.id,
            title=self.facts.title,
            cwd=self.facts.cwd,
            model=self.facts.model,
            started_ms=self.chain[0].at_ms,
            updated_ms=self.updated_ms,
            turns=self.facts.turns,
            records=len(self.chain),
            cost_usd=self.facts.cost,
            parent=self.parent,
            open_in=1 if self.is_open else None,
        )


def _is_in_review(chain: Sequence[ChainedRecord]) -> bool:
    types = [each.type for each in chain if each.type in (ReviewRequested.type, TurnFinished.type)]
    return types[-1:] == [ReviewRequested.type]


class FakeSessions:
    """Implements `SessionArchive`."""

    def __init__(self, contents: FakeContents, answers: FakeAnswers, clock: Callable[[], int]) -> None:
        self._sessions: dict[str, _Session] = {}
        self._answers = answers
        self._contents = contents
        self._clock = clock

    async def list_sessions(self) -> tuple[SessionSummary, ...]:
        return self.list_blocking()

    async def read_of_type(self, event_type: str, since_ms: int) -> Mapping[str, Sequence[LedgerRecord]]:
        found: dict[str, list[LedgerRecord]] = {}
        for each in await self.list_sessions():
            for record in await self.read(each.id, (event_type,)):
                if record.at_ms >= since_ms:
                    found.setdefault(each.id, []).append(record)
        return found

    async def list_in_review(self) -> tuple[SessionSummary, ...]:
        return tuple(each for each in self.list_blocking() if _is_in_review(self._sessions[each.id].chain))

    async def find_review(self, digest: str) -> SessionSummary | None:
        beginning = f'"digest":"{digest}'.encode()
        for session in self.list_blocking():
            chain = self._sessions[session.id].chain
            if any(each.type == ReviewRequested.type and beginning in each.payload for each in chain):
                return session
        return None

    async def find(self, name: str) -> SessionSummary:
        return find_session(name, self.list_blocking())

    async def read(self, session_id: str, types: Sequence[str] = ()) -> tuple[LedgerRecord, ...]:
        records = self.read_blocking(session_id).decode_records()
        return tuple(each for each in records if not types or (each.event and each.event.type in types))

    async def end_holder(self, session_id: str) -> None:
        session = await self.find(session_id)
        if session.open_in is None:
            raise LedgerError(f"no process has session {session_id} open any more")
        raise SessionInUse(f"session {session_id} is open in this process", pid=session.open_in)

    async def read_stored(self, session_id: str) -> StoredSession:
        return self.read_blocking(session_id)

    async def verify(self, session_id: str) -> Verification:
        return self.read_blocking(session_id).verify()

    async def fork(self, session_id: str, *, before: int | None = None) -> str:
        return self._forked(session_id, before)

    async def redact(self, session_id: str, text: str) -> int:
        check_redactable(text)
        session = self._there(session_id)
        changes, entries = redact_records(
            session_id, session.chain, session.redactions, text, at_ms=self._clock()
        )
        for index, record in changes:
            session.chain[index] = record
        session.redactions += entries
        self._answers.redact(session_id, text)
        facts = session.facts
        hidden = {name: redact_name(getattr(facts, name), text) for name in ("cwd", "title", "model")}
        session.facts = replace(facts, **hidden)
        return len(changes)

    async def prune_unbegun(self, before_ms: int, cwd: str | None, *, dry_run: bool = False) -> int:
        return 0

    async def prune(
        self,
        *,
        older_than_days: float | None = None,
        keep: int | None = None,
        ids: Sequence[str] = (),
        dry_run: bool = False,
    ) -> Pruned:
        chosen = select_sessions_to_prune(
            self.list_blocking(), older_than_days=older_than_days, keep=keep, ids=ids, now_ms=self._clock()
        )
        gone = [each for each in chosen if each.open_in is None]
        left = [each for each in self._sessions.values() if each.id not in {one.id for one in gone}]
        freed = sum(len(record.payload) for each in gone for record in self._sessions[each.id].chain)
        unneeded = self._unneeded_contents(left)
        freed += sum(len(self._contents.contents[name]) for name in unneeded)
        if not dry_run:
            self._sessions = {each.id: each for each in left}
            self._answers.forget({each.id for each in gone})
            for name in unneeded:
                del self._contents.contents[name]
        return Pruned(
            sessions=tuple(gone),
            spared=tuple(each for each in chosen if each.open_in is not None),
            contents=len(unneeded),
            bytes=freed,
        )

    def _unneeded_contents(self, sessions: Sequence[_Session]) -> list[str]:
        records = [record for session in sessions for record in session.chain]
        needed = {name for record in records for name in find_named_contents(record.payload)}
        for record in records:
            for manifest in find_named_manifests(record.type, record.payload):
                needed |= find_named_contents(self._contents.contents.get(manifest.hex(), b""))
        since = min((each.opened_ms for each in sessions if each.is_open), default=None)
        for name, content in self._contents.contents.items():
            if since is not None and self._contents.kept_ms[name] >= since and is_list_of_files(content):
                needed |= find_named_contents(content)
        return [
            name
            for name in self._contents.contents
            if bytes.fromhex(name) not in needed and (since is None or self._contents.kept_ms[name] < since)
        ]

    def list_blocking(self) -> tuple[SessionSummary, ...]:
        """Every session, the one used last first."""
        begun = [session.summary() for session in self._sessions.values() if session.chain]
        return tuple(sorted(begun, key=lambda each: (each.updated_ms, each.id), reverse=True))

    def read_blocking(self, session_id: str) -> StoredSession:
        """A session as it is kept."""
        session = self._there(session_id)
        return StoredSession(
            summary=session.summary(),
            head=session.chain[-1].link,
            chain=tuple(session.chain),
            redactions=tuple(session.redactions),
        )

    def begin(self, cwd: str, *notices: str, session_id: str = "") -> OpenedSession:
        """A new session, in the list from its first event on."""
        session = _Session(session_id or generate_id(), StoredSessionFacts(cwd=escape_surrogates(cwd)))
        self._sessions[session.id] = session
        return OpenedSession(session_id=session.id, ledger=self._ledger_of(session), notices=notices)

    def resume(self, session_id: str, *, fork: bool) -> OpenedSession:
        """An earlier session, or a copy of it."""
        if fork:
            session_id = self._forked(session_id, None)
        session, records = self._there(session_id), self.read_blocking(session_id).decode_records()
        if session.is_open:
            in_use = SessionInUse(f"session {session_id} is open in another process")
            return OpenedSession(session_id=session_id, ledger=None, records=records, in_use=in_use)
        return OpenedSession(session_id=session_id, ledger=self._ledger_of(session), records=records)

    def _ledger_of(self, session: _Session) -> FakeLedger:
        session.opened_ms = self._clock()
        session.ledger = FakeLedger(session.id, lambda event: session.add(event, self._clock()))
        return session.ledger

    def _forked(self, session_id: str, before: int | None) -> str:
        there = self._sessions.get(session_id)
        copy = generate_id()
        chain, entries = fork_records(
            there.chain if there else (),
            there.redactions if there else (),
            session_id=session_id,
            new_id=copy,
            before=before,
        )
        self._sessions[copy] = _Session(
            copy,
            collect_facts(chain),
            parent=session_id,
            updated_ms=max(self._clock(), chain[-1].at_ms),
            chain=chain,
            redactions=entries,
        )
        return copy

    def _there(self, session_id: str) -> _Session:
        session = self._sessions.get(session_id)
        if session is None or not session.chain:
            raise LedgerError(f"there is no session {session_id[:70]!a}")
        return session
