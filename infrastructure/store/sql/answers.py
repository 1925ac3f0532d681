"""Answers to reviews from other processes, and signatures, in tables beside the events."""

from __future__ import annotations

import math
from collections.abc import Callable

from quorum.domain.errors import LedgerError
from quorum.domain.review.questions import RemoteAnswer
from quorum.domain.review.signing import ApprovalSignature
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.store.sql.connection import Row, SqlConnection, SqlEngine
from quorum.infrastructure.store.sql.rows import (
    ADD_ANSWER,
    ADD_SEEN,
    ADD_SIGNATURE,
    ANSWER,
    APPROVAL_SIGNATURES,
    REVIEW_ANSWERS,
    SEEN_DECISIONS,
    SIGNATURE,
)
from quorum.infrastructure.store.sql.session_locks import wait_to_the_end
from quorum.infrastructure.store.sql.writer import Writer

_LIST_SIGNATURES = (
    f"SELECT {SIGNATURE} FROM {APPROVAL_SIGNATURES} WHERE session_id = :session_id AND digest = :digest "
    "ORDER BY at_ms, person"
)
_FIND_SEEN = f"SELECT at_ms FROM {SEEN_DECISIONS} WHERE session_id = :session_id AND digest = :digest"
_FIND = f"SELECT {ANSWER} FROM {REVIEW_ANSWERS} WHERE session_id = :session_id AND digest = :digest"


class SqlAnswers:
    """Implements `AnswerStore` in the database of the sessions.

    `clock` gives milliseconds since 1970, the same on all machines that share the database. `follow_up` is
    given the id of a session in the transaction that keeps an answer for it.
    """

    def __init__(
        self,
        engine: SqlEngine,
        writer: Writer,
        clock: Callable[[], int],
        *,
        follow_up: Callable[[SqlConnection, str], None] = lambda _connection, _session_id: None,
    ) -> None:
        self._engine = engine
        self._writer = writer
        self._clock = clock
        self._follow_up = follow_up

    async def add(self, answer: RemoteAnswer) -> RemoteAnswer:
        # Once it is kept, it is found as the first one.
        done = self._writer.submit(lambda connection: self._add(connection, answer), is_repeatable=True)
        return await wait_to_the_end(done)

    async def find(self, session_id: str, digest: str) -> RemoteAnswer | None:
        return await run_in_thread(lambda _stop: self._find_blocking(session_id, digest))

    async def add_signature(self, signature: ApprovalSignature) -> None:
        done = self._writer.submit(
            lambda connection: self._add_signature(connection, signature), is_repeatable=True
        )
        await wait_to_the_end(done)

    async def list_signatures(self, session_id: str, digest: str) -> tuple[ApprovalSignature, ...]:
        named = {"session_id": session_id, "digest": digest}
        return await run_in_thread(
            lambda _stop: self._engine.read(
                lambda connection: (
                    tuple(map(_read_signature, connection.execute(_LIST_SIGNATURES, named).fetchall()))
                    if connection.has_table(APPROVAL_SIGNATURES)
                    else ()
                )
            )
        )

    async def note_seen(self, session_id: str, digest: str) -> None:
        row = {"session_id": session_id, "digest": digest, "at_ms": self._clock()}

        def note(connection: SqlConnection) -> None:
            with self._engine.begin_transaction(connection):
                connection.add_table(SEEN_DECISIONS)
                connection.execute(ADD_SEEN, row)

        await wait_to_the_end(self._writer.submit(note, is_repeatable=True))

    async def find_seen_age_secs(self, session_id: str, digest: str) -> float:
        named = {"session_id": session_id, "digest": digest}
        seen = await run_in_thread(
            lambda _stop: self._engine.read(
                lambda connection: (
                    connection.execute(_FIND_SEEN, named).fetchone()
                    if connection.has_table(SEEN_DECISIONS)
                    else None
                )
            )
        )
        age_ms = self._clock() - seen[0] if seen is not None and isinstance(seen[0], int) else -1
        return age_ms / 1000 if age_ms >= 0 else math.inf  # a clock that was put back says nothing

    def _add_signature(self, connection: SqlConnection, signature: ApprovalSignature) -> None:
        with self._engine.begin_transaction(connection):
            connection.add_table(APPROVAL_SIGNATURES)
            row = {
                "session_id": signature.session_id,
                "digest": signature.digest,
                "person": encode_text(signature.person),
                "at_ms": signature.at_ms,
                "signature": encode_text(signature.signature),
            }
            if connection.execute(ADD_SIGNATURE, row).rowcount:
                self._follow_up(connection, signature.session_id)

    def _find_blocking(self, session_id: str, digest: str) -> RemoteAnswer | None:
        return self._engine.read(
            lambda connection: (
                _find(connection, session_id, digest) if connection.has_table(REVIEW_ANSWERS) else None
            )
        )

    def _add(self, connection: SqlConnection, answer: RemoteAnswer) -> RemoteAnswer:
        with self._engine.begin_transaction(connection):
            connection.add_table(REVIEW_ANSWERS)
            if connection.execute(ADD_ANSWER, _build_row(answer)).rowcount:
                self._follow_up(connection, answer.session_id)
                return answer
        earlier = _find(connection, answer.session_id, answer.digest)
        if earlier is None:
            raise LedgerError(f"the answer was given before, and is gone from {self._engine.place}; try again")
        return earlier


def _find(connection: SqlConnection, session_id: str, digest: str) -> RemoteAnswer | None:
    row = connection.execute(_FIND, {"session_id": session_id, "digest": digest}).fetchone()
    return None if row is None else _read_row(row)


def _read_row(row: Row) -> RemoteAnswer:
    session_id, digest, approves, reason, answered_by, at_ms = row
    return RemoteAnswer(
        session_id=str(session_id),
        digest=str(digest),
        # Anything but a plain yes, which SQLite keeps as 1, is a no, whatever a damaged row holds.
        approves=isinstance(approves, int) and approves == 1,
        reason=None if reason is None else str(reason),
        answered_by=str(answered_by),
        at_ms=at_ms if isinstance(at_ms, int) else 0,
    )


def _read_signature(row: Row) -> ApprovalSignature:
    session_id, digest, person, at_ms, signature = row
    return ApprovalSignature(
        session_id=str(session_id),
        digest=str(digest),
        person=str(person),
        at_ms=at_ms if isinstance(at_ms, int) else 0,
        signature=str(signature),
    )


def _build_row(answer: RemoteAnswer) -> dict[str, object]:
    return {
        "session_id": answer.session_id,
        "digest": answer.digest,
        "approves": answer.approves,
        # Text that a database takes: no halves of surrogate pairs, and no NUL.
        "reason": None if answer.reason is None else encode_text(answer.reason),
        "answered_by": encode_text(answer.answered_by),
        "at_ms": answer.at_ms,
    }


def encode_text(text: str) -> str:
    """Text that a database takes: no halves of surrogate pairs, and no NUL."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\0")
