"""What the ledger needs of a database: connections, transactions, and SQL text that is the same for each.

In that text `:name` stands for a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, TypeVar

Row: TypeAlias = Sequence[Any]
"""What the database gives for the columns of a statement. In a damaged file it may be anything."""
Values: TypeAlias = dict[str, Any]
"""Each under its name. The driver of SQLite takes no other mapping than a plain one."""
NO_VALUES: Values = {}


class SqlResult(Protocol):
    """What came of a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows were added, changed or removed."""
        ...

    def fetchone(self) -> Row | None:
        """The next row; None where there is none."""
        ...

    def fetchall(self) -> Sequence[Row]:
        """The rows that are left."""
        ...

    def __iter__(self) -> Iterator[Row]:
        """The rows that are left, one by one."""
        ...


class SqlConnection(Protocol):
    """A connection, for one thread. Outside of a transaction each statement commits by itself."""

    def execute(self, statement: str, values: Values = NO_VALUES, /) -> SqlResult: ...

    def executemany(self, statement: str, values: list[Values], /) -> SqlResult:
        """Run a statement that returns nothing, for each of these."""
        ...

    def has_table(self, name: str) -> bool:
        """Whether there is this table, which earlier versions made no database with."""
        ...

    def add_table(self, name: str) -> None:
        """Make such a table, if there is none yet."""
        ...

    def rollback(self) -> None:
        """Undo what was done in the transaction; nothing where the database has ended it already."""
        ...

    def close(self) -> None: ...


def expand(name: str, values: Sequence[object]) -> tuple[str, dict[str, object]]:
    """A list of values for `IN (…)`: their places in the statement, and the values by their names."""
    named = {f"{name}{number}": value for number, value in enumerate(values)}
    return ", ".join(f":{each}" for each in named), named


_Result = TypeVar("_Result")


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

    def read(self, work: Callable[[SqlConnection], _Result]) -> _Result:
        """What `work` makes of one state of the database. It outlasts an outage. Raises LedgerError."""
        ...

    def outlast(self, work: Callable[[], _Result]) -> _Result:
        """Do this, and where the connection broke wait for the server and do it again, which it must bear.

        Raises LedgerError, and LostConnection where the server was waited for in vain.
        """
        ...

    def begin_transaction(self, connection: SqlConnection) -> AbstractContextManager[None]:
        """All of what is written inside, or nothing of it."""
        ...

    def set_synchronous(self, connection: SqlConnection, *, full: bool) -> AbstractContextManager[None]:
        """With `full`, what is committed inside, and all before it, outlives a loss of power."""
        ...

    def expect_bulk(self, connection: SqlConnection) -> None:
        """Much is going to be written by this connection: it need not be in its final place at once."""
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
