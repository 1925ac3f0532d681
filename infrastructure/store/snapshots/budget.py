"""How much is read and stored for one call, so that none has to wait for long."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping

from msgspec import Struct

from quorum.domain.calls.effects import FileMark
from quorum.infrastructure.store.snapshots.reading import LARGEST_BYTES

_BATCH_BYTES = 4 * 1024 * 1024
BATCH_FILES = 1_000
# Files up to this size take as long to open as to read.
_SMALL_BYTES = 256
_NO_ROOM = "too much is kept already"
NO_TIME = "there was no time to read it"


class KeepLimits(Struct, frozen=True, kw_only=True):
    """Bytes of one file and of all, and seconds of waiting before and of reading after a call.

    Once a call had to go on without some files, later ones wait for `later_secs`, until the rest was read in
    the background. Where more than `again_files` files are without a content, a call takes only those that were
    read since.

    So many seconds after the session has come up, `early_files` or more are read before there is any call.
    """

    file_bytes: int = LARGEST_BYTES
    total_bytes: int = 256 * 1024 * 1024
    before_secs: float = 5.0
    later_secs: float = 0.2
    after_secs: float = 3.0
    early_secs: float = 1.0
    early_files: int = 1_000
    again_files: int = 1_000


class ReadBatch(Struct, frozen=True):
    """Files that are read in one step, and how many bytes that are."""

    paths: list[str]
    size_bytes: int


class Budget:
    """Bytes that may be spent, and seconds from now on."""

    def __init__(self, limits: KeepLimits, *, spent_bytes: int, secs: float) -> None:
        self._largest = limits.file_bytes
        self._room = limits.total_bytes - spent_bytes
        self._deadline = time.monotonic() + secs

    def split(
        self, paths: Collection[str], marks: Mapping[str, FileMark], batch_files: int = BATCH_FILES
    ) -> list[ReadBatch]:
        """The paths in batches, in the order in which to read them.

        Small files are first, so that there is time for as many as can be. Of those of about one size
        neighbours follow each other, because opening a folder takes longer than reading a file. Where there is
        no room for all, what is left out is what weighs most.
        """
        sizes = {path: marks[path].size for path in paths}
        weights = {path: size if size <= self._largest else 0 for path, size in sizes.items()}
        fit = sum(weights.values()) <= self._room
        order = {path: max(size, _SMALL_BYTES).bit_length() if fit else size for path, size in sizes.items()}
        batches: list[ReadBatch] = []
        batch: list[str] = []
        weight, room = 0, self._room
        for path in sorted(paths, key=lambda path: (order[path], path)):
            if batch and (weight + weights[path] > min(_BATCH_BYTES, room) or len(batch) == batch_files):
                batches.append(ReadBatch(batch, weight))
                room -= weight if weight <= room else 0
                batch, weight = [], 0
            batch.append(path)
            weight += weights[path]
        if batch:
            batches.append(ReadBatch(batch, weight))
        return batches

    def find_refusal(self, batch: ReadBatch) -> str | None:
        """Why these must not be read; None: they may be, and count as read."""
        if batch.size_bytes > self._room:
            return _NO_ROOM
        if time.monotonic() > self._deadline:
            return NO_TIME
        self._room -= batch.size_bytes
        return None
