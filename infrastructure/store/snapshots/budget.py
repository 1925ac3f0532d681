"""How much is read and stored for one call, so that none has to wait for long."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from domain.calls.effects import FileMark
from infrastructure.store.snapshots.reading import LARGEST_BYTES

_BATCH_BYTES = 4 * 1024 * 1024
_BATCH_FILES = 250
_NO_ROOM = "too much is kept already"
_NO_TIME = "there was no time to read it"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepLimits:
    """Bytes of one file and of all, and seconds of reading before and after a call."""

    file_bytes: int = LARGEST_BYTES
    total_bytes: int = 256 * 1024 * 1024
    before_secs: float = 5.0
    after_secs: float = 3.0


class Budget:
    """Bytes and seconds that may be spent from now on."""

    def __init__(self, limits: KeepLimits, *, spent_bytes: int, secs: float) -> None:
        self._largest = limits.file_bytes
        self._room = limits.total_bytes - spent_bytes
        self._deadline = time.monotonic() + secs

    def batches(
        self, paths: Collection[str], marks: Mapping[str, FileMark]
    ) -> Iterator[tuple[list[str], str | None]]:
        """The paths in batches, small files first, so that what is left out is what weighs most.

        Each with the reason why it must not be read, if there is one.
        """
        batch: list[str] = []
        weight = 0
        for path in sorted(paths, key=lambda path: marks[path].size):
            size = marks[path].size
            if size > self._largest:  # only its mark is looked at
                size = 0
            if batch and (weight + size > min(_BATCH_BYTES, self._room) or len(batch) == _BATCH_FILES):
                yield batch, self._spend(weight)
                batch, weight = [], 0
            batch.append(path)
            weight += size
        if batch:
            yield batch, self._spend(weight)

    def _spend(self, weight: int) -> str | None:
        if weight > self._room:
            return _NO_ROOM
        if time.monotonic() > self._deadline:
            return _NO_TIME
        self._room -= weight
        return None
