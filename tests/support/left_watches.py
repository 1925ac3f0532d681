"""Gives back the queues of events that tests left: a user has 128 of them, and cycles are collected seldom."""

from __future__ import annotations

from weakref import WeakSet

from quorum.infrastructure.store.snapshots.watch import WorkspaceWatch

_open = WorkspaceWatch.__init__
_watches: WeakSet[WorkspaceWatch] = WeakSet()


def _open_and_note(watch: WorkspaceWatch, *args: object, **options: object) -> None:
    _open(watch, *args, **options)  # type: ignore[arg-type]
    _watches.add(watch)


def note_watches() -> None:
    """Have `close_watches` know all that are opened from now on."""
    WorkspaceWatch.__init__ = _open_and_note  # type: ignore[method-assign]


def close_watches() -> None:
    """Close those that are still there."""
    while _watches:
        _watches.pop().close()
