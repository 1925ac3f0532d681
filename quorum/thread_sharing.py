"""What threads share: the interpreter, and memory, also where the address space of the process is limited, as
by `ulimit -v`."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress

_M_ARENA_MAX = -8
_LONGEST_STACK = 8 << 20
_BEGIN_BYTES = 4 << 20
"""What a thread may need beside its stack until it runs."""

# How long a thread that computes, as one that imports or searches does, keeps the others waiting: the keys, and
# whoever looks at thousands of files, at each of them. Python's own interval is ten times as long.
_SWITCH_SECS = 0.0005


def share_interpreter() -> None:
    """Have threads take turns more often than they do by themselves."""
    sys.setswitchinterval(_SWITCH_SECS)


def share_arena() -> None:
    """Have threads that begin from now on allocate from the arenas that there are: of its own each would keep
    what it has freed."""
    import ctypes

    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def share_scarce_memory() -> None:
    """If the address space is limited, have all threads allocate from one arena, and begin only where there is
    room for them; call it before there are any.

    glibc reserves 64 MiB of it for each thread otherwise, and then the next one has nothing: it ends where it
    begins, and whoever waits for it is not told. One that does not get so far has Python wait for it for ever.
    """
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    share_arena()
    _require_room()


def _require_room() -> None:
    """From now on, starting a thread for which there is no room raises RuntimeError, as it does where there is
    none for its stack."""
    import mmap
    import threading

    start = threading.Thread.start
    stack = resource.getrlimit(resource.RLIMIT_STACK)[0]
    needed = (min(stack, _LONGEST_STACK) if stack != resource.RLIM_INFINITY else _LONGEST_STACK) + _BEGIN_BYTES

    def start_in_room(thread: threading.Thread) -> None:
        try:
            mmap.mmap(-1, needed).close()
        except (OSError, MemoryError) as error:
            raise RuntimeError("can't start new thread") from error
        start(thread)

    threading.Thread.start = start_in_room  # type: ignore[method-assign, assignment]
