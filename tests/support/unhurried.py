"""A loop whose time passes only where somebody waits: a limit is over as soon as nothing else is left.

For tests without threads, processes and sockets, which it waits for only where no timer is set.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class UnhurriedSelector(selectors.DefaultSelector):
    """Waits for no timer: the time until the next one has passed at once."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            return super().select()
        self.now += max(timeout, 0.0)
        return super().select(0)


class UnhurriedLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.selector = UnhurriedSelector()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now


def run_unhurried(work: Coroutine[Any, Any, T]) -> T:
    """What comes of it."""
    with asyncio.Runner(loop_factory=UnhurriedLoop) as runner:
        return runner.run(work)
