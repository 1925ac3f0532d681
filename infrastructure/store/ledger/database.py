"""The database as one thing: opened, made or mended where need be, and closed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from domain.errors import LedgerError
from infrastructure.store.ledger.archive import SqlArchive
from infrastructure.store.ledger.condition import Condition, condition_of
from infrastructure.store.ledger.contents import SqlContents
from infrastructure.store.ledger.ledger import SqlLedger
from infrastructure.store.ledger.locks import Gate, SessionLock
from infrastructure.store.ledger.mending import make, mend, was_interrupted
from infrastructure.store.ledger.session_chain import SessionChain
from infrastructure.store.ledger.sqlite_file import BUSY_SECS, SqliteFile
from infrastructure.store.ledger.writer import Writer

_ALONE_SECS = 2.0


def wall_clock_ms() -> int:
    """The time of day in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


class Database:
    """An open database. `told` are sentences for the person about what had to be mended when it was opened."""

    def __init__(
        self, path: Path, *, clock: Callable[[], int] = wall_clock_ms, busy_secs: float = BUSY_SECS
    ) -> None:
        """Open it, or make it. Blocks. Raises LedgerError."""
        self.told: tuple[str, ...] = ()
        self._file = SqliteFile(path, busy_secs)
        self._clock = clock
        self._locks = path.with_name(f"{path.name}-locks")
        self._gate = Gate(path)
        self._gate.enter()
        try:
            self._make_usable()
        except BaseException:
            self._gate.leave()
            raise
        self._open()

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def lock(self, session_id: str) -> SessionLock:
        """Take the right to write a session. Raises SessionInUse."""
        return SessionLock.take(self._locks, session_id)

    def ledger(self, chain: SessionChain, lock: SessionLock) -> SqlLedger:
        """The record that goes on where `chain` stands."""
        return SqlLedger(chain, self._writer, lock, self._clock)

    def mend(self) -> None:
        """Save what can be read, after damage was found; `told` says what came of it. Blocks.

        Nothing may be under way, and `archive` and `contents` are new ones afterwards.
        """
        self._writer.close()
        self._make_usable()
        self._open()

    def close(self) -> None:
        """Write what waits, and let go. Blocks. Raises LedgerError for events that could not be written."""
        try:
            self._writer.close()
        finally:
            self._gate.leave()

    def _open(self) -> None:
        self._writer = Writer(self._file)
        self.archive = SqlArchive(self._file, self._writer, self._locks, self._clock)
        self.contents = SqlContents(self._file, self._writer, self._clock)

    def _make_usable(self) -> None:
        deadline = time.monotonic() + _ALONE_SECS
        while condition_of(self._file) is not Condition.WHOLE:
            with self._gate.alone() as alone:
                if alone:
                    self._make_or_mend()
                    return
            # Another may have made or mended it meanwhile, and be at work in it already.
            if time.monotonic() > deadline:
                raise LedgerError(
                    f"the record of sessions {self.path} is damaged or gone, and another quorum has it "
                    "open; end that one and start again, and what can be read is saved"
                )

    def _make_or_mend(self) -> None:
        match condition_of(self._file):
            case Condition.WHOLE:
                pass
            case Condition.MISSING if not was_interrupted(self.path):
                make(self.path)
            case _:
                self.told += (mend(self.path),)
