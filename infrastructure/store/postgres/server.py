"""One database of PostgreSQL: connections to it, transactions on them, and what it does in its own way.

Errors are sentences that name the place and the remedy.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock
from typing import ClassVar, TypeVar
from weakref import WeakSet, WeakValueDictionary

import psycopg
from sqlalchemy import create_engine
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, OperationalError, ResourceClosedError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from quorum.domain.errors import LedgerError, LostConnection
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.blocking import PATIENCE_SECS, Outage
from quorum.infrastructure.store.postgres.address import PostgresAddress, build_parameters
from quorum.infrastructure.store.postgres.connection import REVISION, PostgresConnection, can_use, read_revision
from quorum.infrastructure.store.sql.connection import SqlConnection
from quorum.infrastructure.wall_clock import read_wall_clock_ms

LOCK_NOT_AVAILABLE = "55P03"
_UPGRADE = "run quorum db upgrade"
_REASONS = {
    "28P01": "it refuses the password; put the right one in the variable PGPASSWORD or in ~/.pgpass",
    "28000": "it does not let this user in; look at the user in [storage] url and at the server's pg_hba.conf",
    "3D000": "there is no such database; create it (createdb), or name another in [storage] url",
    "42501": "this user may not do that; grant it the tables, or make it the owner of the database",
    "42P01": f"a table is missing; {_UPGRADE}",
    "42703": f"a column is missing; {_UPGRADE}",
    "53100": "the disk of the server is full; make room there and continue",
    "53200": "the server is out of memory; try again",
    "53300": "the server has too many connections; end some, or raise its max_connections",
    "54000": "what was to be kept is larger than the server takes",
    "25006": "the server is read-only, as a replica is; name the primary one in [storage] url",
    LOCK_NOT_AVAILABLE: "another process keeps it locked; try again when that one is done",
    "57014": "the server ended the statement, which took too long; try again",
}
# The server ends the connection, or refuses it for a moment: as it shuts down, or starts.
_LOST = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03", "08000", "08001", "08003", "08006", "08P01"})
_TRUST = "name the file of the authority that signed it with sslrootcert= in [storage] url"
# What libpq says in words alone. It does not pass by waiting.
_LASTING = (
    (re.compile(r"fe_sendauth: no password supplied|password authentication failed"), _REASONS["28P01"]),
    (re.compile(r'database "[^"]*" does not exist'), _REASONS["3D000"]),
    (
        re.compile(r"no pg_hba\.conf entry .*no encryption"),
        "it lets this user in over TLS alone, if at all; ask for TLS with sslmode=verify-full in [storage] url",
    ),
    (
        re.compile(r"no pg_hba\.conf entry|authentication failed|role \"[^\"]*\" does not exist"),
        _REASONS["28000"],
    ),
    (
        re.compile(r"certificate verify failed"),
        f"the certificate of the server does not hold: it is out of date, or signed by somebody else; {_TRUST}",
    ),
    (
        re.compile(r"server certificate for .* does not match host name"),
        "the certificate of the server is for another name; put the name that it is for into [storage] url",
    ),
    (
        re.compile(r"root certificate file .* does not exist|could not read root certificate"),
        f"no certificate is at hand to check that of the server with; {_TRUST}",
    ),
    (
        re.compile(r"server does not support SSL"),
        "the server has no TLS, which sslmode in [storage] url asks for; switch it on there (ssl = on)",
    ),
    (
        re.compile(r"invalid \w+ value|invalid connection option"),
        "a parameter in [storage] url has a value that libpq does not know",
    ),
)
# This may pass: it is tried again for a while.
_PASSING = (
    (
        re.compile(r"too many clients|remaining connection slots are reserved|too many connections for"),
        _REASONS["53300"],
    ),
    (
        re.compile(r"the database system is (starting up|shutting down|in recovery mode|not yet accepting)"),
        "the server is just starting or stopping; try again",
    ),
    (  # a network that is away takes its names along, and so does a service of which nothing runs
        re.compile(r"could not translate host name|Name or service not known|failed to resolve host"),
        "no server of this name is known; look at the address in [storage] url",
    ),
)
_LONGEST = 300


@contextmanager
def translate_postgres_errors(what: str, place: str) -> Iterator[None]:
    """Turn what the server refuses into a LedgerError; `what` failed, such as "cannot be read".

    A lost connection is LostConnection.
    """
    try:
        yield
    except (DBAPIError, psycopg.Error, PoolTimeout, ResourceClosedError) as error:
        raise _describe(what, place, error) from error


def is_lost(error: BaseException) -> bool:
    """Whether the connection is gone, or could not be made for a reason that may pass."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    cause = error.orig if isinstance(error, DBAPIError) else error
    state = getattr(cause, "sqlstate", None)
    if state is not None:
        return state in _LOST
    # Without a state, it was libpq that failed, and not the server. A wrong password or name does not pass.
    return isinstance(cause, psycopg.OperationalError) and _find_reason(_LASTING, str(cause)) is None


