"""Answers to reviews from other processes, in a table beside the events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Row, insert, select
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from domain.review.remote_answer import RemoteAnswer
from infrastructure.blocking import run_in_thread
from infrastructure.store.sql.engine import SqlEngine
from infrastructure.store.sql.schema import has_review_answers, review_answers
from infrastructure.store.sql.waiting import wait_to_the_end
from infrastructure.store.sql.writer import Writer


class SqlAnswers:
    """Implements `AnswerStore` in the database of the sessions.

    `follow_up` is given the id of a session in the transaction that keeps an answer for it.
    """

    def __init__(
        self,
        engine: SqlEngine,
        writer: Writer,
        *,
        follow_up: Callable[[Connection, str], None] = lambda _connection, _session_id: None,
    ) -> None:
        self._engine = engine
        self._writer = writer
        self._follow_up = follow_up

    async def add(self, answer: RemoteAnswer) -> RemoteAnswer:
        """Keep this answer, if it is the first about its packet; the one that is kept then."""
        return await wait_to_the_end(self._writer.do(lambda connection: self._add(connection, answer)))

    async def find(self, session_id: str, digest: str) -> RemoteAnswer | None:
        """The answer about the packet of this digest in this session, if there is one."""
        return await run_in_thread(lambda _stop: self._find_blocking(session_id, digest))

    def _find_blocking(self, session_id: str, digest: str) -> RemoteAnswer | None:
        with self._engine.reading() as connection:
            if not has_review_answers(connection):
                return None
            return _find(connection, session_id, digest)

    def _add(self, connection: Connection, answer: RemoteAnswer) -> RemoteAnswer:
        try:
            with self._engine.transaction(connection):
                review_answers.create(connection, checkfirst=True)
                if (earlier := _find(connection, answer.session_id, answer.digest)) is not None:
                    return earlier
                connection.execute(insert(review_answers), _build_row(answer))
                self._follow_up(connection, answer.session_id)
        except IntegrityError:  # another process was first, between our looking and writing
            earlier = _find(connection, answer.session_id, answer.digest)
            if earlier is None:
                raise
            return earlier
        return answer


def _find(connection: Connection, session_id: str, digest: str) -> RemoteAnswer | None:
    query = select(review_answers).where(
        review_answers.c.session_id == session_id, review_answers.c.digest == digest
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else _read_row(row)


def _read_row(row: Row[Any]) -> RemoteAnswer:
    return RemoteAnswer(
        session_id=str(row.session_id),
        digest=str(row.digest),
        # Anything but a plain yes is a no, whatever a damaged row holds.
        approves=row.approves is True,
        reason=None if row.reason is None else str(row.reason),
        answered_by=str(row.answered_by),
        at_ms=int(row.at_ms) if isinstance(row.at_ms, int) else 0,
    )


def _build_row(answer: RemoteAnswer) -> dict[str, object]:
    return {
        "session_id": answer.session_id,
        "digest": answer.digest,
        "approves": answer.approves,
        # Text that a database takes: no halves of surrogate pairs, and no NUL.
        "reason": None if answer.reason is None else _encode(answer.reason),
        "answered_by": _encode(answer.answered_by),
        "at_ms": answer.at_ms,
    }


def _encode(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\0")
