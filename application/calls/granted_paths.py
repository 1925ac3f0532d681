"""The paths outside of the workspace that the running call may reach, because it was approved to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_GRANTED: ContextVar[frozenset[str]] = ContextVar("granted_paths", default=frozenset())


@contextmanager
def grant_paths(paths: Iterable[str]) -> Iterator[None]:
    """Let what runs in the body reach exactly these canonical paths and what lies below them.

    It holds in the body's own task, and in threads that it hands work to, not in tasks beside it.
    """
    token = _GRANTED.set(frozenset(paths))
    try:
        yield
    finally:
        _GRANTED.reset(token)


def list_granted_paths() -> frozenset[str]:
    """Those that are granted where this is called."""
    return _GRANTED.get()
