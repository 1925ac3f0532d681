"""The database as one thing: opened, made or mended where need be, and closed, and sessions opened in it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from quorum.application.ports.storage import BlobStore, OpenedSession
from quorum.domain.errors import DamagedLedger, LedgerError
from quorum.domain.events.masking import SecretMask
from quorum.domain.sessions.past_session import SessionChoice
from quorum.infrastructure.local_pacer import LocalPacer
from quorum.infrastructure.storage_backend import ContentObjects, OpenBlobs
from quorum.infrastructure.store.ledger.condition import Condition, check_condition
from quorum.infrastructure.store.ledger.locks import Gate, SessionLockFolder
from quorum.infrastructure.store.ledger.mending import create_database, mend_database, was_interrupted
from quorum.infrastructure.store.ledger.sqlite_file import BUSY_SECS, SqliteFile
from quorum.infrastructure.store.sql.answers import SqlAnswers
from quorum.infrastructure.store.sql.archive import SqlArchive
from quorum.infrastructure.store.sql.contents import SqlContents
from quorum.infrastructure.store.sql.session_opener import SessionOpener
from quorum.infrastructure.store.sql.writer import Writer
from quorum.infrastructure.wall_clock import read_wall_clock_ms

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
        self.archive = SqlArchive(self._file, self._writer, locks, clock)
        self.contents = SqlContents(self._file, self._writer, clock, objects)
        self.answers = SqlAnswers(self._file, self._writer)
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