def read_state(error: BaseException) -> str | None:
    """The SQLSTATE of an error, if the server gave one."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlstate", None)


def _describe(what: str, place: str, error: Exception) -> LedgerError:
    sentence = f"the session ledger {place} {what}"
    if isinstance(error, PoolTimeout | ResourceClosedError):
        return LostConnection(f"{sentence}: no connection was free in time; try again")
    cause = error.orig if isinstance(error, DBAPIError) else error
    first = make_printable(" ".join(str(cause).split()), newlines=False)[:_LONGEST]
    if is_lost(error):
        passing = _find_reason(_PASSING, str(cause))
        return LostConnection(
            f"{sentence}: "
            + (passing or f"the server does not answer; start it, or correct [storage] url ({first})")
        )
    reason = _REASONS.get(read_state(error) or "") or _find_reason(_LASTING, str(cause))
    if reason is None and isinstance(error, OperationalError | psycopg.OperationalError):
        reason = f"{first}; see to that, or name another place in [storage] url"
    return LedgerError(f"{sentence}: {reason or first}")


def _find_reason(known: Iterable[tuple[re.Pattern[str], str]], text: str) -> str | None:
    """What libpq says in words alone, where it comes from the server's answer to the connection."""
    return next((reason for pattern, reason in known if pattern.search(text)), None)


_OLDEST_VERSION = 130000
BUSY_SECS = 5.0
"""How long a transaction waits for another's."""
ABANDONED_SECS = 20.0
"""After so long without a statement in the middle of a transaction, the server ends it."""
_CONNECT = {
    "application_name": "quorum",
    "client_encoding": "utf8",  # whatever the encoding of the database, which is looked at next
    # A broken line is noticed in some 20 seconds, also while we wait for an answer.
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "2",
    "tcp_user_timeout": "15000",
}
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_FREE_LOCK_STATES = frozenset({"55P03", "57014"})


_Result = TypeVar("_Result")


