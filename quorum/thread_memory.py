"""The memory of threads where the address space of the process is limited, as by `ulimit -v`."""

from __future__ import annotations

import resource
from contextlib import suppress

_M_ARENA_MAX = -8


def share_scarce_memory() -> None:
    """Have all threads allocate from one arena, if the address space is limited; call it before there are any.

    glibc reserves 64 MiB of it for each thread otherwise, and then the next one has nothing: it ends where it
    begins, and whoever waits for it is not told.
    """
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    import ctypes

    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
