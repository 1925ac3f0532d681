"""Who may write: a lock for each session, and one for the file. The kernel frees them with the process."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quorum.domain.errors import LedgerError, SessionInUse
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.store.ledger.sqlite_file import translate_database_errors
from quorum.infrastructure.store.sql.connection import SqlConnection, Values
from quorum.infrastructure.store.sql.session_locks import SessionHolder

_ID = r"[0-9A-Za-z-]{1,64}"
_OPENING = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
# Whoever lists sessions tries each lock for a moment; that is not yet another writer.
_TRIES, _PAUSE_SECS = 8, 0.02
_MENDING_SECS = 60.0


class SessionLock:
    """The right to write one session, held until `release` or the end of the process."""

    notices: tuple[str, ...] = ()

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def acquire(cls, folder: Path, session_id: str) -> SessionLock:
        """Take the lock of a session. Raises SessionInUse, or LedgerError where locks cannot be made."""
        if not compile_once(_ID).fullmatch(session_id):
            raise LedgerError(f"{session_id[:70]!a} is not an id of a session")
        path = folder / f"{session_id}.lock"
        pid: int | None = None
        for _ in range(_TRIES):
            with translate_database_errors("cannot be written", path):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                descriptor = os.open(path, _OPENING, 0o600)
                try:
                    if _try(descriptor, fcntl.LOCK_EX):
                        # The one before may have taken the file away between our opening and locking it.
                        if _is_at(descriptor, path):
                            _write_pid(descriptor)
                            lock, descriptor = cls(path, descriptor), -1
                            return lock
                        continue
                    pid = _read_pid(descriptor)
                finally:
                    if descriptor >= 0:
                        os.close(descriptor)
            time.sleep(_PAUSE_SECS)
        by = f"process {pid}" if pid else "another process"
        raise SessionInUse(
            f"session {session_id} is open in {by}; it can be read and forked here, and continued when "
            "that one has ended",
            pid=pid,
        )

    def find_loss(self, _connection: SqlConnection) -> str:
        """Nothing: what the kernel locked is held."""
        return ""

    def write_at_once(self, _connection: SqlConnection, _counted: Values, _records: list[Values]) -> bool:
        """Never: no statement of a file has a way to a server to wait for."""
        return False

    def release(self) -> None:
        """Give the right back."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            try:
                self._path.unlink(missing_ok=True)
            except OSError:
                pass  # an empty file stays behind, and means nothing
            finally:
                os.close(descriptor)


class SessionLockFolder:
    """The locks of all sessions of one database, files in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def acquire(self, session_id: str) -> SessionLock:
        """Take the lock of a session. Raises SessionInUse, or LedgerError where locks cannot be made."""
        return SessionLock.acquire(self._folder, session_id)

    def remove_abandoned(self) -> None:
        """Remove the files of processes that were killed. What cannot be removed means nothing."""
        paths: list[Path] = []
        with suppress(OSError):
            paths += self._folder.glob("*.lock")
        for path in paths:
            with suppress(OSError):
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    if _try(descriptor, fcntl.LOCK_EX) and _is_at(descriptor, path):
                        path.unlink()
                finally:
                    os.close(descriptor)

    def list_holders(self) -> dict[str, SessionHolder]:
        return {name: SessionHolder(pid) for name, pid in list_lock_holders(self._folder).items()}

    def end_holder(self, session_id: str, holder: SessionHolder) -> None:
        """Send it a SIGTERM, if the kernel names it as the one that holds the lock; its id may be another's by
        now."""
        in_use = SessionInUse(
            f"session {session_id} is open in process {holder.pid or 'unknown'}, which cannot be asked to end "
            "from here; end it where it runs",
            pid=holder.pid,
        )
        if holder.pid in (0, os.getpid()) or not hasattr(os, "pidfd_open"):
            raise in_use
        try:
            process = os.pidfd_open(holder.pid)
        except OSError as error:
            raise in_use from error
        try:
            # Looked up once the process is open: from now on nothing else can be meant by it.
            if not _is_locked_by(self._folder / f"{session_id}.lock", holder.pid):
                raise in_use
            signal.pidfd_send_signal(process, signal.SIGTERM)
        except OSError as error:
            raise in_use from error
        finally:
            os.close(process)

    def find_earliest_opening_ms(self) -> int | None:
        return find_earliest_opening_ms(self._folder)


def list_lock_holders(folder: Path) -> dict[str, int]:
    """The sessions that are being written now, each with its process; 0 where that is not known."""
    found: dict[str, int] = {}
    try:
        paths = list(folder.glob("*.lock"))
    except OSError:
        return found
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if not _try(descriptor, fcntl.LOCK_SH):
                found[path.stem] = _read_pid(descriptor) or 0
        finally:
            os.close(descriptor)
    return found


def find_earliest_opening_ms(folder: Path) -> int | None:
    """When the first of the sessions that are being written now was opened; None where none is."""
    times: list[int] = []
    for session_id in list_lock_holders(folder):
        try:
            times.append((folder / f"{session_id}.lock").stat().st_mtime_ns // 1_000_000)
        except OSError:
            continue
    return min(times, default=None)


class Gate:
    """Whoever has the database open is inside; what replaces the file as a whole is done alone."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._descriptor: int | None = None

    def enter(self) -> None:
        """Come in, after the one who is alone inside. Raises LedgerError."""
        with translate_database_errors("cannot be opened", self._database):
            path = self._database.with_name(self._database.name + "-lock")
            self._descriptor = os.open(path, _OPENING, 0o600)
            self._share(self._descriptor)

    @contextmanager
    def try_alone(self) -> Iterator[bool]:
        """Try to be the only one inside; whether that is so. Afterwards others may have been.

        Raises LedgerError where one who is alone does not come to an end.
        """
        descriptor = self._descriptor
        assert descriptor is not None
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # two who both want to be alone would wait for each other
        alone = _try(descriptor, fcntl.LOCK_EX)
        try:
            yield alone
        finally:
            if not alone:
                time.sleep(_PAUSE_SECS * random.random())  # outside meanwhile, so that one of them succeeds
            self._share(descriptor)

    def _share(self, descriptor: int) -> None:
        if not _try_lock(descriptor, fcntl.LOCK_SH, _MENDING_SECS):
            self.leave()
            raise LedgerError(
                f"the session ledger {self._database} is being created or repaired by another process; "
                "try again when it is done"
            )

    def leave(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _try(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def _try_lock(descriptor: int, kind: int, secs: float) -> bool:
    end = time.monotonic() + secs
    while not _try(descriptor, kind):
        if time.monotonic() > end:
            return False
        time.sleep(_PAUSE_SECS)
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _write_pid(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode("ascii"), 0)


def _is_locked_by(path: Path, pid: int) -> bool:
    """Whether the kernel says that this process holds the lock of a file. Raises OSError."""
    inode = os.lstat(path).st_ino
    for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
        # 1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF; of one that waits the second word is `->`
        _, kind, _, access, holder, place, *_ = line.split()
        if (kind, access, holder) == ("FLOCK", "WRITE", str(pid)) and place.rpartition(":")[2] == str(inode):
            return True
    return False


def _read_pid(descriptor: int) -> int | None:
    text = os.pread(descriptor, 20, 0)
    return int(text) if text.isdigit() else None
