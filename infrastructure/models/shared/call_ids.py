"""Ids of calls: the provider's own wherever it gives one that can tell the calls of an answer apart."""

from __future__ import annotations

from uuid import uuid4


class CallIds:
    """The ids of one answer, each given once."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def claim(self, native: str) -> str:
        """The provider's id, or a new one where it is missing or already stands for another call."""
        chosen = native if native and native not in self._given else f"call_{uuid4().hex[:24]}"
        self._given.add(chosen)
        return chosen
