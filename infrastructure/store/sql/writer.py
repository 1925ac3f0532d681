"""The one thread of this process that writes the database."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct, field

from quorum.domain.errors import OUT_OF_MEMORY, LedgerError
from quorum.domain.review.questions import RemoteAnswer
from quorum.domain.review.signing import ApprovalSignature
from quorum.domain.sessions.ledger_chain import ChainedRecord
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.store.sql.connection import Row, SqlConnection, SqlEngine
from quorum.infrastructure.store.sql.rows import (
    ADD_ANSWER,
    ADD_SEEN,
    ADD_SIGNATURE,
    ANSWER,
    APPROVAL_SIGNATURES,
    REVIEW_ANSWERS,
    SEEN_DECISIONS,
    SIGNATURE,
    SessionChain,
)
from quorum.infrastructure.store.sql.session_locks import wait_to_the_end

_Result = TypeVar("_Result")


def _make_future() -> Future[Any]:
    """A future that nobody can cancel: what was given to the thread is done."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future


class EncodedEvent(NamedTuple):
    """An event as a record keeps it, and the same as JSON."""

    payload: bytes
    event: JsonObject


class LedgerEntry(Struct, eq=False, kw_only=True):
    """One event on its way to the record of its session. `done`, a future of the event loop in which the entry
    is made, ends with its first attempt; whoever waits for it may be cancelled, and it is written all the same.

    `encode` is called once, in the thread that writes, for events may be large. What it refuses with a
    LedgerError is not written. `may_wait`: nobody waits for it, so that it may wait for others.
    """

    chain: SessionChain
    at_ms: int
    type: str
    encode: Callable[[], EncodedEvent]
    urgent: bool
    may_wait: bool = False
    record: ChainedRecord | None = None
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class _Job(Struct, Generic[_Result], eq=False):
    """Other work, with a connection of its own to do it on."""

    work: Callable[[SqlConnection], _Result]
    is_repeatable: bool
    done: Future[_Result] = field(default_factory=_make_future)


class _Stop(Struct, eq=False):
    done: Future[None] = field(default_factory=_make_future)


_Work: TypeAlias = "LedgerEntry | _Job[object] | _Stop"
_GATHERING_SECS = 0.005
"""How long an event that nobody waits for waits for others to come into its transaction."""
_BEGIN_SECS = 1.0
"""How often a thread that does not begin is looked at."""
_PAUSE_SECS = 0.05
"""How long whoever waits is not told of an error for which there was no memory."""


