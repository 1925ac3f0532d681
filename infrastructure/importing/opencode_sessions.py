"""Sessions of opencode: rows of `opencode.db`, which is only read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from quorum.domain.importing.foreign_session import (
    ForeignAnswer,
    ForeignCall,
    ForeignItem,
    ForeignPrompt,
    ForeignResult,
    ForeignSession,
    ForeignSummary,
)
from quorum.infrastructure.importing.session_files import ReadSession, SessionSource

AGENT = "opencode"
FILE_NAME = "opencode.db"
_COLUMNS = {
    "session": {"id", "parent_id", "directory", "model", "time_created"},
    "message": {"id", "session_id", "time_created", "data"},
    "part": {"id", "message_id", "session_id", "data"},
}
_SESSIONS = """SELECT s.id, COALESCE((SELECT SUM(LENGTH(p.data)) FROM part p WHERE p.session_id = s.id), 0)
FROM session s WHERE s.parent_id IS NULL ORDER BY s.time_created, s.id"""
_PARTS = """SELECT m.id, m.time_created, m.data, p.data FROM message m LEFT JOIN part p ON p.message_id = m.id
WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id"""


def list_opencode_sessions(folder: Path) -> Iterator[SessionSource]:
    """All sessions of persons. Raises ValueError for a database of another form, and OSError."""
    file = folder / FILE_NAME
    if not file.is_file():
        return
    with closing(_connect(file)) as connection:
        try:
            for table, columns in _COLUMNS.items():
                found = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
                if missing := columns - found:
                    raise ValueError(
                        f"its table {table} has no {', '.join(sorted(missing))}, as quorum knows it"
                    )
            rows = connection.execute(_SESSIONS).fetchall()
        except sqlite3.Error as error:
            raise ValueError(f"it cannot be read: {error}") from error
    for name, size in rows:
        yield SessionSource(agent=AGENT, file=file, size=size, name=name)


def _connect(file: Path) -> sqlite3.Connection:
    """Without a log beside it, it is opened so that none is made."""
    has_log = os.path.exists(f"{file}-wal")
    address = f"file:{quote(str(file))}?mode=ro{'' if has_log else '&immutable=1'}"
    try:
        return sqlite3.connect(address, uri=True)
    except sqlite3.Error as error:
        raise OSError(f"{file} cannot be opened: {error}") from error


def read_opencode_session(source: SessionSource) -> ReadSession | None:
    """Begin to read one. Raises OSError and ValueError."""
    with closing(_connect(source.file)) as connection:
        try:
            query = "SELECT directory, model, time_created FROM session WHERE id = ?"
            row = connection.execute(query, (source.name,)).fetchone()
        except sqlite3.Error as error:
            raise ValueError(f"it cannot be read: {error}") from error
    if row is None:
        return None
    directory, model, created = row
    session = ForeignSession(
        agent=AGENT,
        source_id=source.name,
        cwd=str(directory),
        model=_name_model(_decode(model)),
        started_ms=int(created or 0),
        file=str(source.file),
    )
    flaws: list[str] = []
    return ReadSession(session=session, items=_read_items(source, flaws), flaws=flaws)


def _name_model(model: Mapping[str, Any]) -> str:
    provider = str(model.get("providerID") or "unknown")
    return f"{provider}/{model.get('id') or model.get('modelID') or 'unknown'}"


def _decode(text: object) -> Mapping[str, Any]:
    try:
        found = msgspec.json.decode(text) if isinstance(text, str | bytes) else None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def _read_items(source: SessionSource, flaws: list[str]) -> Iterator[ForeignItem]:
    message: tuple[str, int, Mapping[str, Any]] | None = None
    parts: list[Mapping[str, Any]] = []
    with closing(_connect(source.file)) as connection:
        for name, created, data, part in connection.execute(_PARTS, (source.name,)):
            if message is None or message[0] != name:
                yield from _read_message(message, parts)
                message, parts = (name, int(created or 0), _decode(data)), []
                if not message[2]:
                    flaws.append(f"{source.file}: the message {name} is damaged and is left out")
            parts.append(_decode(part))
        yield from _read_message(message, parts)


def _read_message(
    message: tuple[str, int, Mapping[str, Any]] | None, parts: list[Mapping[str, Any]]
) -> Iterator[ForeignItem]:
    if message is None:
        return
    _, at_ms, data = message
    said = [part for part in parts if part.get("type") == "text" and not part.get("ignored")]
    text = "\n\n".join(str(part.get("text", "")) for part in said if not part.get("synthetic"))
    if data.get("role") == "user":
        if text:
            yield ForeignPrompt(at_ms=at_ms, text=text)
        return
    if data.get("summary") is True:
        yield ForeignSummary(at_ms=at_ms, text=text)
        return
    tools = [part for part in parts if part.get("type") == "tool"]
    thoughts = [str(part.get("text", "")) for part in parts if part.get("type") == "reasoning"]
    yield ForeignAnswer(
        at_ms=at_ms,
        text=text,
        reasoning="\n\n".join(thoughts),
        calls=tuple(_read_call(part) for part in tools),
        model=str(data.get("modelID", "")),
    )
    for part in tools:
        state = part.get("state")
        if isinstance(state, Mapping) and state.get("status") in ("completed", "error"):
            is_error = state["status"] == "error"
            output = str(state.get("error" if is_error else "output") or "")
            yield ForeignResult(at_ms=at_ms, call_id=str(part.get("callID")), output=output, is_error=is_error)


def _read_call(part: Mapping[str, Any]) -> ForeignCall:
    state = part.get("state")
    given = state.get("input") if isinstance(state, Mapping) else None
    return ForeignCall(
        id=str(part.get("callID")),
        tool=str(part.get("tool")),
        arguments=given if isinstance(given, dict) else {},
    )
