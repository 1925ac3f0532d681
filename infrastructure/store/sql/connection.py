"""A connection as the statements need it: SQL text with `:name` for a value, the same for each database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

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