class Writer:
    """Takes events and other work from any thread, in order.

    Events that come while a transaction is being written go together into the next, and those that may wait
    into that of the next one that may not, unless none comes soon. Those that cannot be written are kept, and
    go first as soon as anything can be written again.
    """

    def __init__(self, engine: SqlEngine) -> None:
        self._engine = engine
        self._given: list[_Work] = []
        self._is_awaited = False  # something of it is
        self._is_overtaken = False  # its events were
        self._backlog: list[LedgerEntry] = []
        self._unsure = False
        self._connection: SqlConnection | None = None
        self._thread: threading.Thread | None = None
        self._taking = threading.Condition(threading.Lock())
        self._closed = False

    def append(self, entry: LedgerEntry) -> None:
        """Write an event; `entry.done` ends when it is committed, or with a LedgerError.

        The thread is woken when the event loop comes round: what is ready in it by then, such as the starts of
        a batch's calls, goes into one transaction.
        """
        if self._put(entry):
            entry.done.get_loop().call_soon(self._wake)

    def submit(
        self,
        work: Callable[[SqlConnection], _Result],
        *,
        is_repeatable: bool = False,
        is_beside_events: bool = False,
    ) -> Future[_Result]:
        """Do other work, after all that was given before. What it raises is the future's.

        `is_repeatable`: it comes to the same if it is done twice, so that it outlasts a connection that breaks.
        `is_beside_events`: events that nobody waits for may stay behind it, for the next transaction.
        """
        job = _Job(work, is_repeatable)
        self._put(job, may_overtake=is_beside_events)  # type: ignore[arg-type]
        self._wake()
        return job.done

    def flush(self) -> Future[None]:
        """Write what waits. Ends with a LedgerError where that cannot be; it is kept then."""
        if self._thread is None and not self._backlog and not self._closed:  # nothing was ever given to it
            done = _make_future()
            done.set_result(None)
            return done
        return self.submit(lambda _connection: self._write())

    def close(self) -> None:
        """Write what waits, and end. Raises LedgerError for what could not be written, which is lost then."""
        stop = _Stop()
        with self._taking:
            self._closed = True
            thread, self._thread = self._thread, None
        if thread is not None:
            with self._taking:
                self._given.append(stop)
                self._is_awaited = True
                self._taking.notify_all()
            thread.join()
            if not stop.done.done():
                raise LedgerError(
                    f"{len(self._backlog)} events of the session are not recorded: {OUT_OF_MEMORY}"
                )
            stop.done.result()

    def reopen(self) -> None:
        """Take work again after `close`; another file may be in the place of the one before."""
        with self._taking:
            self._backlog, self._unsure = [], False
            self._closed = False

    def _put(self, work: _Work, *, may_overtake: bool = False) -> bool:
        """Whether it is the first of all that is given, or of those that are awaited: then the thread is to be
        woken."""
        with self._taking:
            if self._closed:
                raise LedgerError(f"the session ledger {self._engine.place} is closed")
            if self._thread is None or not self._thread.is_alive():
                self._thread = self._start_thread()
            is_first, becomes_awaited = not self._given, not self._is_awaited and _is_awaited(work)
            if may_overtake and becomes_awaited and not self._is_overtaken:  # else events might wait for long
                self._given.insert(0, work)
                self._is_overtaken = not is_first
            else:
                self._given.append(work)
            self._is_awaited = self._is_awaited or becomes_awaited
            return is_first or becomes_awaited

    def _wake(self) -> None:
        with self._taking:
            self._taking.notify_all()

    def _start_thread(self) -> threading.Thread:
        """Raises RuntimeError or MemoryError where there is no room for one, and then nobody waits for it."""
        begun = threading.Event()
        thread = threading.Thread(target=self._run, args=(begun,), name="ledger", daemon=True)
        thread.start()
        while not begun.wait(_BEGIN_SECS):  # where memory is short, it ends on the way there
            if not thread.is_alive():
                raise MemoryError(OUT_OF_MEMORY)
        return thread

    def _run(self, begun: threading.Event) -> None:
        begun.set()
        taken: list[_Work] = []
        while True:
            try:
                self._do_next(taken)
            except BaseException as error:  # noqa: BLE001 - the thread goes on, and whoever waits must get it
                _refuse(taken, error)
            if any(isinstance(work, _Stop) for work in taken):
                return
            taken.clear()

    def _do_next(self, taken: list[_Work]) -> None:
        """Do what comes next, which is noted in `taken` before."""
        with self._taking:
            self._taking.wait_for(lambda: self._given)
            self._taking.wait_for(lambda: self._is_awaited, _GATHERING_SECS)
            kinds = (isinstance(work, LedgerEntry) for work in self._given)
            count = next((number for number, is_entry in enumerate(kinds, 1) if not is_entry), len(self._given))
            taken += self._given[:count]
            del self._given[:count]
            self._is_awaited = any(map(_is_awaited, self._given))
            entries = [work for work in taken if isinstance(work, LedgerEntry)]
            self._is_overtaken = self._is_overtaken and not entries
        if entries:
            self._try_to_write(entries)
        match taken[-1]:
            case _Job() as job:
                self._run_job(job)
            case _Stop() as stop:
                self._stop(stop)
            case _:
                pass

    def _try_to_write(self, entries: list[LedgerEntry]) -> None:
        refused: list[tuple[asyncio.Future[None], BaseException | None]] = []
        try:
            for entry in entries:
                self._backlog.append(entry)  # before it has its place: what has one is written
                try:
                    payload, event = entry.encode()
                    entry.record = entry.chain.link(entry.at_ms, entry.type, payload, event)
                except BaseException as error:  # noqa: BLE001 - as where memory is short
                    self._backlog.pop()
                    refused.append((entry.done, error))
            self._write()
        except BaseException as error:  # noqa: BLE001 - whoever waits must get it, whatever it is
            _end([*refused, *((entry.done, error) for entry in entries)])
            return
        _end([*refused, *((entry.done, _find_trouble(entry)) for entry in entries if entry.record is not None)])

    def _write(self) -> None:
        """Write what waits, or keep it. What belongs to a lost session cannot be kept."""
        self._engine.outlast(self._write_backlog)

    def _write_backlog(self) -> None:
        while True:
            self._backlog = [entry for entry in self._backlog if not entry.chain.lost]
            chains = {entry.chain for entry in self._backlog}
            try:
                if chains:
                    self._commit()
                return
            except LedgerError:
                if not any(chain.lost for chain in chains):
                    raise

    def _commit(self) -> None:
        by_chain: dict[SessionChain, list[ChainedRecord]] = {}
        for entry in self._backlog:
            assert entry.record is not None
            by_chain.setdefault(entry.chain, []).append(entry.record)
        urgent = any(entry.urgent for entry in self._backlog)
        unsure, self._unsure = self._unsure, True
        with (
            self._connect("cannot be written") as connection,
            self._engine.set_synchronous(connection, full=urgent),
        ):
            if unsure:
                for chain, linked in by_chain.items():
                    chain.catch_up(connection, linked)
            # One session in one way to the database and back: nearly always there is no other.
            ((chain, linked), *others) = by_chain.items()
            if others or not chain.write_at_once(connection, linked):
                with self._engine.begin_transaction(connection):
                    for chain, linked in by_chain.items():
                        chain.write(connection, linked)
        for chain in by_chain:
            chain.mark_stored()
        self._unsure = False
        self._backlog.clear()

    def _run_job(self, job: _Job[object]) -> None:
        def attempt() -> object:
            if not job.is_repeatable:
                self._drop_dead_connection()
            with self._connect("cannot be written") as connection:
                return job.work(connection)

        try:
            job.done.set_result(self._engine.outlast(attempt) if job.is_repeatable else attempt())
        except BaseException as error:  # noqa: BLE001 - as above
            job.done.set_exception(error)

    def _stop(self, stop: _Stop) -> None:
        try:
            self._write()
        except LedgerError as error:
            lost = LedgerError(f"{len(self._backlog)} events of the session are not recorded: {error}")
            stop.done.set_exception(lost)
        except BaseException as error:  # noqa: BLE001 - as above
            stop.done.set_exception(error)
        else:
            stop.done.set_result(None)
        finally:
            self._disconnect()

    @contextmanager
    def _connect(self, what: str) -> Iterator[SqlConnection]:
        """The connection; after trouble with the database, the next time it is a new one."""
        with self._engine.translate_errors(what):
            try:
                if self._connection is None:
                    self._connection = self._engine.connect()
                yield self._connection
            except Exception as error:
                if self._engine.is_broken(error):
                    self._disconnect()
                raise

    def _drop_dead_connection(self) -> None:
        """Other work is not tried twice: it does not begin on a connection that broke while unused."""
        if self._connection is not None and not self._engine.is_alive(self._connection):
            self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _is_awaited(work: _Work) -> bool:
    return not (isinstance(work, LedgerEntry) and work.may_wait)


