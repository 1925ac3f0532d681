"""A limit of the address space leaves room for threads."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only glibc reserves so much for each thread")

_MEASURE = """
import resource, sys, threading
from pathlib import Path
from quorum.thread_sharing import share_arena, share_scarce_memory

if sys.argv[1] == "limited":
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
share_scarce_memory()
if sys.argv[1] == "shared":
    share_arena()
threading.stack_size(1 << 20)
pages = lambda: int(Path("/proc/self/statm").read_text().split()[0])
before, hold = pages(), threading.Barrier(9)

def allocate():
    kept = bytes(4096)
    hold.wait()
    hold.wait()

for _ in range(8):
    threading.Thread(target=allocate).start()
hold.wait()
print((pages() - before) * resource.getpagesize() >> 20)
hold.wait()
"""


def measure(kind: str) -> int:
    """The MiB of addresses that eight threads take."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, kind], capture_output=True, text=True, timeout=60, check=True
    )
    return int(done.stdout)


def test_threads_reserve_next_to_nothing_where_the_address_space_is_limited() -> None:
    assert measure("limited") < 64 < measure("unlimited")


def test_threads_share_an_arena_where_they_are_told_to() -> None:
    assert measure("shared") < 64


_FILL = """
import mmap, resource, threading
from quorum.thread_sharing import share_scarce_memory

resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
share_scarce_memory()
first = threading.Thread(target=print, args=("room",))
first.start()
first.join()
kept = []
for size in (100 << 20, 1 << 20):
    while True:
        try:
            kept.append(mmap.mmap(-1, size))
        except OSError:
            break
for _ in range(9):  # room for a stack of 8 MiB, and next to nothing beside
    kept.pop().close()
try:
    threading.Thread(target=print, args=("no room",)).start()
except RuntimeError as error:
    kept.clear()
    print(error)
"""


def test_a_thread_is_refused_before_the_last_memory_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", _FILL], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.splitlines() == ["room", "can't start new thread"]
