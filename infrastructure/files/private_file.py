"""Files that quorum keeps for the person: theirs alone, replaced whole, and by one process at a time."""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quorum.application.whole_file import sync_names
from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.toml_file import escape_path

PATIENCE_SECS = 5.0
_PAUSE_SECS = 0.02
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class OwnFile:
    """One such file. A link to where a person keeps such files stays a link."""

    def __init__(self, path: Path, *, patience_secs: float = PATIENCE_SECS) -> None:
        self.path = path
        self._patience_secs = patience_secs

    def find_danger(self) -> str | None:
        """Why what stands in the file may not be the person's own. Raises OSError where that is not known."""
        status = self.path.stat()
        if status.st_uid not in (os.geteuid(), 0):
            return f"{escape_path(self.path)} belongs to another user"
        return f"others may write {escape_path(self.path)}" if status.st_mode & 0o022 else None

    def change(self, text: Callable[[], str]) -> None:
        """Replace the file by this text, which is made while no other process changes the file.

        Blocks. Raises ConfigError, and what `text` raises; then the file is as it was.
        """
        target = Path(os.path.realpath(self.path))
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._lock(target):
                self._replace(target, text())
        except OSError as error:
            raise ConfigError(f"{escape_path(self.path)} cannot be written: {error.strerror}") from error

    @contextmanager
    def _lock(self, target: Path) -> Iterator[None]:
        """Hold the lock that every process takes before it changes the file."""
        lock = os.open(f"{target}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            deadline = time.monotonic() + self._patience_secs
            while not _try_lock(lock):
                if time.monotonic() > deadline:
                    raise ConfigError(
                        f"another quorum has been changing {escape_path(self.path)} for "
                        f"{self._patience_secs:g} s; end it and try again"
                    )
                time.sleep(_PAUSE_SECS)
            yield
        finally:
            os.close(lock)

    def _replace(self, target: Path, text: str) -> None:
        """Put a text in the place of a file, so that there is always the old one or the new one, whole."""
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
        descriptor = os.open(temporary, _NEW, 0o600)
        try:
            with open(descriptor, "w", encoding="utf-8", errors="strict") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            with suppress(FileNotFoundError):
                temporary.unlink()
            raise
        sync_names(target.parent)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
