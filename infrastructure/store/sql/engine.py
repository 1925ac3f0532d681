"""What the ledger needs of a database beyond SQL: connections, transactions, and what differs between them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from quorum.domain.errors import LedgerError
from quorum.infrastructure.store.sql.connection import SqlConnection


class LostConnection(LedgerError):
    """The connection to the database broke: whether what was being committed is there must be looked up."""


class SqlEngine(Protocol):
    @property
    def place(self) -> str:
        """The database as errors name it: a file, or an address without its password."""
        ...

    def connect(self) -> SqlConnection:
        """A new connection, for the thread that asks. Its errors are for `translate_errors`."""
        ...

    def is_alive(self, connection: SqlConnection) -> bool:
        """Whether a connection that was unused for a while can still be used."""
        ...

    def begin_reading(self) -> AbstractContextManager[SqlConnection]:
        """A connection that sees one state of the database. Raises LedgerError."""
        ...

    def begin_transaction(self, connection: SqlConnection) -> AbstractContextManager[None]:
        """All of what is written inside, or nothing of it."""
        ...

    def set_synchronous(self, connection: SqlConnection, *, full: bool) -> AbstractContextManager[None]:
        """With `full`, what is committed inside, and all before it, outlives a loss of power."""
        ...

    def translate_errors(self, what: str) -> AbstractContextManager[None]:
        """Turn what the database refuses into a LedgerError; `what` failed, such as "cannot be read"."""
        ...

    def is_broken(self, error: BaseException) -> bool:
        """Whether the connection on which this was raised is not to be used again."""
        ...

    def lock_contents(self, connection: SqlConnection, *, alone: bool) -> None:
        """In a transaction that adds contents, or `alone` takes them away: the one waits for the other."""
        ...

    def erase_removed(self, connection: SqlConnection) -> bool:
        """Leave nothing of what was removed or replaced where it stood; False where others are in the way."""
        ...

    def give_back(self, connection: SqlConnection) -> None:
        """Give the room of what was removed back, if nobody is in the way."""
        ...
