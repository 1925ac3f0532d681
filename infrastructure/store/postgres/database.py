"""The ledger in PostgreSQL as one thing: opened and closed, and sessions opened in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from quorum.application.ports.storage import BlobStore, OpenedSession
from quorum.domain.errors import LedgerError
from quorum.domain.events.masking import SecretMask
from quorum.domain.request_rate import RequestRate
from quorum.domain.sessions.past_session import SessionChoice
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.storage_backend import BlobPlace
from quorum.infrastructure.store.blobs.file_store import FileBlobStore
from quorum.infrastructure.store.blobs.shared_store import SharedBlobStore
from quorum.infrastructure.store.postgres.address import PostgresAddress
from quorum.infrastructure.store.postgres.fleet_queue import enqueue_answered
from quorum.infrastructure.store.postgres.leases import Leases
from quorum.infrastructure.store.postgres.server import BUSY_SECS, PostgresServer
from quorum.infrastructure.store.sql.answers import SqlAnswers
from quorum.infrastructure.store.sql.archive import SqlArchive
from quorum.infrastructure.store.sql.contents import SqlContents
from quorum.infrastructure.store.sql.rows import build_insert
from quorum.infrastructure.store.sql.session_opener import SessionOpener
from quorum.infrastructure.store.sql.writer import Writer
from quorum.infrastructure.wall_clock import read_wall_clock_ms

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
        with (
            self._server.translate_errors("cannot be written"),
            self._server.connect() as connection,
            self._server.begin_transaction(connection),
        ):
            left = float(connection.execute(_RESERVE, given).scalar_one())
        return rate.compute_wait(left)


_FETCHED_AT_ONCE = 4
# Whole or not there: the entry is written in one transaction with all pieces.
_ADD = build_insert("outputs", ("id", "name", "size", "kept_ms"))
_ADD_PIECE = build_insert("output_pieces", ("output_id", "number", "data"))
_FIND = "SELECT name FROM outputs WHERE id = :id"
_SIZE = "SELECT size FROM outputs WHERE id = :id"
_KEPT = "SELECT COALESCE(SUM(LENGTH(data)), 0) FROM output_pieces WHERE output_id = :id"
_PIECES = "SELECT data FROM output_pieces WHERE output_id = :id ORDER BY number"


class PostgresOutputs:
    """Implements `SharedOutputs`, on connections of its own: a long one does not hold up the events."""

    def __init__(self, server: PostgresServer, clock: Callable[[], int]) -> None:
        self._server = server
        self._clock = clock

    def put(self, name: str, size: int, pieces: Iterable[bytes]) -> None:
        if self.find(name.partition(".")[0]) is not None:
            return
        entry = {"id": name.partition(".")[0], "name": name, "size": size, "kept_ms": self._clock()}
        with (
            self._server.translate_errors("cannot be written"),
            self._server.connect() as connection,
            self._server.begin_transaction(connection),
        ):
            connection.execute(_ADD, entry)
            for number, data in enumerate(pieces):
                connection.execute(_ADD_PIECE, {"output_id": entry["id"], "number": number, "data": data})

    def find(self, blob_id: str) -> str | None:
        with self._server.begin_reading() as connection:
            name = connection.execute(_FIND, {"id": blob_id}).scalar_one_or_none()
        return None if name is None else str(name)

    def list_names(self) -> list[str]:
        with self._server.begin_reading() as connection:
            return list(connection.execute("SELECT name FROM outputs").scalars())

    def get(self, name: str) -> Iterator[bytes]:
        """The pieces of an output. Raises LedgerError where one is missing."""
        blob_id = name.partition(".")[0]
        with self._server.begin_reading() as connection:
            size = connection.execute(_SIZE, {"id": blob_id}).scalar_one_or_none()
            found = connection.execute(_KEPT, {"id": blob_id}).scalar_one()
            if size is None or int(found) != size:
                raise LedgerError(f"the stored output {name} in {self._server.place} is not whole")
            with connection.stream(_PIECES, {"id": blob_id}, at_once=_FETCHED_AT_ONCE) as pieces:
                yield from pieces.scalars()


class PostgresDatabase:
    """Implements `Storage` with a database that several machines share."""

    notices: tuple[str, ...] = ()

    def __init__(
        self,
        address: PostgresAddress,
        environ: Mapping[str, str],
        *,
        blobs: BlobPlace,
        clock: Callable[[], int] = read_wall_clock_ms,
        busy_secs: float = BUSY_SECS,
    ) -> None:
        """Open it. Blocks. Raises LedgerError, which names the place and the remedy."""
        self._blobs = blobs
        self._server = PostgresServer(address, environ, busy_secs=busy_secs)
        try:
            self._server.check()
        except BaseException:
            self._server.close()
            raise
        self._clock = clock
        self._writer = Writer(self._server)
        self.locks = Leases(self._server, clock)
        self.archive = SqlArchive(self._server, self._writer, self.locks, clock)
        self.contents = SqlContents(self._server, self._writer, clock, blobs.contents)
        self.answers = SqlAnswers(self._server, self._writer, follow_up=enqueue_answered)
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
