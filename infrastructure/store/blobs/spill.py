"""Text that grows while a tool runs, kept in the store's folder and not in memory."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from pathlib import Path
from typing import BinaryIO

from quorum.application.identifiers import generate_id
from quorum.domain.errors import BlobError
from quorum.domain.events.masking import MaskedText, SecretMask
from quorum.domain.text.pattern import compile_once

# A command that prints without end must not fill the disk.
MOST_BYTES = 1 << 30


BLOB_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SUFFIX = ".tmp"
_TEMPORARY = rf"\.{BLOB_ID}\.(?:txt|json){re.escape(_SUFFIX)}"
_KEPT_SECS = 24 * 3600


def open_temporary(name: str | Path, folder: int | None = None) -> int:
    """A descriptor of a new file, in an open folder, by whose lock others know that it is being written.

    Raises OSError.
    """
    descriptor = os.open(name, _NEW, 0o600, dir_fd=folder)
    with contextlib.suppress(OSError):  # not every file system has locks: there it is known by its age alone
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def remove_abandoned_temporaries(folder: Path) -> None:
    """Remove the files in a folder of the store that killed processes had not written to the end.

    The folder may hold a person's own files, and an earlier quorum that runs still locks none: only what has
    such a name and did not change for a day is removed.
    """
    for path in folder.glob(f".*{_SUFFIX}"):
        if not compile_once(_TEMPORARY).fullmatch(path.name):
            continue
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if os.fstat(descriptor).st_mtime < time.time() - _KEPT_SECS:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()
            finally:
                os.close(descriptor)


class FileSpill:
    """Implements `Spill` with a file. Until `keep` it is a temporary file that no id leads to.

    Trouble with the disk does not stop the tool: the text is given up, and `trouble` says why. What `mask`
    hides never reaches the file, also where it comes in two pieces; sizes are those of what is kept.
    """

    def __init__(self, folder: Path, mask: SecretMask | None = None) -> None:
        self._folder = folder
        self._masked = MaskedText(mask) if mask is not None else None
        self._id = generate_id()
        self._file: BinaryIO | None = None
        self.size_bytes = 0
        self._newlines = 0
        self._ends_in_line = False
        self.trouble: str | None = None

    @property
    def lines(self) -> int:
        """How many lines were written. A newline at the very end begins no other."""
        return self._newlines + self._ends_in_line

    def write(self, text: str) -> None:
        """Add text to the end; beyond 1 GiB it is given up."""
        if self.trouble is None:
            self._append(text if self._masked is None else self._masked.push(text))

    def _append(self, text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        try:
            self._open_file().write(data)
        except OSError as error:
            self._give_up(f"it could not be kept: {error.strerror or error}")
            return
        self.size_bytes += len(data)
        self._newlines += data.count(b"\n")
        self._ends_in_line = not data.endswith(b"\n") if data else self._ends_in_line
        if self.size_bytes > MOST_BYTES:
            self._give_up("it is longer than 1 GiB, and so it was not kept")

    def keep(self) -> str:
        """Put the text into the store; its id. Raises BlobError. Blocks until it is safely on disk."""
        if self.trouble is not None:
            raise BlobError(self.trouble)
        if self._masked is not None:
            self._append(self._masked.flush())
        try:
            file = self._open_file()
            file.flush()
            os.fsync(file.fileno())
            self._temporary.rename(self._folder / f"{self._id}.txt")
            file.close()  # until then it is locked
        except OSError as error:
            self._give_up(f"it could not be kept: {error.strerror or error}")
            raise BlobError(str(self.trouble)) from error
        return self._id

    def discard(self) -> None:
        self._give_up("it was discarded")

    @property
    def _temporary(self) -> Path:
        return self._folder / f".{self._id}.txt{_SUFFIX}"

    def _open_file(self) -> BinaryIO:
        if self._file is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.fdopen(open_temporary(self._temporary), "wb")
        return self._file

    def _give_up(self, why: str) -> None:
        self.trouble = why
        if self._file is not None:
            with contextlib.suppress(OSError):  # closing flushes, and the disk may be full
                self._file.close()
            self._temporary.unlink(missing_ok=True)
