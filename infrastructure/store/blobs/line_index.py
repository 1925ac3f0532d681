"""A text file as numbered lines, in memory that does not grow with the file."""

from __future__ import annotations

import codecs
import os
import threading
import weakref
from array import array
from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

from quorum.domain.errors import BlobError

_CHUNK = 1 << 16
_SEARCHED_AT_ONCE = 1 << 20
_COUNTED_AT_ONCE = 1 << 22
_LONGEST_LINE = 16_384
_OPENING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FileLines:
    """Lines of a file that no longer changes. Only a newline ends a line; a return before it does not show.

    The newlines of each 64 kB are counted once, and only as far as somebody looked: the first lines are there
    at once, and 1 GB needs an index of 128 kB. Lines are counted from 0, and cut at 16 kB, which a … shows.
    What is not UTF-8 is replaced. Safe to use from several threads. Reading raises BlobError.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._descriptor = os.open(path, _OPENING)
        except OSError as error:
            raise BlobError(f"{path} cannot be opened: {error.strerror}") from error
        self._close = weakref.finalize(self, os.close, self._descriptor)
        self._size = os.fstat(self._descriptor).st_size
        # Newlines before each chunk that was counted, and before the one after it.
        self._before = array("Q", [0])
        self._counting = threading.Lock()
        self._last_chunk: tuple[int, array[int]] = (-1, array("L"))

    def close(self) -> None:
        """Let go of the file. Nothing may be read afterwards."""
        self._close()

    def read_lines(self, start: int, count: int) -> list[str]:
        """At most `count` lines from line `start` on; none past the end."""
        shown: list[str] = []
        begin = self._find_start(start)
        while begin is not None and len(shown) < count:
            following = self._find_start(start + len(shown) + 1)
            shown.append(self._read_line(begin, self._end() if following is None else following - 1))
            begin = following
        return shown

    def find(self, needle: str, start: int, *, backwards: bool) -> int | None:
        sought = needle.encode("utf-8", "surrogatepass")
        if not sought or start < 0:
            return None
        place = self._find_last_place(sought, start) if backwards else self._find_first_place(sought, start)
        return None if place is None else self._find_line(place)

    def count_so_far(self) -> tuple[int, bool]:
        """How many lines are known, and whether that is all. Each asking counts 4 MB further."""
        goal = len(self._before) + _COUNTED_AT_ONCE // _CHUNK
        self._count_until(lambda: len(self._before) >= goal)
        return self._before[-1] + (self._is_counted and self._end() == self._size > 0), self._is_counted

    @property
    def _is_counted(self) -> bool:
        return (len(self._before) - 1) * _CHUNK >= self._size

    def _end(self) -> int:
        """Where the last line ends, its newline left out."""
        return self._size - (self._size > 0 and self._read(self._size - 1, 1) == b"\n")

    def _find_start(self, line: int) -> int | None:
        """Where a line begins, or None where there is no such line."""
        if line <= 0:
            return 0 if line == 0 and self._size else None
        self._count_until(lambda: self._before[-1] >= line)
        if self._before[-1] < line:
            return None
        chunk = bisect_left(self._before, line) - 1
        newline = self._find_newlines(chunk)[line - self._before[chunk] - 1]
        start = chunk * _CHUNK + newline + 1
        return start if start < self._size else None

    def _find_line(self, place: int) -> int:
        """The number of the line that holds the byte at `place`."""
        chunk = place // _CHUNK
        self._count_until(lambda: len(self._before) > chunk)
        return self._before[chunk] + bisect_left(self._find_newlines(chunk), place - chunk * _CHUNK)

    def _count_until(self, enough: Callable[[], bool]) -> None:
        """Count newlines, chunk by chunk, until that is enough or the file ends."""
        while not enough() and not self._is_counted:
            with self._counting:
                if not self._is_counted:
                    chunk = self._read((len(self._before) - 1) * _CHUNK, _CHUNK)
                    self._before.append(self._before[-1] + chunk.count(b"\n"))

    def _find_newlines(self, chunk: int) -> array[int]:
        """The places of the newlines in a chunk. Those of the last chunk asked for are kept."""
        known, places = self._last_chunk
        if known != chunk:
            data = self._read(chunk * _CHUNK, _CHUNK)
            ends = accumulate(len(line) + 1 for line in data.split(b"\n")[:-1])
            places = array("L", (end - 1 for end in ends))
            self._last_chunk = (chunk, places)
        return places

    def _read_line(self, begin: int, end: int) -> str:
        """The text between these places, `end` being that of the newline."""
        data = self._read(begin, min(end - begin, _LONGEST_LINE))
        if end - begin > _LONGEST_LINE:
            # A character that the cut runs through is left out.
            return codecs.getincrementaldecoder("utf-8")("replace").decode(data) + "…"
        return data.removesuffix(b"\r").decode("utf-8", "replace")

    def _find_first_place(self, sought: bytes, start: int) -> int | None:
        begin = self._find_start(start)
        if begin is None:
            return None
        for low in range(begin, self._size, _SEARCHED_AT_ONCE):
            found = self._read(low, _SEARCHED_AT_ONCE + len(sought) - 1).find(sought)
            if found >= 0:
                return low + found
        return None

    def _find_last_place(self, sought: bytes, start: int) -> int | None:
        following = self._find_start(start + 1)
        end = self._size if following is None else following
        for high in range(end, 0, -_SEARCHED_AT_ONCE):
            low = max(0, high - _SEARCHED_AT_ONCE)
            found = self._read(low, min(end, high + len(sought) - 1) - low).rfind(sought)
            if found >= 0:
                return low + found
        return None

    def _read(self, place: int, length: int) -> bytes:
        """The bytes there, fewer only at the end of the file."""
        length = min(length, self._size - place)
        try:
            data = os.pread(self._descriptor, length, place)
        except OSError as error:
            raise BlobError(f"{self._path} cannot be read: {error.strerror}") from error
        if len(data) < length:
            raise BlobError(f"{self._path} was cut short while it was open")
        return data
