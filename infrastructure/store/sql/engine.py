"""What the ledger needs of a database beyond SQL: connections, transactions, and what differs between them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Executable
from sqlalchemy.engine import Connection

from domain.errors import LedgerError
from infrastructure.store.sql.statements import ChainStatements


class LostConnection(LedgerError):
    """The connection to the database broke: whether what was being committed is there must be looked up."""


class SqlEngine(Protocol):
    """One database. Every connection commits each statement by itself outside of a transaction."""

    @property
    def place(self) -> str:
        """The database as errors name it: a file, or an address without its password."""
        ...

    @property
    def statements(self) -> ChainStatements:
        """What each event passes."""
        ...

    @property
    def add_contents(self) -> Executable:
        """Inserts rows of `contents`."""
        ...

    def connect(self) -> Connection:
        """A new connection, for the thread that asks. Its errors are for `translate_errors`."""
        ...

    def is_alive(self, connection: Connection) -> bool:
        """Whether a connection that was unused for a while can still be used."""
        ...

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection that sees one state of the database. Raises LedgerError."""
        ...

    def transaction(self, connection: Connection) -> AbstractContextManager[None]:
        """All of what is written inside, or nothing of it."""
        ...

    def synchronous(self, connection: Connection, *, full: bool) -> AbstractContextManager[None]:
        """With `full`, what is committed inside, and all before it, outlives a loss of power."""
        ...

    def translate_errors(self, what: str) -> AbstractContextManager[None]:
        """Turn what the database refuses into a LedgerError; `what` failed, such as "cannot be read"."""
        ...

    def is_broken(self, error: BaseException) -> bool:
        """Whether the connection on which this was raised is not to be used again."""
        ...

    def lock_contents(self, connection: Connection, *, alone: bool) -> None:
        """In a transaction that adds contents, or `alone` takes them away: the one waits for the other."""
        ...

    def erase_removed(self, connection: Connection) -> bool:
        """Leave nothing of what was removed or replaced where it stood; False where others are in the way."""
        ...

    def give_back(self, connection: Connection) -> None:
        """Give the room of what was removed back, if nobody is in the way."""
        ...