def _find_trouble(entry: LedgerEntry) -> LedgerError | None:
    return LedgerError(entry.chain.lost) if entry.chain.lost else None


def _refuse(taken: Sequence[_Work], error: BaseException) -> None:
    """Tell whoever still waits for this of the error, as soon as there is memory for that."""
    while True:
        try:
            _end([(work.done, error) for work in taken if isinstance(work, LedgerEntry)])
            for work in taken:
                if not isinstance(work, LedgerEntry) and not work.done.done():
                    work.done.set_exception(error)
        except MemoryError:
            time.sleep(_PAUSE_SECS)
        else:
            return


def _end(ends: Sequence[tuple[asyncio.Future[None], BaseException | None]]) -> None:
    """Let those who wait know how it ended: all that wait in one event loop by waking it once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[None], BaseException | None]]] = {}
    for end in ends:
        by_loop.setdefault(end[0].get_loop(), []).append(end)
    for loop, some in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_tell, some)


def _tell(ends: Sequence[tuple[asyncio.Future[None], BaseException | None]]) -> None:
    for done, error in ends:
        if done.done():  # cancelled, as whoever waited for it was
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)


_LIST_SIGNATURES = (
    f"SELECT {SIGNATURE} FROM {APPROVAL_SIGNATURES} WHERE session_id = :session_id AND digest = :digest "
    "ORDER BY at_ms, person"
)
_FIND_SEEN = f"SELECT at_ms FROM {SEEN_DECISIONS} WHERE session_id = :session_id AND digest = :digest"
_FIND = f"SELECT {ANSWER} FROM {REVIEW_ANSWERS} WHERE session_id = :session_id AND digest = :digest"


class SqlAnswers:
    """Implements `AnswerStore` in the database of the sessions.

    `clock` gives milliseconds since 1970, the same on all machines that share the database. `follow_up` is
    given the id of a session in the transaction that keeps an answer for it.
    """

    def __init__(
        self,
        engine: SqlEngine,
        writer: Writer,
        clock: Callable[[], int],
        *,
        follow_up: Callable[[SqlConnection, str], None] = lambda _connection, _session_id: None,
    ) -> None:
        self._engine = engine
        self._writer = writer
        self._clock = clock
        self._follow_up = follow_up

    async def add(self, answer: RemoteAnswer) -> RemoteAnswer:
        # Once it is kept, it is found as the first one.
        done = self._writer.submit(lambda connection: self._add(connection, answer), is_repeatable=True)
        return await wait_to_the_end(done)

    async def find(self, session_id: str, digest: str) -> RemoteAnswer | None:
        return await run_in_thread(lambda _stop: self._find_blocking(session_id, digest))

    async def add_signature(self, signature: ApprovalSignature) -> None:
        done = self._writer.submit(
            lambda connection: self._add_signature(connection, signature), is_repeatable=True
        )
        await wait_to_the_end(done)

    async def list_signatures(self, session_id: str, digest: str) -> tuple[ApprovalSignature, ...]:
        named = {"session_id": session_id, "digest": digest}
        return await run_in_thread(
            lambda _stop: self._engine.read(
                lambda connection: (
                    tuple(map(_read_signature, connection.execute(_LIST_SIGNATURES, named).fetchall()))
                    if connection.has_table(APPROVAL_SIGNATURES)
                    else ()
                )
            )
        )

    async def note_seen(self, session_id: str, digest: str) -> None:
        row = {"session_id": session_id, "digest": digest, "at_ms": self._clock()}

        def note(connection: SqlConnection) -> None:
            with self._engine.begin_transaction(connection):
                connection.add_table(SEEN_DECISIONS)
                connection.execute(ADD_SEEN, row)

        await wait_to_the_end(self._writer.submit(note, is_repeatable=True))

    async def find_seen_age_secs(self, session_id: str, digest: str) -> float:
        named = {"session_id": session_id, "digest": digest}
        seen = await run_in_thread(
            lambda _stop: self._engine.read(
                lambda connection: (
                    connection.execute(_FIND_SEEN, named).fetchone()
                    if connection.has_table(SEEN_DECISIONS)
                    else None
                )
            )
        )
        age_ms = self._clock() - seen[0] if seen is not None and isinstance(seen[0], int) else -1
        return age_ms / 1000 if age_ms >= 0 else math.inf  # a clock that was put back says nothing

    def _add_signature(self, connection: SqlConnection, signature: ApprovalSignature) -> None:
        with self._engine.begin_transaction(connection):
            connection.add_table(APPROVAL_SIGNATURES)
            row = {
                "session_id": signature.session_id,
                "digest": signature.digest,
                "person": encode_text(signature.person),
                "at_ms": signature.at_ms,
                "signature": encode_text(signature.signature),
            }
            if connection.execute(ADD_SIGNATURE, row).rowcount:
                self._follow_up(connection, signature.session_id)

    def _find_blocking(self, session_id: str, digest: str) -> RemoteAnswer | None:
        return self._engine.read(
            lambda connection: (
                _find(connection, session_id, digest) if connection.has_table(REVIEW_ANSWERS) else None
            )
        )

    def _add(self, connection: SqlConnection, answer: RemoteAnswer) -> RemoteAnswer:
        with self._engine.begin_transaction(connection):
            connection.add_table(REVIEW_ANSWERS)
            if connection.execute(ADD_ANSWER, _build_row(answer)).rowcount:
                self._follow_up(connection, answer.session_id)
                return answer
        earlier = _find(connection, answer.session_id, answer.digest)
        if earlier is None:
            raise LedgerError(f"the answer was given before, and is gone from {self._engine.place}; try again")
        return earlier


def _find(connection: SqlConnection, session_id: str, digest: str) -> RemoteAnswer | None:
    row = connection.execute(_FIND, {"session_id": session_id, "digest": digest}).fetchone()
    return None if row is None else _read_row(row)


def _read_row(row: Row) -> RemoteAnswer:
    session_id, digest, approves, reason, answered_by, at_ms = row
    return RemoteAnswer(
        session_id=str(session_id),
        digest=str(digest),
        # Anything but a plain yes, which SQLite keeps as 1, is a no, whatever a damaged row holds.
        approves=isinstance(approves, int) and approves == 1,
        reason=None if reason is None else str(reason),
        answered_by=str(answered_by),
        at_ms=at_ms if isinstance(at_ms, int) else 0,
    )


def _read_signature(row: Row) -> ApprovalSignature:
    session_id, digest, person, at_ms, signature = row
    return ApprovalSignature(
        session_id=str(session_id),
        digest=str(digest),
        person=str(person),
        at_ms=at_ms if isinstance(at_ms, int) else 0,
        signature=str(signature),
    )


def _build_row(answer: RemoteAnswer) -> dict[str, object]:
    return {
        "session_id": answer.session_id,
        "digest": answer.digest,
        "approves": answer.approves,
        # Text that a database takes: no halves of surrogate pairs, and no NUL.
        "reason": None if answer.reason is None else encode_text(answer.reason),
        "answered_by": encode_text(answer.answered_by),
        "at_ms": answer.at_ms,
    }


def encode_text(text: str) -> str:
    """Text that a database takes: no halves of surrogate pairs, and no NUL."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\0")
