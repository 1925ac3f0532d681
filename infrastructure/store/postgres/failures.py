"""What can go wrong with a server of PostgreSQL, in sentences that name the place and the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.exc import DBAPIError, OperationalError, ResourceClosedError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from quorum.domain.errors import LedgerError
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.store.sql.engine import LostConnection

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
        re.compile(r"could not translate host name|Name or service not known|failed to resolve host"),
        "no server of this name is known; look at the address in [storage] url",
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
