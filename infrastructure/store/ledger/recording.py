"""A session's record: opened from the database, or, where there can be none, for this process alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from tempfile import TemporaryDirectory

from application.session.session_record import SessionRecord
from domain.conversation.session_kind import SessionKind
from domain.errors import LedgerError
from domain.sessions.past_session import LatestSession, NamedSession, NewSession, SessionChoice
from infrastructure.store.ledger.database import Database
from infrastructure.store.ledger.opening import OpenedSession, open_database, open_session


def open_record(
    url: str, environ: Mapping[str, str], choice: SessionChoice, *, cwd: str, fork: bool = False
) -> SessionRecord:
    """The record of the session that is chosen, or, with `fork`, of a copy of it. Blocks.

    Where the record of a new session cannot be kept, there is one for this process alone, which `told` says.
    Raises LedgerError where an earlier session cannot be taken up, ConfigError for an unfit url.
    """
    try:
        database = open_database(url, environ)
    except LedgerError as trouble:
        if not isinstance(choice, NewSession):
            raise
        return _unrecorded_because(trouble, choice.form)
    try:
        opened = _opened(database, choice, cwd, fork=fork)
    except BaseException:
        database.close()
        raise
    return _record(database, opened, form=choice.form if isinstance(choice, NewSession) else SessionKind.AGENT)


def _unrecorded_because(trouble: LedgerError, form: SessionKind) -> SessionRecord:
    told = f"This session is not recorded, and ends with this process: {trouble}"
    try:
        return unrecorded(told, form=form)
    except (LedgerError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise LedgerError(
            f"{trouble}; a session that is not recorded needs room for temporary files, and there is none"
            f" either ({why or error}): make room, or name another folder in TMPDIR"
        ) from error


def unrecorded(*told: str, form: SessionKind = SessionKind.AGENT) -> SessionRecord:
    """A record in a folder of its own, which is gone when it is released. `told` says why.

    Raises LedgerError and OSError where there is no room for it.
    """
    folder = TemporaryDirectory(prefix="quorum-unrecorded-")
    try:
        database = open_database(f"sqlite:///{folder.name}/ledger.sqlite", {})
        record = _record(database, open_session(database, NewSession(), cwd=""), told, form)
    except BaseException:
        folder.cleanup()
        raise

    async def release() -> None:
        try:
            await record.release()
        finally:
            folder.cleanup()

    return SessionRecord(
        session_id=record.session_id,
        ledger=record.ledger,
        archive=record.archive,
        contents=record.contents,
        release=release,
        told=record.told,
        outlives=False,
        begun_as=form,
    )


def _opened(database: Database, choice: SessionChoice, cwd: str, *, fork: bool) -> OpenedSession:
    original: str | None = None
    match choice:
        case LatestSession() if fork:
            original = database.archive.latest_of(cwd)
        case NamedSession(name) if fork:
            original = database.archive.found(name).id
        case _:
            pass
    if original is not None:
        choice = NamedSession(database.archive.forked(original))
    return open_session(database, choice, cwd=cwd)


def _record(
    database: Database, opened: OpenedSession, told: tuple[str, ...] = (), form: SessionKind = SessionKind.AGENT
) -> SessionRecord:
    async def release() -> None:
        try:
            if opened.ledger is not None:
                await opened.ledger.aclose()
        finally:
            await asyncio.to_thread(database.close)

    return SessionRecord(
        session_id=opened.session_id,
        ledger=opened.ledger,
        archive=database.archive,
        contents=database.contents,
        release=release,
        records=opened.records,
        told=(*told, *database.told, *opened.told),
        in_use=str(opened.in_use or ""),
        begun_as=form,
    )
