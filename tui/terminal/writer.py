"""Writes to the terminal in a thread of its own that no terminal can stop the app with."""

from __future__ import annotations

import os
import select
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

_MOST_WAITING = 30  # writes, as Textual has it: a slow terminal slows the app down
_LOOK_SECS = 0.1
_LAST_SECS = 2.0


class TerminalWriter(threading.Thread):
    """Takes the place of Textual's writer, which dies of the first error and then blocks whoever writes.

    What is written to a terminal that is gone, or after `stop`, is dropped. `write` waits while a slow
    terminal is behind, but not after `hurry`.
    """

    def __init__(self, file: TextIO) -> None:
        super().__init__(daemon=True, name="terminal-output")
        self._file = file
        self._waiting: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._is_stopped = self._is_gone = self._hurries = False
        self._when_gone: Callable[[], None] | None = None

    def call_when_gone(self, callback: Callable[[], None]) -> None:
        """Call this, in any thread, once the terminal takes nothing any more."""
        with self._changed:
            self._when_gone = callback
        if self._is_gone:
            callback()

    def hurry(self) -> None:
        """Have nobody wait any more. It only sets a flag: a signal may interrupt whoever waits."""
        self._hurries = True

    def write(self, text: str) -> None:
        """Have this text written, after what waits already."""
        self.send(text.encode("utf-8", "backslashreplace"))

    def send(self, data: bytes) -> None:
        """Have these bytes written, after what waits already."""
        with self._changed:
            while len(self._waiting) >= _MOST_WAITING and not (self._is_idle or self._hurries):
                self._changed.wait(_LOOK_SECS)
            if not self._is_idle:
                self._waiting.append(data)
                self._changed.notify_all()

    def stop(self) -> None:
        """Write what waits, for at most two seconds, and nothing afterwards."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
        if self.ident is not None:
            self.join(_LAST_SECS)
        with self._changed:
            self._waiting.clear()

    def run(self) -> None:
        """Write what is to be written, until `stop` or until the terminal is gone."""
        while data := self._take_next():
            try:
                self._write(data)
            except (OSError, ValueError):  # of a closed file
                self._give_up()

    @property
    def _is_idle(self) -> bool:
        return self._is_stopped or self._is_gone

    def _take_next(self) -> bytes:
        """All that waits; empty at the end."""
        with self._changed:
            while not self._waiting and not self._is_idle:
                self._changed.wait()
            data = b"".join(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
        return data

    def _write(self, data: bytes) -> None:
        terminal = self._file.fileno()
        left = memoryview(data)
        while left:
            with suppress(BlockingIOError):  # some program has set this on the terminal, which is shared
                left = left[os.write(terminal, left) :]
                continue
            select.select((), (terminal,), (), _LOOK_SECS)

    def _give_up(self) -> None:
        with self._changed:
            self._is_gone = True
            self._waiting.clear()
            callback = self._when_gone
            self._changed.notify_all()
        if callback is not None:
            callback()
