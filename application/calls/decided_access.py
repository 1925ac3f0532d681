"""The access that was decided about: the running call reaches these paths, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from quorum.domain.calls.access import Access

_NOTHING = Access()
_DECIDED: ContextVar[Access] = ContextVar("decided_access", default=_NOTHING)


@contextmanager
def hold_to_access(access: Access) -> Iterator[None]:
    """Hold what runs in the body to the paths of this access.

    It holds in the body's own task, and in threads that it hands work to, not in tasks beside it.
    """
    token = _DECIDED.set(access)
    try:
        yield
    finally:
        _DECIDED.reset(token)


def list_granted_paths() -> frozenset[str]:
    """The paths outside of the workspace that may be reached where this is called, and what lies below them."""
    return _DECIDED.get().outside


def is_decided_path(path: str) -> bool:
    """Whether a canonical path is one that was decided about; any is where no paths were declared."""
    access = _DECIDED.get()
    return access.exclusive or path in access.reads | access.writes or not _declares_paths(access)


def _declares_paths(access: Access) -> bool:
    return any(each.startswith("/") for each in access.reads | access.writes)
