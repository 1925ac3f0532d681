"""The statements that each event passes, spelled out once for a database."""

from __future__ import annotations

from sqlalchemy import bindparam, insert, update
from sqlalchemy.engine import Dialect

from domain.lazy_dataclass import dataclass
from infrastructure.store.sql.schema import records, sessions

COUNTED = ("updated_ms", "turns", "records", "cost", "head")
"""The columns of a session that change with each record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainStatements:
    """SQL for the driver. `add` puts records at the end; `count` follows them in the list of sessions, if the
    session has still `stored` records, of which the last has the link `before`."""

    add: str
    count: str


def compile_statements(dialect: Dialect) -> ChainStatements:
    """The statements as a driver takes them: to spell them out anew takes as long as to write an event."""
    count = (
        update(sessions)
        .where(
            sessions.c.id == bindparam("session"),
            sessions.c.records == bindparam("stored"),
            sessions.c.head == bindparam("before"),
        )
        .values({name: bindparam(name) for name in COUNTED})
    )
    return ChainStatements(
        add=str(insert(records).compile(dialect=dialect)), count=str(count.compile(dialect=dialect))
    )
