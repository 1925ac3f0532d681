"""What the tests of looks at files have in common."""

from __future__ import annotations

import errno
import time

import pytest

from quorum.infrastructure.files.inotify import Inotify

_PATIENCE_SECS = 120.0


@pytest.fixture(autouse=True)
def _room_for_events() -> None:
    """The system lets a user have 128 queues of events; other tests may have used them up for a moment."""
    end = time.monotonic() + _PATIENCE_SECS
    while not _has_room() and time.monotonic() < end:
        time.sleep(0.05)


def _has_room() -> bool:
    try:
        Inotify()
    except OSError as error:
        return error.errno != errno.EMFILE
    return True
