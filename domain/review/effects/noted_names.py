"""What names stand for while a code is gone through, and whether one was asked about too early."""

from __future__ import annotations

from typing import Generic, TypeVar

_Value = TypeVar("_Value")


class NotedNames(Generic[_Value]):
    """Names with what is known of each. `came_late`: one was asked about before it was known as it is now, so
    that the code has to be gone through again."""

    def __init__(self) -> None:
        self.came_late = False
        self.known: dict[str, _Value] = {}
        self._asked: set[str] = set()

    def find(self, name: str) -> _Value | None:
        """What is known of a name."""
        self._asked.add(name)
        return self.known.get(name)

    def note(self, name: str, value: _Value) -> None:
        """Take something as known of a name."""
        if name in self._asked and self.known.get(name) != value:
            self.came_late = True
        self.known[name] = value
