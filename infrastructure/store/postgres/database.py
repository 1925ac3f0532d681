"""The storage in PostgreSQL: the ledger and outputs of sessions, and the leases that say who may write one.

A lease has a fencing token, and is renewed for as long as its process lives.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count

import psycopg
from msgspec import Struct
from sqlalchemy.engine import Row
from sqlalchemy.exc import DBAPIError

from quorum.application.ports.storage import BlobStore, OpenedSession, RequestRate
from quorum.domain.errors import LedgerError, SessionInUse
from quorum.domain.events.masking import SecretMask
from quorum.domain.sessions.session_summary import SessionChoice
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.storage_backend import BlobPlace
from quorum.infrastructure.store.blobs.file_store import FileBlobStore
from quorum.infrastructure.store.blobs.shared_store import SharedBlobStore
from quorum.infrastructure.store.postgres.address import PostgresAddress
from quorum.infrastructure.store.postgres.connection import PostgresConnection
from quorum.infrastructure.store.postgres.fleet_table import FleetRows, enqueue_answered
from quorum.infrastructure.store.postgres.server import (
    BUSY_SECS,
    LOCK_NOT_AVAILABLE,
    PostgresServer,
    read_state,
)
from quorum.infrastructure.store.sql.archive import SqlArchive
from quorum.infrastructure.store.sql.connection import Row as SqlRow
from quorum.infrastructure.store.sql.connection import SqlConnection, Values
from quorum.infrastructure.store.sql.contents import SqlContents
from quorum.infrastructure.store.sql.rows import COUNT_RECORDS, build_insert
from quorum.infrastructure.store.sql.session_locks import SessionHolder
from quorum.infrastructure.store.sql.session_opener import SessionOpener
from quorum.infrastructure.store.sql.writer import SqlAnswers, Writer

LEASE_SECS = 30
"""After so long without a sign of life, another process may take a session over."""
_RENEW_SECS = 5.0
_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
_TRIES = 5
# The lock that each process holds on its own number for as long as its connection stands.
_IS_CONNECTED = (
    "EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND ((classid::bigint << 32) | objid::bigint) = leases.owner)"
)
_AGE = "extract(epoch FROM clock_timestamp() - renewed_at)"
_FIND = (
    f"SELECT host, pid, {_AGE} AS age, {_IS_CONNECTED} AS connected,"
    " owner = :owner AND opened_ms = :opened_ms AS ours"
    " FROM leases WHERE session_id = :id FOR UPDATE"
)
_TAKEN = "(:id, nextval('lease_epochs'), :owner, :host, :pid, :opened_ms, clock_timestamp())"
_INSERT = (
    "INSERT INTO leases (session_id, epoch, owner, host, pid, opened_ms, renewed_at)"
    f" VALUES {_TAKEN} ON CONFLICT DO NOTHING RETURNING epoch"
)
_TAKE_OVER = (
    "UPDATE leases SET (session_id, epoch, owner, host, pid, opened_ms, renewed_at)"
    f" = ROW{_TAKEN} WHERE session_id = :id RETURNING epoch"
)
_HELD = "SELECT 1 FROM leases WHERE session_id = :id AND epoch = :epoch FOR SHARE"
# Where the first part finds nothing, no other does anything.
_TYPES = {
    "seq": "integer[]",
    "at_ms": "bigint[]",
    "type": "text[]",
    "payload": "bytea[]",
    "salt": "bytea[]",
    "digest": "bytea[]",
    "link": "bytea[]",
    "redaction": "bytea[]",
}
_EVERY = ", ".join(f"CAST(:every_{name} AS {type_of_all})" for name, type_of_all in _TYPES.items())
_COUNT_AND_ADD = (
    "WITH held AS (SELECT FROM leases WHERE session_id = :session AND epoch = :epoch FOR SHARE),"
    f" counted AS ({COUNT_RECORDS} AND EXISTS (SELECT FROM held) RETURNING id)"
    f" INSERT INTO records (session_id, {', '.join(_TYPES)}) SELECT counted.id"
)
_WRITE = (
    f"{_COUNT_AND_ADD}, {', '.join(_TYPES)} FROM counted,"
    f" unnest({_EVERY}) WITH ORDINALITY AS added ({', '.join(_TYPES)}, place) ORDER BY place"
)
# For most: the driver takes as long for the arrays of one record as for all the rest.
_ONE = ", ".join(f"CAST(:one_{name} AS {type_of_all[:-2]})" for name, type_of_all in _TYPES.items())
_WRITE_ONE = f"{_COUNT_AND_ADD}, {_ONE} FROM counted"
_HOLDER = "SELECT host, pid FROM leases WHERE session_id = :id"
_RELEASE = "DELETE FROM leases WHERE session_id = :id AND epoch = :epoch"
_LIVE = f"{_AGE} < {LEASE_SECS} AND {_IS_CONNECTED}"
_LIST = f"SELECT session_id, host, pid FROM leases WHERE {_LIVE}"
_EARLIEST = f"SELECT min(opened_ms) FROM leases WHERE {_LIVE}"


class Lease(Struct, frozen=True):
    """The right to write one session. Implements `WriteLock`."""

    session_id: str
    epoch: int
    notices: tuple[str, ...]
    _server: PostgresServer

    def find_loss(self, connection: SqlConnection) -> str:
        held = connection.execute(_HELD, {"id": self.session_id, "epoch": self.epoch})
        if held.fetchone() is not None:
            return ""
        holder = connection.execute(_HOLDER, {"id": self.session_id}).fetchone()
        by = _format_name(*holder) if holder else "another process, which has ended"
        return (
            f"session {self.session_id} was taken over by {by} while this process gave no sign of life, so "
            "nothing more can be added to it here; resume it when that one has ended, or fork it, to continue"
        )

    def write_at_once(self, connection: SqlConnection, counted: Values, records: list[Values]) -> bool:
        held: Values = {**counted, "epoch": self.epoch}
        if len(records) == 1:
            one = {f"one_{name}": records[0][name] for name in _TYPES}
            added = connection.execute(_WRITE_ONE, {**held, **one})
        else:
            columns = {f"every_{name}": [record[name] for record in records] for name in _TYPES}
            added = connection.execute(_WRITE, {**held, **columns})
        return added.rowcount == len(records)

    def release(self) -> None:
        """Give the right back. What cannot be given back now ends by itself."""
        try:
            with (
                self._server.translate_errors("cannot be written"),
                self._server.connect(waits=False) as connection,
            ):
                connection.execute(_RELEASE, {"id": self.session_id, "epoch": self.epoch})
        except LedgerError:
            return


class Leases:
    """The leases of one database, as one process takes and keeps them. Implements `SessionLocks`."""

    def __init__(self, server: PostgresServer, clock: Callable[[], int]) -> None:
        self._server = server
        self._clock = clock
        self._owner = secrets.randbits(62)
        self._ending = threading.Event()
        self._starting = threading.Lock()
        self._sign: threading.Thread | None = None

    def acquire(self, session_id: str) -> Lease:
        """Take the right to write a session. Raises SessionInUse, which says by whom, and LedgerError."""
        if not _ID.fullmatch(session_id):
            raise LedgerError(f"{session_id[:70]!a} is not an id of a session")
        self._start()
        opened_ms, tries = self._clock(), count()

        def try_once() -> Lease | None:
            is_first = next(tries) == 0
            with self._server.translate_errors("cannot be written"), self._server.connect() as connection:
                try:
                    with self._server.begin_transaction(connection):
                        return self._try(connection, session_id, opened_ms, is_first=is_first)
                except DBAPIError as error:
                    if read_state(error) != LOCK_NOT_AVAILABLE:
                        raise
                    raise _build_refusal(session_id, None) from error  # it is just being written

        for _ in range(_TRIES):
            if (lease := self._server.outlast(try_once)) is not None:
                return lease
        raise _build_refusal(session_id, None)

    def list_holders(self) -> dict[str, SessionHolder]:
        """The sessions that are being written now, each with its process on whichever machine."""
        rows = self._server.read(lambda connection: connection.execute(_LIST).fetchall())
        return {row.session_id: SessionHolder(int(row.pid), str(row.host)) for row in rows}

    def end_holder(self, session_id: str, holder: SessionHolder) -> None:
        """The name of a machine is no proof that it is this one."""
        raise SessionInUse(
            f"session {session_id} is open in process {holder.pid} on {holder.host}; on that machine "
            f"kill {holder.pid} ends it",
            pid=holder.pid,
        )

    def find_earliest_opening_ms(self) -> int | None:
        (earliest,) = self._server.read(lambda connection: connection.execute(_EARLIEST).fetchall())[0]
        return None if earliest is None else int(earliest)

    def close(self) -> None:
        """Give no more signs of life. Blocks."""
        with self._starting:
            self._ending.set()
            thread = self._sign
        if thread is not None:
            thread.join()

    def _try(
        self, connection: PostgresConnection, session_id: str, opened_ms: int, *, is_first: bool
    ) -> Lease | None:
        """The lease, or None where another process took it at this moment.

        A try before this one may have taken it, and its connection have broken before that was heard of.
        """
        values = {
            "id": session_id,
            "owner": self._owner,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "opened_ms": opened_ms,
        }
        earlier = connection.execute(_FIND, values).one_or_none()
        if earlier is None:
            epoch = connection.execute(_INSERT, values).scalar_one_or_none()
            return None if epoch is None else Lease(session_id, epoch, (), self._server)
        is_ours = earlier.ours and not is_first
        if earlier.connected and earlier.age < LEASE_SECS and not is_ours:
            raise _build_refusal(session_id, earlier)
        epoch = connection.execute(_TAKE_OVER, values).scalar_one()
        if is_ours:
            return Lease(session_id, epoch, (), self._server)
        notice = (
            f"Session {session_id} was taken over from {_format_name(earlier.host, earlier.pid)}, which gave "
            f"its last sign of life {max(0, round(earlier.age))} seconds ago and did not give the session back."
        )
        return Lease(session_id, epoch, (notice,), self._server)

    def _start(self) -> None:
        """Give signs of life from now on. Raises LedgerError where the server does not answer."""
        with self._starting:
            if self._sign is not None or self._ending.is_set():
                return
            connection = self._server.outlast(self._begin)
            self._sign = threading.Thread(target=self._renew, args=(connection,), name="leases", daemon=True)
            self._sign.start()

    def _begin(self) -> psycopg.Connection[tuple[object, ...]]:
        with self._server.translate_errors("cannot be written"):
            return self._connect()

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        connection = self._server.connect_directly()
        try:
            connection.execute("SELECT pg_advisory_lock(%s)", (self._owner,))
        except BaseException:
            connection.close()
            raise
        return connection

    def _renew(self, connection: psycopg.Connection[tuple[object, ...]] | None) -> None:
        """A server that does not answer is asked again; meanwhile another process may take over."""
        try:
            while not self._ending.wait(_RENEW_SECS if connection is not None else _RENEW_SECS / 5):
                try:
                    connection = connection or self._connect()
                    connection.execute(
                        "UPDATE leases SET renewed_at = clock_timestamp() WHERE owner = %s", (self._owner,)
                    )
                except psycopg.Error:
                    if connection is not None:
                        connection.close()
                    connection = None
        finally:
            if connection is not None:
                connection.close()


def _build_refusal(session_id: str, holder: Row[tuple[object, ...]] | None) -> SessionInUse:
    by = _format_name(holder.host, holder.pid) if holder is not None else "another process"
    return SessionInUse(
        f"session {session_id} is open in {by}; it can be read and forked here, and continued when "
        "that one has ended",
        pid=None if holder is None else int(holder.pid),
    )


def _format_name(host: object, pid: object) -> str:
    return f"process {pid} on {make_printable(str(host), newlines=False)[:80]}"


# One statement, so that the row's lock is all that those who ask at once wait for. The server's clock counts:
# those of the machines differ. It is read once the row is locked.
_RESERVE = (
    "INSERT INTO request_rates AS rates (provider, tokens, filled_at)"
    " VALUES (:provider, :burst - 1, clock_timestamp())"
    " ON CONFLICT (provider) DO UPDATE SET filled_at = clock_timestamp(), tokens = LEAST(:burst, rates.tokens"
    " + GREATEST(0, EXTRACT(EPOCH FROM clock_timestamp() - rates.filled_at)) * :per_second) - 1"
    " RETURNING tokens"
)


class PostgresPacer:
    """Implements `RequestPacer` with a row for each provider."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def reserve(self, provider: str, rate: RequestRate) -> float:
        """Take one request of this rate; the seconds until it may be sent. Raises LedgerError."""
        return await run_in_thread(lambda _stop: self._reserve(provider, rate))

    def _reserve(self, provider: str, rate: RequestRate) -> float:
        given = {"provider": provider, "burst": rate.burst, "per_second": rate.per_second}
        # Where it is not known whether a request was reserved, that one is lost to the rate.
        left = self._server.write(lambda connection: float(connection.execute(_RESERVE, given).scalar_one()))
        return rate.compute_wait(left)


