"""Keeps our own process closed to the commands we run: they have our user, but no business in our memory."""

from __future__ import annotations

import ctypes
import sys

_PR_SET_DUMPABLE = 4  # linux/prctl.h


def close_process_to_inspection() -> bool:
    """Refuse debuggers, and readers of our environment under /proc, that run as the same user.

    The keys of the providers are in our environment; a command that a model asked for must not be able to
    read them there. Linux only; False where the system does not offer it. Root is not held back by it.
    """
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
