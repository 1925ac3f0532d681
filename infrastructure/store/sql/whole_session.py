"""Sessions that happened elsewhere, each written as a whole: all of its records or none."""

from __future__ import annotations

from contextlib import ExitStack, closing
from types import TracebackType

from quorum.domain.sessions.session_facts import WholeSession
from quorum.infrastructure.store.sql.copying import SqlStorage
from quorum.infrastructure.store.sql.rows import ADD_NEW_SESSION, ADD_RECORD, build_row


class WholeSessionWriter:
    """Writes such sessions by one connection, from one thread. Blocks. Raises LedgerError."""

    def __init__(self, storage: SqlStorage) -> None:
        self._storage = storage
        self._stack = ExitStack()

    def __enter__(self) -> WholeSessionWriter:
        engine = self._storage.engine
        with engine.translate_errors("cannot be written"):
            self._connection = self._stack.enter_context(closing(engine.connect()))
            engine.expect_bulk(self._connection)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def write(self, session: WholeSession) -> bool:
        """Write it in one transaction; whether it was not there yet.

        It takes no lock of the session: nobody sees it before it is whole, and what is there is left alone.
        """
        facts, chain = session.facts, session.chain
        row: dict[str, object] = {
            "id": session.session_id,
            "cwd": facts.cwd,
            "title": facts.title,
            "model": facts.model,
            "started_ms": chain[0].at_ms,
            "updated_ms": chain[-1].at_ms,
            "turns": facts.turns,
            "records": len(chain),
            "cost": None,
            "parent": None,
            "head": chain[-1].link,
        }
        engine = self._storage.engine
        with engine.translate_errors("cannot be written"), engine.begin_transaction(self._connection):
            if not self._connection.execute(ADD_NEW_SESSION, row).rowcount:
                return False
            self._connection.executemany(ADD_RECORD, [build_row(each, session.session_id) for each in chain])
        return True
