"""A store of file contents in memory, which can be made to fail."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence

from quorum.domain.errors import ContentGone, LedgerError, LostConnection


class FakeContents:
    """Keeps what it is given in `contents`, by hash; `puts` counts how much came in each step.

    `kept_ms` tells when each was given last.
    """

    def __init__(self, clock: Callable[[], int] = lambda: 0) -> None:
        self.contents: dict[str, bytes] = {}
        self.kept_ms: dict[str, int] = {}
        self._clock = clock
        self.puts: list[int] = []
        self.full = False
        self.away = self.lost = False

    async def put(self, contents: Sequence[bytes]) -> tuple[str, ...]:
        if self.full:
            raise LedgerError("the disk is full: make room and try again")
        if self.lost:
            raise LostConnection("the server does not answer")
        self.puts.append(len(contents))
        hashes = tuple(hashlib.sha256(content).hexdigest() for content in contents)
        self.contents.update(zip(hashes, contents, strict=True))
        self.kept_ms.update(dict.fromkeys(hashes, self._clock()))
        return hashes

    async def get(self, sha256: str) -> bytes:
        if sha256 not in self.contents:
            raise ContentGone(f"there is no stored content {sha256}")
        if self.away:
            raise LedgerError("the server does not answer")
        return self.contents[sha256]

    async def list_absent(self, hashes: Collection[str]) -> frozenset[str]:
        return frozenset(hashes) - self.contents.keys()