def _measure(connection: SqlConnection, blob_id: str) -> tuple[int | None, int]:
    """How long an output is, None where there is none, and how much of it is there."""
    size = connection.execute(_SIZE, {"id": blob_id}).fetchone()
    kept = connection.execute(_KEPT, {"id": blob_id}).fetchone()
    return None if size is None else int(size[0]), 0 if kept is None else int(kept[0])


_FETCHED_AT_ONCE = 4
# Whole or not there: the entry is written in one transaction with all pieces.
_ADD = build_insert("outputs", ("id", "name", "size", "kept_ms"))
_ADD_PIECE = build_insert("output_pieces", ("output_id", "number", "data"))
_DATABASE_FIND = "SELECT name FROM outputs WHERE id = :id"
_SIZE = "SELECT size FROM outputs WHERE id = :id"
_KEPT = "SELECT COALESCE(SUM(LENGTH(data)), 0) FROM output_pieces WHERE output_id = :id"
_PIECES = (
    "SELECT data FROM output_pieces WHERE output_id = :id AND number >= :first ORDER BY number"
    f" LIMIT {_FETCHED_AT_ONCE}"
)


class PostgresOutputs:
    """Implements `SharedOutputs`, on connections of its own: a long one does not hold up the events."""

    def __init__(self, server: PostgresServer, clock: Callable[[], int]) -> None:
        self._server = server
        self._clock = clock

    def put(self, name: str, size: int, read: Callable[[], Iterable[bytes]]) -> None:
        entry = {"id": name.partition(".")[0], "name": name, "size": size, "kept_ms": self._clock()}

        def add(connection: PostgresConnection) -> None:
            if connection.execute(_DATABASE_FIND, entry).fetchone() is not None:
                return
            connection.execute(_ADD, entry)
            for number, data in enumerate(read()):
                connection.execute(_ADD_PIECE, {"output_id": entry["id"], "number": number, "data": data})

        self._server.write(add)

    def find(self, blob_id: str) -> str | None:
        row = self._server.read(
            lambda connection: connection.execute(_DATABASE_FIND, {"id": blob_id}).fetchone()
        )
        return None if row is None else str(row[0])

    def list_names(self) -> list[str]:
        rows = self._server.read(lambda connection: connection.execute("SELECT name FROM outputs").fetchall())
        return [str(name) for (name,) in rows]

    def get(self, name: str) -> Iterator[bytes]:
        """The pieces of an output. Raises LedgerError where one is missing."""
        blob_id = name.partition(".")[0]
        size, kept = self._server.read(lambda connection: _measure(connection, blob_id))
        count, read = 0, 0
        while rows := self._read_pieces(blob_id, count) if kept == size else ():
            for (data,) in rows:
                count, read = count + 1, read + len(data)
                yield data
        if read != size:
            raise LedgerError(f"the stored output {name} in {self._server.place} is not whole")

    def _read_pieces(self, blob_id: str, first: int) -> Sequence[SqlRow]:
        values: Values = {"id": blob_id, "first": first}
        return self._server.read(lambda connection: connection.execute(_PIECES, values).fetchall())


