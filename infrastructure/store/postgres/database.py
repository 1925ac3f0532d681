"""The ledger in PostgreSQL as one thing: opened and closed, and sessions opened in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quorum.application.ports.storage import BlobStore, OpenedSession
from quorum.domain.events.masking import SecretMask
from quorum.domain.sessions.past_session import SessionChoice
from quorum.infrastructure.storage_backend import BlobPlace
from quorum.infrastructure.store.blobs.file_store import FileBlobStore
from quorum.infrastructure.store.blobs.shared_store import SharedBlobStore
from quorum.infrastructure.store.postgres.address import PostgresAddress
from quorum.infrastructure.store.postgres.fleet_queue import enqueue_answered
from quorum.infrastructure.store.postgres.leases import Leases
from quorum.infrastructure.store.postgres.outputs import PostgresOutputs
from quorum.infrastructure.store.postgres.request_rates import PostgresPacer
from quorum.infrastructure.store.postgres.server import BUSY_SECS, PostgresServer
from quorum.infrastructure.store.sql.answers import SqlAnswers
from quorum.infrastructure.store.sql.archive import SqlArchive
from quorum.infrastructure.store.sql.contents import SqlContents
from quorum.infrastructure.store.sql.session_opener import SessionOpener
from quorum.infrastructure.store.sql.writer import Writer
from quorum.infrastructure.wall_clock import read_wall_clock_ms


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
