"""Ports to what outlives the process: sessions, former contents of files, and large outputs."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from quorum.domain.errors import SessionInUse
from quorum.domain.events.event import Event
from quorum.domain.events.masking import SecretMask
from quorum.domain.review.questions import RemoteAnswer
from quorum.domain.review.signing import ApprovalSignature
from quorum.domain.sessions.ledger_chain import Verification
from quorum.domain.sessions.session_summary import LedgerRecord, Pruned, SessionChoice, SessionSummary
from quorum.domain.sessions.stored_session import StoredSession
from quorum.domain.text.output import Content


class LineSource(Protocol):
    """The lines of a long text, read piece by piece. Lines are counted from 0; very long ones come cut."""

    def read_lines(self, start: int, count: int) -> list[str]:
        """At most `count` lines from line `start` on, without their ends; none past the end of the text."""
        ...

    def find(self, needle: str, start: int, *, backwards: bool) -> int | None:
        """The nearest line from `start` on, itself included, that holds this very text; None if none does."""
        ...

    def count_so_far(self) -> tuple[int, bool]:
        """How many lines are known, and whether that is all. Each asking counts a bounded piece further."""
        ...


class Spill(Protocol):
    """One text that grows while a tool runs, on its way into a store. Until `keep` no id leads to it.

    Memory must not grow with it. What cannot be kept does not stop the tool: only `keep` raises.
    """

    @property
    def lines(self) -> int:
        """How many lines were written."""
        ...

    @property
    def size_bytes(self) -> int:
        """How many bytes of UTF-8 are kept, secrets being hidden."""
        ...

    def write(self, text: str) -> None:
        """Add text to the end. Called from one thread at a time; never raises."""
        ...

    def keep(self) -> str:
        """Put the text into the store; its id. May block: it is called in a thread. Nothing is written
        afterwards. Raises BlobError, and then nothing is left."""
        ...

    def discard(self) -> None:
        """Give up a text that was not kept; nothing of it is left. No effect after `keep`. Never raises."""
        ...


class BlobStore(Protocol):
    """Keeps large outputs, apart from any session. Ids are UUIDv7 and sort by time.

    It outlives sessions, so a store hides the secrets of the mask it is built with before it keeps anything.
    Only a newline ends a line.
    """

    async def store(self, content: Content) -> str:
        """Keep content; its id. Raises BlobError."""
        ...

    async def load(self, blob_id: str) -> Content:
        """The content of that id. Raises BlobError where there is none or it cannot be read."""
        ...

    async def exists(self, blob_id: str) -> bool:
        """Whether there is content of that id."""
        ...

    def open_lines(self, blob_id: str) -> LineSource:
        """The lines of that content, read as they are needed. Raises BlobError where there is none."""
        ...

    def open_spill(self) -> Spill:
        """A place for a text that grows; kept, it is a `Text` like any other. Takes nothing until it is written
        to."""
        ...


class ContentStore(Protocol):
    """Keeps contents of files under their hash, each of them once."""

    async def put(self, contents: Sequence[bytes]) -> tuple[str, ...]:
        """Keep these; the SHA-256 of each, in hexadecimal. Raises LedgerError, and then none is kept."""
        ...

    async def get(self, sha256: str) -> bytes:
        """The content of that hash, checked against it.

        Raises ContentGone where there is none, and LedgerError where it cannot be read.
        """
        ...

    async def list_absent(self, hashes: Collection[str]) -> frozenset[str]:
        """Those of the hashes whose contents are not kept. Raises LedgerError."""
        ...


class AnswerStore(Protocol):
    """Answers to reviews from other processes than those that ask. Raises LedgerError.

    They are apart from the events of the sessions, which have one writer each.
    """

    async def add(self, answer: RemoteAnswer) -> RemoteAnswer:
        """Keep this answer, if it is the first about its packet; the one that is kept then."""
        ...

    async def find(self, session_id: str, digest: str) -> RemoteAnswer | None:
        """The answer about the packet of this digest in this session, if there is one."""
        ...

    async def add_signature(self, signature: ApprovalSignature) -> None:
        """Keep this signature in the place of a former one of its person about its packet."""
        ...

    async def list_signatures(self, session_id: str, digest: str) -> tuple[ApprovalSignature, ...]:
        """The signatures about the packet of this digest in this session, verified by nobody, oldest first."""
        ...

    async def note_seen(self, session_id: str, digest: str) -> None:
        """Somebody looks at the packet of this digest in this session now."""
        ...

    async def find_seen_age_secs(self, session_id: str, digest: str) -> float:
        """How long ago somebody looked at it last; infinitely long where nobody has."""
        ...


class Ledger(Protocol):
    """The record of one session, written by this process alone."""

    @property
    def session_id(self) -> str: ...

    def append(self, event: Event, *, urgent: bool = False, may_wait: bool = False) -> Awaitable[None]:
        """Put a durable event on the record, in the order of the calls; it is there when what is returned ends,
        also if the process is killed then.

        `urgent`: also if the machine loses its power. `may_wait`: nothing depends on it, so that it may be
        written some milliseconds later, together with the next one that does not wait. Raises LedgerError where
        that cannot be; the event is then written with the next one that can be, so that none is lost as long as
        the process lives. Cancelled, it lets the event be written all the same.
        """
        ...

    async def aclose(self) -> None:
        """Write what waits, and let others write this session. Raises LedgerError where that cannot be."""
        ...


class SessionArchive(Protocol):
    """All records of sessions. Raises LedgerError where they cannot be read."""

    async def list_sessions(self) -> tuple[SessionSummary, ...]:
        """Every session, the one used last first."""
        ...

    async def list_in_review(self) -> tuple[SessionSummary, ...]:
        """The sessions in which a review may wait for its answer, the one used last first.

        In each of them a review was asked for since a turn last ended; whether it still waits, its records say.
        """
        ...

    async def find_review(self, digest: str) -> SessionSummary | None:
        """The session in which a packet was put to review whose digest begins so, if there is one."""
        ...

    async def read_of_type(self, event_type: str, since_ms: int) -> Mapping[str, Sequence[LedgerRecord]]:
        """The records of one type since then, oldest first, by the id of their session. Raises LedgerError."""
        ...

    async def find(self, name: str) -> SessionSummary:
        """The session of this id, or of the one id that begins so. Raises LedgerError."""
        ...

    async def read(self, session_id: str, types: Sequence[str] = ()) -> tuple[LedgerRecord, ...]:
        """The records of a session, oldest first; only those of `types`, where any are named."""
        ...

    async def read_stored(self, session_id: str) -> StoredSession:
        """A session as it is kept, with its chain. Raises LedgerError where there is no such session."""
        ...

    async def fork(self, session_id: str, *, before: int | None = None) -> str:
        """Copy a session, or its records up to and without `before`, under an id of its own; that id.

        Raises LedgerError where there is nothing to copy, or where a record among them does not fit.
        """
        ...

    async def verify(self, session_id: str) -> Verification:
        """Check the chain of a session's records. Raises LedgerError where there is no such session."""
        ...

    async def end_holder(self, session_id: str) -> None:
        """Ask the process that writes a session to end, as a SIGTERM does, if it is known to be that process.
        Returns at once. Raises SessionInUse, which says how else it ends, and LedgerError.
        """
        ...

    async def redact(self, session_id: str, text: str) -> int:
        """Take a text out of all records of a session and its entry in the list; how many records held it.

        The chain holds afterwards, and `verify` names these records. Nothing of the text is left in what keeps
        the sessions; former contents and large outputs are not looked into. Raises LedgerError where there is
        no such session, and for a text of fewer than 4 characters.
        """
        ...

    async def prune(
        self,
        *,
        older_than_days: float | None = None,
        keep: int | None = None,
        ids: Sequence[str] = (),
        dry_run: bool = False,
    ) -> Pruned:
        """Remove sessions: those not used for so many days, all but the newest `keep`, or those of these ids.

        With both days and `keep`, those that both would remove; `ids` come in addition. A session in use stays,
        and so do its contents. Then contents go that no record refers to. `dry_run` removes nothing and answers
        the same. Raises LedgerError for an id that no session has, and then nothing is removed.
        """
        ...

    async def prune_unbegun(self, before_ms: int, cwd: str | None, *, dry_run: bool = False) -> int:
        """Remove submitted sessions that ended until then without a record, of a folder or of all; how many."""
        ...


