"""Large outputs in the database, in pieces, so that neither side holds a whole one in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from quorum.domain.errors import LedgerError
from quorum.infrastructure.store.postgres.server import PostgresServer
from quorum.infrastructure.store.sql.schema import build_insert

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