class PostgresServer:
    """Opens connections to one database, for any thread."""

    def __init__(
        self, address: PostgresAddress, environ: Mapping[str, str], *, busy_secs: float = BUSY_SECS
    ) -> None:
        self.place = address.place
        self._outage = Outage(address.place)
        self._ahead_ms = read_wall_clock_ms() - _read_steady_ms()  # until the server was asked
        self._options = {
            **_CONNECT,
            # Whoever stops in the middle of a transaction does not hold up the others: the server ends it.
            "options": f"-c lock_timeout={round(busy_secs * 1000)}"
            f" -c idle_in_transaction_session_timeout={round(ABANDONED_SECS * 1000)}",
        }
        self._shared = _SharedEngine.find(_build_url(address, environ), self._options, self)
        self._engine = self._shared.engine

    def check(self) -> None:
        """Look whether this can be used, and keep trying from now on when the server is away for a moment.

        Raises LedgerError for a server that is too old, a database in another encoding, and another schema.
        """
        with self.translate_errors("cannot be opened"), self.connect() as connection:
            self.check_server(connection)
            self.check_revision(read_revision(connection))
            self._ahead_ms = _read_database_ms(connection) - _read_steady_ms()
        self._outage.patience_secs = PATIENCE_SECS

    def read_clock_ms(self) -> int:
        """The time of the database, in milliseconds since 1970: the clocks of machines differ, and are set."""
        return self._ahead_ms + _read_steady_ms()

    def check_server(self, connection: PostgresConnection) -> None:
        """Raises LedgerError for a server that is too old, and a database in another encoding than UTF-8."""
        version = int(connection.execute("SHOW server_version_num").scalar_one())
        if version < _OLDEST_VERSION:
            raise LedgerError(
                f"{self.place} is on PostgreSQL {version // 10000}; quorum needs 13 or newer: update the server"
            )
        encoding = connection.execute("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise LedgerError(
                f"the database {self.place} is in {encoding}; create one with createdb --encoding=UTF8 and "
                "name it in [storage] url"
            )

    def check_revision(self, revision: str | None) -> None:
        """Raises LedgerError for tables of another version, and where there are none."""
        if revision is None:
            raise LedgerError(
                f"the database {self.place} holds no ledger yet; run quorum db upgrade to make its tables"
            )
        if revision < REVISION:
            raise LedgerError(
                f"the ledger {self.place} has the tables of an earlier quorum ({revision}, this one needs "
                f"{REVISION}); run quorum db upgrade"
            )
        if not can_use(revision):
            raise LedgerError(
                f"the ledger {self.place} was made by a newer quorum ({revision}, this one knows {REVISION}); "
                "update quorum"
            )

    def connect(self, *, waits: bool = True) -> PostgresConnection:
        """A connection, for the thread that asks; it `waits` for a server that does not answer."""
        return self._outage.outlast(
            lambda: PostgresConnection(self._engine.connect()),
            DBAPIError,
            lambda error: waits and is_lost(error),
        )

    def connect_directly(self) -> psycopg.Connection[tuple[object, ...]]:
        """A connection of the driver, which no pool takes back: its end frees what it holds on the server."""
        arguments, options = self._engine.dialect.create_connect_args(self._shared.engine.url)
        return psycopg.connect(*arguments, **{**options, **self._options}, autocommit=True)

    def build_connect_options(self) -> dict[str, str]:
        """The parameters of libpq, for a pool of another library; the password is among them."""
        _, options = self._engine.dialect.create_connect_args(self._shared.engine.url)
        return {name: value for name, value in {**options, **self._options}.items() if name != "context"}

    def is_alive(self, connection: SqlConnection) -> bool:
        try:
            connection.execute("SELECT 1")
        except DBAPIError:
            return False
        return True

    @contextmanager
    def begin_reading(self) -> Iterator[PostgresConnection]:
        with (
            self.translate_errors("cannot be read"),
            self.connect() as connection,
            _open_transaction(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"),
        ):
            yield connection

    def read(self, work: Callable[[PostgresConnection], _Result]) -> _Result:
        def read_once() -> _Result:
            with self.begin_reading() as connection:
                return work(connection)

        return self.outlast(read_once)

    def write(self, work: Callable[[PostgresConnection], _Result]) -> _Result:
        """Do this in a transaction, which it must bear to be done in twice. Raises LedgerError."""

        def write_once() -> _Result:
            with (
                self.translate_errors("cannot be written"),
                self.connect() as connection,
                self.begin_transaction(connection),
            ):
                return work(connection)

        return self.outlast(write_once)

    def outlast(self, work: Callable[[], _Result]) -> _Result:
        return self._outage.outlast(work, LostConnection)

    def begin_transaction(self, connection: SqlConnection) -> AbstractContextManager[None]:
        return _open_transaction(connection, "BEGIN")

    def set_synchronous(self, _connection: SqlConnection, *, full: bool) -> AbstractContextManager[None]:
        """Nothing: the server keeps every commit as safely as it is set up to."""
        return nullcontext()

    def expect_bulk(self, _connection: SqlConnection) -> None:
        """Nothing: the server sees to it."""

    def translate_errors(self, what: str) -> AbstractContextManager[None]:
        """Turn what the server refuses into a LedgerError; `what` failed, such as "cannot be read"."""
        return translate_postgres_errors(what, self.place)

    def is_broken(self, error: BaseException) -> bool:
        """Whether the connection on which this was raised goes back to the pool, which looks at it."""
        return isinstance(error, DBAPIError | psycopg.Error)

    def lock_contents(self, connection: SqlConnection, *, alone: bool) -> None:
        mode = "EXCLUSIVE" if alone else "ROW EXCLUSIVE"
        connection.execute(f"LOCK TABLE contents IN {mode} MODE")

    def erase_removed(self, connection: SqlConnection) -> bool:
        """Write the tables anew, so that nothing of what was removed is left in them; False while others read.

        The server's own log and its backups are beyond our reach.
        """
        try:
            for table in ("records", "sessions", "review_answers", "approval_signatures", "fleet_sessions"):
                connection.execute(f"VACUUM FULL {table}")
        except DBAPIError as error:
            if read_state(error) not in _FREE_LOCK_STATES:
                raise
            return False
        return True

    def give_back(self, _connection: SqlConnection) -> None:
        """Nothing: the server's own autovacuum gives it back."""

    def close(self) -> None:
        """End all connections, if nobody else uses them."""
        self._shared.leave(self)


def _read_database_ms(connection: PostgresConnection) -> int:
    return int(connection.execute("SELECT extract(epoch FROM clock_timestamp()) * 1000").scalar_one())


def _read_steady_ms() -> int:
    """Milliseconds of a clock that nobody sets, and that goes on while the machine sleeps, if there is one."""
    return time.clock_gettime_ns(_STEADY) // 1_000_000


class _SharedEngine:
    """An engine and its connections, for all that use a database in the same way: to make one, and to have it
    learn what the server is like, takes as long as to write ten events."""

    _known: ClassVar[WeakValueDictionary[tuple[URL, str], _SharedEngine]] = WeakValueDictionary()
    _finding: ClassVar[Lock] = Lock()

    def __init__(self, url: URL, options: Mapping[str, str]) -> None:
        self._users: WeakSet[PostgresServer] = WeakSet()
        # Transactions are begun and ended here in so many words, as each reading needs one of its own kind.
        self.engine = create_engine(
            url,
            isolation_level="AUTOCOMMIT",
            pool_pre_ping=True,
            pool_size=1,
            max_overflow=15,
            connect_args=dict(options),
            hide_parameters=True,
        )

    @classmethod
    def find(cls, url: URL, options: Mapping[str, str], user: PostgresServer) -> _SharedEngine:
        """That of this database, for one user more."""
        with cls._finding:
            shared = cls._known.get(key := (url, options["options"]))
            if shared is None:
                shared = cls._known[key] = cls(url, options)
            shared._users.add(user)
            return shared

    def leave(self, user: PostgresServer) -> None:
        """It has this user no more. With the last one, all connections end that are not in use."""
        with self._finding:
            self._users.discard(user)
            if not self._users:
                self.engine.dispose()


def _build_url(address: PostgresAddress, environ: Mapping[str, str]) -> URL:
    return URL.create(
        "postgresql+psycopg",
        username=address.user or None,
        password=environ.get("PGPASSWORD") or None,
        host=None if address.host.startswith("/") else address.host or None,
        port=address.port,
        database=address.database,
        query=build_parameters(address, environ),
    )


@contextmanager
def _open_transaction(connection: SqlConnection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
