"""Full-text search over prompts and answers of recorded sessions.

The index is a file of its own, filled when it is searched, and can be thrown away at any time: it is no part of
the record. What a search shows was looked up in the record again: nothing is shown that was removed from it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

from msgspec import Struct

from quorum.application.ports.storage import SessionArchive
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import ResponseCompleted, TurnStarted
from quorum.domain.sessions.session_summary import LedgerRecord, SessionSummary
from quorum.infrastructure.config.paths import locate_state_folder

_FILE = "search.sqlite"
_VERSION = 1
_SIDE_FILES = ("", "-journal", "-wal", "-shm")
_SNIPPET_WORDS = 16
_MANY = 500
"""So many sessions are taken in at once without a word: it takes a second."""
_KEPT_AFTER = 200
_SCHEMA = (
    "PRAGMA secure_delete = ON",
    "CREATE TABLE IF NOT EXISTS sessions (number INTEGER PRIMARY KEY, id TEXT UNIQUE, updated_ms INTEGER, "
    "records INTEGER)",
    "CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5 (text)",
    f"PRAGMA user_version = {_VERSION}",
)
_FIND = (
    f"SELECT id, snippet(texts, 0, '', '', '…', {_SNIPPET_WORDS}), text FROM texts JOIN sessions ON "
    "number = texts.rowid WHERE texts MATCH ? ORDER BY updated_ms DESC"
)


class FoundSession(Struct, frozen=True, kw_only=True):
    """A session in which all the words stand, and the text around the first of them."""

    session: SessionSummary
    snippet: str


def locate_search_index(environ: Mapping[str, str]) -> Path | None:
    """The file of the index; None where there is no state folder."""
    state = locate_state_folder(environ)
    return None if state is None else state / _FILE


def discard_search_index(path: Path | None) -> None:
    """Remove the index: the next search fills it anew. Raises OSError."""
    if path is not None:
        for side in _SIDE_FILES:
            path.with_name(path.name + side).unlink(missing_ok=True)


class SessionSearch:
    """Searches the sessions of an archive by way of the index at `path`; None: an index in memory.

    `mask` hides secrets before a text is searched: a part of one, as it may stand in a snippet, is not known.
    `announce` is told how many sessions are taken in before a search where that will be felt.
    """

    def __init__(
        self,
        archive: SessionArchive,
        path: Path | None,
        *,
        mask: Callable[[str], str] = lambda text: text,
        announce: Callable[[int], None] = lambda _count: None,
    ) -> None:
        self._archive, self._path, self._mask, self._announce = archive, path, mask, announce

    async def search(self, words: Sequence[str], *, cwd: str | None, limit: int) -> list[FoundSession]:
        """The sessions of this folder, or of all, in which all words stand, the one used last first. Raises
        LedgerError."""
        try:
            return await self._search(words, cwd, limit)
        except (OSError, sqlite3.DatabaseError):  # damaged, or of another program: it is derived, and made anew
            with suppress(OSError):
                discard_search_index(self._path)
        try:
            return await self._search(words, cwd, limit)
        except (OSError, sqlite3.Error) as error:
            raise LedgerError(f"the index of sessions, {self._path}, cannot be used: {error}") from error

    async def _search(self, words: Sequence[str], cwd: str | None, limit: int) -> list[FoundSession]:
        listed = {each.id: each for each in await self._archive.list_sessions() if each.owner is None}
        with closing(self._open()) as index:
            await self._update(index, listed)
            query = " ".join('"' + _make_storable(word).replace('"', '""') + '"' for word in words)
            hits: list[FoundSession] = []
            is_stale = False
            for id_, snippet, text in index.execute(_FIND, (query,)).fetchall():
                session = listed.get(id_)  # another search may have taken one in since
                if session is None or (cwd is not None and session.cwd != cwd):
                    continue
                if await self._read(session) != text:  # redacted since, by whichever process
                    index.execute("DELETE FROM sessions WHERE id = ?", (id_,))
                    is_stale = True
                    continue
                hits.append(FoundSession(session=session, snippet=" ".join(str(snippet).split())))
                if len(hits) == limit:
                    break
            index.commit()
        return await self._search(words, cwd, limit) if is_stale else hits

    def _open(self) -> sqlite3.Connection:
        if self._path is None:
            index = sqlite3.connect(":memory:")
        else:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            index = sqlite3.connect(self._path, timeout=10)
        (version,) = index.execute("PRAGMA user_version").fetchone()
        if version not in (0, _VERSION):
            index.close()
            raise sqlite3.DatabaseError("the index is of another version")
        for statement in _SCHEMA:
            index.execute(statement)
        return index

    async def _update(self, index: sqlite3.Connection, listed: Mapping[str, SessionSummary]) -> None:
        """Take in what has changed, and drop what is gone from the list or from the table of sessions."""
        known = {id_: (number, *rest) for number, id_, *rest in index.execute("SELECT * FROM sessions")}
        for id_ in known.keys() - listed.keys():
            index.execute("DELETE FROM sessions WHERE id = ?", (id_,))
        gone = index.execute("DELETE FROM texts WHERE rowid NOT IN (SELECT number FROM sessions)")
        if gone.rowcount:
            # The words of deleted rows would be left in the file.
            index.execute("INSERT INTO texts (texts) VALUES ('optimize')")
        changed = [
            session
            for session in listed.values()
            if known.get(session.id, ())[1:] != (session.updated_ms, session.records)
        ]
        if len(changed) >= _MANY:
            self._announce(len(changed))
        for place, session in enumerate(changed, 1):
            number, *_ = known.get(session.id, (None,))
            text = await self._read(session)
            if number is not None:
                index.execute("DELETE FROM texts WHERE rowid = ?", (number,))
            added = index.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                "updated_ms = excluded.updated_ms, records = excluded.records",
                (number, session.id, session.updated_ms, session.records),
            )
            index.execute(
                "INSERT INTO texts (rowid, text) VALUES (?, ?)",
                (number if number is not None else added.lastrowid, text),
            )
            if place % _KEPT_AFTER == 0:  # whoever breaks off a long filling goes on there
                index.commit()
        index.commit()

    async def _read(self, session: SessionSummary) -> str:
        """All prompts and answers of a session; empty where it was deleted since it was listed."""
        try:
            records = await self._archive.read(session.id, (TurnStarted.type, ResponseCompleted.type))
        except LedgerError:
            if session.id in {each.id for each in await self._archive.list_sessions()}:
                raise
            return ""
        return self._mask(_make_storable("\n".join(_list_texts(records))))


def _make_storable(text: str) -> str:
    """The text without what is damaged in it, which SQLite does not take."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _list_texts(records: Sequence[LedgerRecord]) -> Iterator[str]:
    for record in records:
        match record.event:
            case TurnStarted(prompt=prompt) if prompt:
                yield prompt
            case ResponseCompleted(response=response, is_notice=False):
                yield response.text_content()