class PostgresDatabase:
    """Implements `Storage` with a database that several machines share."""

    notices: tuple[str, ...] = ()

    def __init__(
        self,
        address: PostgresAddress,
        environ: Mapping[str, str],
        *,
        blobs: BlobPlace,
        clock: Callable[[], int] | None = None,
        busy_secs: float = BUSY_SECS,
    ) -> None:
        """Open it, by default with the clock of the database. Blocks. Raises LedgerError, which names the place
        and the remedy."""
        self._blobs = blobs
        self._server = PostgresServer(address, environ, busy_secs=busy_secs)
        try:
            self._server.check()
        except BaseException:
            self._server.close()
            raise
        self._clock = clock = clock or self._server.read_clock_ms
        self._writer = Writer(self._server)
        self.locks = Leases(self._server, clock)
        self.archive = SqlArchive(self._server, self._writer, self.locks, clock, submitted=FleetRows())
        self.contents = SqlContents(self._server, self._writer, clock, blobs.contents)
        self.answers = SqlAnswers(self._server, self._writer, clock, follow_up=enqueue_answered)
        self.pacer = PostgresPacer(self._server)
        self._opener = SessionOpener(self.archive, self._writer, self.locks, clock)

    @property
    def engine(self) -> PostgresServer:
        return self._server

    @property
    def place(self) -> str:
        """The address, without a password."""
        return self._server.place

    def open_blobs(self, mask: SecretMask | None = None) -> BlobStore | None:
        """Large outputs: where the settings say, or, where they name no place, in the database."""
        store = self._blobs.open(mask)
        if self._blobs.is_named or not isinstance(store, FileBlobStore):
            return store
        return SharedBlobStore(store, PostgresOutputs(self._server, self._clock))

    def open_session(self, choice: SessionChoice, *, cwd: str, fork: bool = False) -> OpenedSession:
        """Open the chosen session, or with `fork` a copy. Blocks."""
        return self._opener.open(choice, cwd, fork=fork)

    def mend(self) -> None:
        """Nothing: what a server keeps, its operator mends."""

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self.locks.close()
            self._server.close()
