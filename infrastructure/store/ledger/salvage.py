"""What can still be read of a damaged database, put into a new one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from msgspec import Struct

from quorum.domain.sessions.ledger_chain import NO_LINK, ChainedRecord, find_flaw, keep_linked_entries, relink
from quorum.domain.sessions.session_facts import escape_surrogates
from quorum.infrastructure.store.ledger.sqlite_file import (
    TABLE_NAMES,
    SqliteConnection,
    SqliteFile,
    begin_transaction,
)
from quorum.infrastructure.store.sql.archive import build_session_row
from quorum.infrastructure.store.sql.connection import Row
from quorum.infrastructure.store.sql.contents import is_whole, read_place, unpack_content
from quorum.infrastructure.store.sql.rows import (
    ADD_RECORD,
    ADD_SESSION,
    CONTENT,
    RECORD,
    REDACTION,
    SESSION,
    SessionRow,
    build_redaction_entry,
    build_row,
    build_summary,
    insert_redactions,
    read_chained_record,
    read_redactions,
)

_AT_ONCE = 50
_MOST_MISSES = 20_000
_NAMED_AT_MOST = 10
_ADD_CONTENT = f"INSERT OR IGNORE INTO contents ({CONTENT}) VALUES (:sha256, :size, :kept_ms, :data)"
_LIST_RECORDS = f"SELECT {RECORD} FROM records WHERE session_id = :session_id ORDER BY rowid"


class Salvaged(Struct, frozen=True, kw_only=True):
    """What was saved: sessions whole, sessions up to a record, and those of which nothing was left."""

    whole: int = 0
    cut: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    def summarise(self) -> str:
        if not self.whole and not self.cut and not self.lost:
            return "No session could be read in it"
        parts = [f"{_count(self.whole)} saved whole"]
        parts += [f"saved only in part: {_list_some(self.cut)}"] if self.cut else []
        parts += [f"lost: {_list_some(self.lost)}"] if self.lost else []
        return "; ".join(parts)


def salvage(damaged: Path, into: SqliteFile) -> Salvaged:
    """Copy what can be read of the damaged file into an empty database.

    Of each session that is its records up to the first that is missing or does not fit; what comes after would
    stand on nothing. Raises sqlite3.Error only for what goes wrong with the new database.
    """
    with closing(into.connect()) as new:
        # A session's entry is made last, from what was saved of it.
        new.execute("PRAGMA foreign_keys = OFF")
        known: dict[str, SessionRow] = {}
        with ExitStack() as opened, begin_transaction(new):
            old = _open_damaged(damaged, opened)
            if old is not None:
                listed = [SessionRow(*row[1:]) for row in _read_rows(old, "sessions", SESSION)]
                known = {row.id: row for row in listed if isinstance(row.id, str)}
                _copy_records(old, new)
                _copy_redactions(old, new)
                _copy_contents(old, new)
        with begin_transaction(new):
            return _keep_what_fits(new, known)


def _open_damaged(damaged: Path, opened: ExitStack) -> SqliteConnection | None:
    """A connection to the damaged file; None where not even the list of its tables is left."""
    try:
        connection = opened.enter_context(closing(SqliteFile(damaged, lenient=True).connect()))
        named = connection.list_tables()
    except sqlite3.Error:
        return None
    return connection if named >= TABLE_NAMES else None


def _copy_records(old: SqliteConnection, new: SqliteConnection) -> None:
    for row in _read_rows(old, "records", f"session_id, {RECORD}"):
        session_id = row[1]
        if isinstance(session_id, str):
            new.execute(ADD_RECORD, build_row(read_chained_record(row[2:]), session_id))


def _copy_redactions(old: SqliteConnection, new: SqliteConnection) -> None:
    for row in _read_rows(old, "redactions", f"session_id, {REDACTION}"):
        session_id = row[1]
        if isinstance(session_id, str):
            insert_redactions(new, session_id, [build_redaction_entry(row[2:])])


def _keep_redactions(new: SqliteConnection, session_id: str, kept: list[ChainedRecord]) -> None:
    """Keep the redactions of the records that were saved."""
    found = keep_linked_entries(session_id, read_redactions(new, session_id))
    links = {record.link: record.link for record in kept}
    new.execute("DELETE FROM redactions WHERE session_id = :session_id", {"session_id": session_id})
    insert_redactions(new, session_id, relink(session_id, found, links))


def _copy_contents(old: SqliteConnection, new: SqliteConnection) -> None:
    for _place, sha256, size, kept_ms, data in _read_rows(old, "contents", CONTENT):
        content = unpack_content(data, size)
        is_usable = read_place(data) is not None or (content is not None and is_whole(sha256, content))
        if is_usable and isinstance(size, int) and isinstance(kept_ms, int):
            values = {"sha256": sha256, "size": size, "kept_ms": kept_ms, "data": data}
            new.execute(_ADD_CONTENT, values)


def _keep_what_fits(new: SqliteConnection, known: dict[str, SessionRow]) -> Salvaged:
    whole, cut = 0, []
    lost = set(known)
    for (session_id,) in new.execute("SELECT DISTINCT session_id FROM records").fetchall():
        fitting_records, found = _select_fitting(new, session_id)
        named = {"session_id": session_id}
        if not fitting_records:
            new.execute("DELETE FROM records WHERE session_id = :session_id", named)
            lost.add(session_id)
            continue
        lost.discard(session_id)
        last = fitting_records[-1]
        beyond = {**named, "last": last.seq}
        new.execute("DELETE FROM records WHERE session_id = :session_id AND seq > :last", beyond)
        _keep_redactions(new, session_id, fitting_records)
        row = known.get(session_id)
        entry = None if row is None else build_summary(row, None)
        expected = max(found, entry.records if entry else 0)
        parent, updated_ms = (entry.parent, max(entry.updated_ms, last.at_ms)) if entry else (None, last.at_ms)
        new.execute(
            ADD_SESSION,
            build_session_row(session_id, fitting_records, parent=parent, updated_ms=updated_ms),
        )
        if len(fitting_records) < expected:
            cut.append(f"{session_id}, {len(fitting_records)} of {expected} records")
        else:
            whole += 1
    return Salvaged(whole=whole, cut=tuple(cut), lost=tuple(sorted(lost)))


def _select_fitting(new: SqliteConnection, session_id: str) -> tuple[list[ChainedRecord], int]:
    """The records of a session up to the first that does not fit, and how many there were."""
    kept: list[ChainedRecord] = []
    before, found = NO_LINK, 0
    for row in new.execute(_LIST_RECORDS, {"session_id": session_id}):
        record = read_chained_record(row)
        if found == len(kept) and not find_flaw(record, session_id, before, found):
            kept.append(record)
            before = record.link
        found += 1
    return kept, found


def _read_rows(connection: SqliteConnection, table: str, columns: str) -> Iterator[Row]:
    """The place and these columns of every row that can be read, in order; where a stretch cannot, row by row
    around the damage. Text that is damaged is escaped, as a database does not store it."""
    query = f"SELECT rowid, {columns} FROM {table} WHERE rowid > :last ORDER BY rowid LIMIT {_AT_ONCE}"
    top = _find_highest(connection, table)
    last, misses = 0, 0
    most = _MOST_MISSES if top is not None else _MOST_MISSES // 10
    while misses < most and (top is None or last < top):
        try:
            found = connection.execute(query, {"last": last}).fetchall()
            if not found:
                return
            last = found[-1][0]
        except sqlite3.Error:
            found = _read_one_by_one(connection, table, columns, last)
            last += _AT_ONCE
        misses = 0 if found else misses + _AT_ONCE
        for row in found:
            yield tuple(escape_surrogates(each) if isinstance(each, str) else each for each in row)


def _read_one_by_one(connection: SqliteConnection, table: str, columns: str, last: int) -> list[Row]:
    found: list[Row] = []
    query = f"SELECT rowid, {columns} FROM {table} WHERE rowid = :place"
    for place in range(last + 1, last + 1 + _AT_ONCE):
        try:
            found += connection.execute(query, {"place": place}).fetchall()
        except sqlite3.Error:
            continue
    return found


def _find_highest(connection: SqliteConnection, table: str) -> int | None:
    """The number of the last row; None where that cannot be read."""
    try:
        (highest,) = connection.execute(f"SELECT MAX(rowid) FROM {table}").fetchone()
    except sqlite3.Error:
        return None
    return highest if isinstance(highest, int) else 0


def _count(sessions_saved: int) -> str:
    return f"{sessions_saved} session was" if sessions_saved == 1 else f"{sessions_saved} sessions were"


def _list_some(named: tuple[str, ...]) -> str:
    more = len(named) - _NAMED_AT_MOST
    return ", ".join(named[:_NAMED_AT_MOST]) + (f", and {more} more" if more > 0 else "")
