"""What is guarded in a workspace whatever its names say, for decisions about tools that read or write files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence

from quorum.domain.review.path_policy import GuardedPlaces
from quorum.domain.text.paths import is_below_any, lies_in
from quorum.infrastructure.execution.sandbox.repository_folders import find_marker
from quorum.infrastructure.execution.sandbox.repository_places import list_obeyed_places

# Decisions about the paths of one call, and of the files of one manifest, use the same list.
_FRESH_SECS = 0.2


class KnownPlaces(GuardedPlaces):
    """What the searches of the sandbox found, and what git obeys in the workspace of these `roots`.

    The latter is read anew where it may have changed, so that it is known before the first search has ended.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots
        self._protected: frozenset[str] = frozenset()
        self._sensitive: frozenset[str] = frozenset()
        self._obeyed: frozenset[str] = frozenset()
        self._read_at: float | None = None

    def replace(self, *, protected: Iterable[str], sensitive: Iterable[str]) -> None:
        """Have these be what the last search found. Several threads may call it."""
        self._protected, self._sensitive = frozenset(protected), frozenset(sensitive)

    def is_protected(self, path: str) -> bool:
        return lies_in(self._protected, path) or lies_in(self._list_obeyed(), path)

    def is_sensitive(self, path: str) -> bool:
        return lies_in(self._sensitive, path)

    def _list_obeyed(self) -> frozenset[str]:
        if self._read_at is None or time.monotonic() > self._read_at + _FRESH_SECS:
            roots = [os.path.realpath(root) for root in self._roots]
            places = (p for marker in map(find_marker, roots) if marker for p in list_obeyed_places(marker))
            self._obeyed = frozenset(p for p in places if p not in roots and is_below_any(p, roots))
            self._read_at = time.monotonic()
        return self._obeyed
