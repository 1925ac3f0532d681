"""What can go wrong with the database, in sentences that name the file and the remedy."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quorum.domain.errors import DamagedLedger, LedgerError

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_ELSEWHERE = "or name another file with [storage] url"
_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; make room and continue",
    sqlite3.SQLITE_READONLY: f"it or its folder is read-only; make both writable, {_ELSEWHERE}",
    sqlite3.SQLITE_PERM: f"access is denied; make it readable and writable for you, {_ELSEWHERE}",
    sqlite3.SQLITE_BUSY: "another process keeps it locked; end that process, or try again when it is done",
    sqlite3.SQLITE_CANTOPEN: f"it cannot be opened; make it and its folder writable for you, {_ELSEWHERE}",
    sqlite3.SQLITE_IOERR: f"the disk refused it; look whether it is full or failing, {_ELSEWHERE}",
    sqlite3.SQLITE_TOOBIG: "what was to be kept is larger than 1 GB",
}
_FOLDER_REASONS = {
    errno.ENOSPC: "the disk is full; make room and try again",
    errno.EDQUOT: "the disk quota is used up; make room and try again",
    errno.EROFS: f"the disk is read-only; make it writable, {_ELSEWHERE}",
    errno.EACCES: f"access is denied; make its folder writable for you, {_ELSEWHERE}",
    errno.EPERM: f"access is denied; make its folder writable for you, {_ELSEWHERE}",
    errno.ENOTDIR: f"a file is in the place of its folder; move that away, {_ELSEWHERE}",
    errno.EISDIR: f"a folder is in its place; move that away, {_ELSEWHERE}",
    errno.EEXIST: f"a file is in the place of its folder; move that away, {_ELSEWHERE}",
    errno.ENOLCK: f"nothing can be locked on this disk; {_ELSEWHERE.removeprefix('or ')}",
    errno.EOPNOTSUPP: f"nothing can be locked on this disk; {_ELSEWHERE.removeprefix('or ')}",
}


@contextmanager
def translate_database_errors(what: str, path: Path) -> Iterator[None]:
    """Turn what database or disk refuse into a LedgerError; `what` failed, such as "cannot be read"."""
    try:
        yield
    except sqlite3.Error as error:
        raise _build_database_error(what, path, error) from error
    except OSError as error:
        reason = (
            _FOLDER_REASONS.get(error.errno or 0) or f"{error.strerror or error}; see to that, {_ELSEWHERE}"
        )
        raise LedgerError(f"the session ledger {path} {what}: {reason}") from error


def locate_marker(path: Path) -> Path:
    """The file that tells the next opening that damage was found, wherever in the database it was."""
    return path.with_name(f"{path.name}-damaged")


def _build_database_error(what: str, path: Path, error: sqlite3.Error) -> LedgerError:
    # The lowest byte is the kind of error; what is above tells variants apart.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGE:
        with suppress(OSError):
            locate_marker(path).touch(mode=0o600)
        return DamagedLedger(
            f"the session ledger {path} {what}: the file is damaged ({error}); "
            "end every quorum and start it again, and what can be read is saved"
        )
    return LedgerError(f"the session ledger {path} {what}: {_REASONS.get(code) or error}")
