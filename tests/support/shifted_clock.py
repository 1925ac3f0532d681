"""A clock of the day that is ahead or behind, for one program and what it starts. Waiting takes as long."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

COMPILER = shutil.which("cc")
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = next(clock, now);
    const char *secs = getenv("CLOCK_AHEAD_SECS");
    if (!failed && clock == CLOCK_REALTIME && secs) now->tv_sec += atol(secs);
    return failed;
}

time_t time(time_t *to) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to) *to = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}
"""


def shift_clock(folder: Path, secs: int) -> dict[str, str]:
    """The variables of a program whose clock is so far ahead. A library is built in the folder."""
    library = folder / "clock.so"
    if not library.exists():
        assert COMPILER is not None
        source = folder / "clock.c"
        source.write_text(_SOURCE)
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "CLOCK_AHEAD_SECS": str(secs)}
