"""The database that the settings name: opened, made where there is none, and mended where it is damaged.

What can be read of a damaged one goes into a new file, and the old is kept.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from quorum.application.ports.storage import BlobStore, OpenedSession
from quorum.domain.errors import DamagedLedger, LedgerError
from quorum.domain.events.masking import SecretMask
from quorum.domain.sessions.session_summary import SessionChoice
from quorum.infrastructure.local_pacer import LocalPacer
from quorum.infrastructure.storage_backend import ContentObjects, OpenBlobs
from quorum.infrastructure.store.ledger.locks import Gate, SessionLockFolder
from quorum.infrastructure.store.ledger.place import locate_database
from quorum.infrastructure.store.ledger.sqlite_file import (
    BUSY_SECS,
    Condition,
    SqliteFile,
    check_condition,
    locate_marker,
    make_tables,
    translate_database_errors,
)
from quorum.infrastructure.store.sql.archive import SqlArchive
from quorum.infrastructure.store.sql.contents import SqlContents
from quorum.infrastructure.store.sql.session_opener import SessionOpener
from quorum.infrastructure.store.sql.writer import SqlAnswers, Writer
from quorum.infrastructure.wall_clock import read_wall_clock_ms

_BESIDE = ("-wal", "-shm")


def create_database(path: Path) -> None:
    """Make an empty database, private to the person, for the one who is alone there. Raises LedgerError."""
    with translate_database_errors("cannot be made", path):
        made = _create_empty(path.with_name(f"{path.name}-new"))
        made.path.rename(path)


def mend_database(path: Path) -> str:
    """Save what can be read, and put the damaged file aside; what came of it, in sentences.

    For the one who is alone with the file. The damaged file stays in its place until all is saved.
    Raises LedgerError, and then nothing has changed.
    """
    with translate_database_errors("is damaged, and cannot be mended", path):
        mended = _name_mended(path)
        if was_interrupted(path):
            saved = "What could be read of it was saved before"
        else:
            from quorum.infrastructure.store.ledger.salvage import salvage

            made = _create_empty(mended)
            saved = salvage(path, made).summarise() if _has_content(path) else "It was empty"
        aside = _choose_name_aside(path)
        # The log goes first: without it the rest would be read as something else.
        for end in ("-wal", "-shm", ""):
            _move(path.with_name(path.name + end), aside.with_name(aside.name + end))
        mended.rename(path)
        locate_marker(path).unlink(missing_ok=True)
    return f"The session ledger {path} was damaged. {saved}. The damaged file is kept as {aside}."


def was_interrupted(path: Path) -> bool:
    """Whether a mending was killed between taking the damaged file away and putting the new one there."""
    return not path.exists() and _name_mended(path).exists()


def _name_mended(path: Path) -> Path:
    return path.with_name(f"{path.name}-mended")


def _create_empty(path: Path) -> SqliteFile:
    for end in ("", *_BESIDE):
        path.with_name(path.name + end).unlink(missing_ok=True)
    # The files beside it take their permissions from this one.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    file = SqliteFile(path)
    with closing(file.connect()) as connection:
        make_tables(connection)
    return file


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _choose_name_aside(path: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for number in range(1000):
        aside = path.with_name(f"{path.name}-damaged-{stamp}" + (f"-{number}" if number else ""))
        if not aside.exists():
            return aside
    return path.with_name(f"{path.name}-damaged-{stamp}-{os.getpid()}")


def _move(path: Path, to: Path) -> None:
    with suppress(FileNotFoundError):
        path.rename(to)


_ALONE_SECS = 2.0


def open_no_blobs(_mask: SecretMask | None) -> None:
    """There is no place for large outputs."""


class Database:
    """Implements `Storage` with a file of SQLite. Large outputs are kept elsewhere, where `open_blobs` says.

    So are larger former contents, if there are `objects`.
    """

    def __init__(
        self,
        path: Path,
        *,
        open_blobs: OpenBlobs = open_no_blobs,
        objects: ContentObjects | None = None,
        clock: Callable[[], int] = read_wall_clock_ms,
        busy_secs: float = BUSY_SECS,
    ) -> None:
        """Open it, or make it. Blocks. Raises LedgerError."""
        self.notices: tuple[str, ...] = ()
        self.pacer = LocalPacer()
        self._open_blobs = open_blobs
        self._file = SqliteFile(path, busy_secs)
        self._gate = Gate(path)
        self._gate.enter()
        try:
            self._make_usable()
        except BaseException:
            self._gate.leave()
            raise
        self._writer = Writer(self._file)
        self.locks = locks = SessionLockFolder(path.with_name(f"{path.name}-locks"))
        locks.remove_abandoned()
        self.archive = SqlArchive(self._file, self._writer, locks, clock)
        self.contents = SqlContents(self._file, self._writer, clock, objects)
        self.answers = SqlAnswers(self._file, self._writer, clock)
        self._opener = SessionOpener(self.archive, self._writer, locks, clock)

    @property
    def path(self) -> Path:
        return self._file.path

    @property
    def engine(self) -> SqliteFile:
        return self._file

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self._file.path)

    def open_blobs(self, mask: SecretMask | None = None) -> BlobStore | None:
        """Large outputs, which are not in the database."""
        return self._open_blobs(mask)

    def open_session(self, choice: SessionChoice, *, cwd: str, fork: bool = False) -> OpenedSession:
        """Open the chosen session, or with `fork` a copy; where that finds damage, once that is mended."""
        try:
            return self._opener.open(choice, cwd, fork=fork)
        except DamagedLedger:
            self.mend()
            return self._opener.open(choice, cwd, fork=fork)

    def mend(self) -> None:
        """Save what can be read, after damage was found; `notices` says what came of it. Blocks.

        Nothing may be under way.
        """
        self._writer.close()
        self._make_usable()
        self._writer.reopen()

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._gate.leave()

    def _make_usable(self) -> None:
        deadline = time.monotonic() + _ALONE_SECS
        while check_condition(self._file) is not Condition.WHOLE:
            with self._gate.try_alone() as alone:
                if alone:
                    self._make_or_mend()
                    return
            # Another may have made or mended it meanwhile, and be at work in it already.
            if time.monotonic() > deadline:
                raise LedgerError(
                    f"the session ledger {self.path} is damaged or gone, and another quorum has it "
                    "open; end that one and start again, and what can be read is saved"
                )

    def _make_or_mend(self) -> None:
        match check_condition(self._file):
            case Condition.WHOLE:
                pass
            case Condition.MISSING if not was_interrupted(self.path):
                create_database(self.path)
            case _:
                self.notices += (mend_database(self.path),)


def open_database(
    url: str,
    environ: Mapping[str, str],
    *,
    open_blobs: OpenBlobs = open_no_blobs,
    objects: ContentObjects | None = None,
    clock: Callable[[], int] = read_wall_clock_ms,
) -> Database:
    """Open the database of sessions, or make it. Blocks.

    A damaged one is mended: what can be read is saved and the damaged file kept aside, which `notices` says.
    Raises ConfigError for a url that cannot be used, and LedgerError, which names the file and the remedy.
    """
    path = locate_database(url, environ)
    with translate_database_errors("cannot be opened", path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A folder that the person named is theirs to open to others.
        if not url and stat.S_IMODE(path.parent.stat().st_mode) & 0o077:
            path.parent.chmod(0o700)
    return Database(Path(os.path.realpath(path)), open_blobs=open_blobs, objects=objects, clock=clock)