class OpenedSession(Struct, frozen=True, kw_only=True):
    """A session to work in. `records` is what happened in it before; `notices` are sentences for the person.

    `ledger` is None where another process writes this session, which `in_use` tells of: it can only be read.
    """

    session_id: str
    ledger: Ledger | None
    records: tuple[LedgerRecord, ...] = ()
    notices: tuple[str, ...] = ()
    in_use: SessionInUse | None = None


class RequestPacer(Protocol):
    """Shares the request rate of each provider among all who use the same storage."""

    async def reserve(self, provider: str, rate: RequestRate) -> float:
        """Take one request of this rate; the seconds until it may be sent. Raises LedgerError.

        Who asks first is sent first. A request that is reserved and never sent is lost to the rate.
        """
        ...


class Storage(Protocol):
    """All that outlives the process: sessions, former contents of files, and large outputs.

    Whoever holds it names no database. Its parts stay the same objects for as long as it is open; what blocks
    is called in a thread, or where nothing else runs yet.
    """

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the person about what had to be mended, when it was opened and since."""
        ...

    @property
    def place(self) -> str:
        """Where sessions are kept, as people read it: a file, or an address without its password."""
        ...

    @property
    def archive(self) -> SessionArchive: ...

    @property
    def contents(self) -> ContentStore:
        """What files held before they were changed."""
        ...

    @property
    def answers(self) -> AnswerStore:
        """Answers to reviews from other processes."""
        ...

    @property
    def pacer(self) -> RequestPacer:
        """When requests to providers may be sent."""
        ...

    def open_blobs(self, mask: SecretMask | None = None) -> BlobStore | None:
        """Large outputs, in which what `mask` hides is hidden; None where there is no place for them."""
        ...

    def open_session(self, choice: SessionChoice, *, cwd: str, fork: bool = False) -> OpenedSession:
        """Open a session for writing, or for reading where another process writes it; with `fork`, a copy.

        A new one is in the list from its first event on; the latest is that of the folder `cwd`. Damage that is
        found is mended first. Blocks. Raises LedgerError where there is no such session, and ValueError for
        PickedSession, which only a person can answer.
        """
        ...

    def mend(self) -> None:
        """Save what can be read after DamagedLedger was raised; `notices` says what came of it. Blocks.

        Nothing may be under way. Raises LedgerError where that cannot be.
        """
        ...

    def close(self) -> None:
        """Write what waits, and let go. Blocks. Raises LedgerError for events that could not be written."""
        ...


_BURST_SECS = 10.0


class RequestRate(Struct, frozen=True):
    """At most so many requests in a minute, on average. A bucket is full at first, and filled evenly."""

    per_minute: int

    @property
    def per_second(self) -> float:
        """How many tokens come in a second."""
        return self.per_minute / 60

    @property
    def burst(self) -> float:
        """How many tokens a bucket holds: those of ten seconds, and at least one.

        Providers count shorter spans than a minute; a full minute at once would be refused.
        """
        return max(1.0, self.per_second * _BURST_SECS)

    def refill(self, tokens: float, secs: float) -> float:
        """The tokens of a bucket after so many seconds."""
        return min(self.burst, tokens + max(0.0, secs) * self.per_second)

    def compute_wait(self, tokens: float) -> float:
        """Seconds until a request may be sent that left so many tokens: below zero, it waits for its own."""
        return max(0.0, -tokens / self.per_second)
