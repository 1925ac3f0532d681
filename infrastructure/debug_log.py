"""The debug log: the events of a session as lines of a file, and never the texts of these events.

There is one file for each run, readable by its owner alone, bounded, without secrets.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path

from quorum.domain.errors import ConfigError
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.config.paths import locate_state_folder

MOST_BYTES = 2_000_000
"""Of one file; a run keeps two: what it logged last, and what it logged before that."""
MOST_RUNS = 10
_FOLDER = "log"
_NAME = r"debug-\d{8}-\d{6}-\d+\.log(\.1)?"
_FORMAT = "%(asctime)s.%(msecs)03dZ %(threadName)s %(levelname)s %(name)s: %(message)s"


def locate_debug_log_folder(environ: Mapping[str, str]) -> Path | None:
    """The folder of debug logs; None where there is no home folder."""
    state = locate_state_folder(environ)
    return state / _FOLDER if state is not None else None


class DebugLog(RotatingFileHandler):
    """Writes log records to the file of this run.

    A record that cannot be written is dropped, and so are all later ones: there is no other place for them, as
    the terminal may be showing the app. `failure` says why, so that it can be reported at the end.
    """

    failure: str | None = None

    def __init__(self, path: Path, hide: Callable[[str], str]) -> None:
        super().__init__(path, maxBytes=MOST_BYTES, backupCount=1, encoding="utf-8")
        self.path = path
        formatter = _SafeFormatter(hide)
        formatter.converter = time.gmtime
        self.setFormatter(formatter)

    def _open(self) -> io.TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.baseFilename, flags, 0o600)
        return open(descriptor, "a", encoding="utf-8", errors="backslashreplace")

    def emit(self, record: logging.LogRecord) -> None:
        """Write it, unless an earlier one could not be written."""
        if self.failure is None:
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Remember why it cannot be written."""
        error = sys.exc_info()[1]
        self.failure = str(getattr(error, "strerror", None) or error)


class _SafeFormatter(logging.Formatter):
    """One record is one line, or is indented from its second line on; nothing in it acts on a terminal."""

    def __init__(self, hide: Callable[[str], str]) -> None:
        super().__init__(_FORMAT, "%Y-%m-%dT%H:%M:%S")
        self._hide = hide

    def format(self, record: logging.LogRecord) -> str:
        """The text of the record without secrets."""
        return make_printable(self._hide(super().format(record))).replace("\n", "\n    ")


def open_debug_log(environ: Mapping[str, str], hide: Callable[[str], str]) -> DebugLog:
    """Begin the log of this run, and remove those of the oldest runs.

    Raises ConfigError where it cannot be written.
    """
    folder = locate_debug_log_folder(environ)
    if folder is None:
        raise ConfigError("there is no home folder for the debug log; set HOME or XDG_STATE_HOME")
    path = folder / f"debug-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}.log"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_oldest(folder)
        return DebugLog(path, hide)
    except OSError as error:
        reason = make_printable(error.strerror or str(error))
        raise ConfigError(f"the debug log {make_printable(str(path))} cannot be written: {reason}") from error


def _remove_oldest(folder: Path) -> None:
    """Keep the files of the latest runs, with room for one more."""
    names = [entry.name for entry in os.scandir(folder) if compile_once(_NAME).fullmatch(entry.name)]
    runs = sorted({name.removesuffix(".1") for name in names})
    for name in names:
        if name.removesuffix(".1") in runs[: -(MOST_RUNS - 1)]:
            with suppress(OSError):  # it is gone already, or stays: the bound is for disks, not for safety
                (folder / name).unlink()
