"""Large outputs in the database, in pieces, so that neither side holds a whole one in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from sqlalchemy import func, insert, select

from domain.errors import LedgerError
from infrastructure.store.postgres.server import PostgresServer
from infrastructure.store.postgres.tables import output_pieces, outputs

_FETCHED_AT_ONCE = 4


class PostgresOutputs:
    """Implements `SharedOutputs`, on connections of its own: a long one does not hold up the events."""

    def __init__(self, server: PostgresServer, clock: Callable[[], int]) -> None:
        self._server = server
        self._clock = clock

    def put(self, name: str, size: int, pieces: Iterable[bytes]) -> None:
        """Keep an output of so many bytes, whole or not at all; one that is there already stays as it is."""
        if self.find(name.partition(".")[0]) is not None:
            return
        entry = {"id": name.partition(".")[0], "name": name, "size": size, "kept_ms": self._clock()}
        with (
            self._server.translate_errors("cannot be written"),
            self._server.connect() as connection,
            self._server.transaction(connection),
        ):
            connection.execute(insert(outputs), entry)
            for number, data in enumerate(pieces):
                connection.execute(
                    insert(output_pieces), {"output_id": entry["id"], "number": number, "data": data}
                )

    def find(self, blob_id: str) -> str | None:
        """The name of the output with that id; None where there is none."""
        with self._server.reading() as connection:
            found = connection.execute(select(outputs.c.name).where(outputs.c.id == blob_id))
            name = found.scalar_one_or_none()
        return None if name is None else str(name)

    def list_names(self) -> list[str]:
        """The names of all outputs."""
        with self._server.reading() as connection:
            return list(connection.execute(select(outputs.c.name)).scalars())

    def get(self, name: str) -> Iterator[bytes]:
        """The pieces of an output. Raises LedgerError where one is missing."""
        blob_id = name.partition(".")[0]
        with self._server.reading() as connection:
            size = connection.execute(
                select(outputs.c.size).where(outputs.c.id == blob_id)
            ).scalar_one_or_none()
            query = select(output_pieces.c.data).where(output_pieces.c.output_id == blob_id)
            kept = func.coalesce(func.sum(func.length(output_pieces.c.data)), 0)
            found = connection.execute(select(kept).where(output_pieces.c.output_id == blob_id)).scalar_one()
            if size is None or int(found) != size:
                raise LedgerError(f"the stored output {name} in {self._server.place} is not whole")
            rows = connection.execute(query.order_by(output_pieces.c.number)).yield_per(_FETCHED_AT_ONCE)
            yield from rows.scalars()
