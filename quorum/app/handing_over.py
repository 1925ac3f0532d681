"""What one process hands to that which takes its place: in memory alone, by a descriptor that it inherits.

A process in a layer of an unprivileged user cannot get out of it again. Before it enters, another one steps
aside and waits outside; it becomes what the first one asks for.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import termios
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from quorum.errors import RestartedCommand, UsageError

_VARIABLE = "QUORUM_TAKES_OVER"
_GIVE_BACK = b"\x1b[?2004l\x1b[?1049l\x1b[?25h"
_MOST_BYTES = 1 << 28
_CAPABLE_OF_MOUNTS = 21  # CAP_SYS_ADMIN in linux/capability.h
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
_AWAITED = (*_FORWARDED, signal.SIGCHLD)
_SET_PARENT_DEATH_SIGNAL, _SET_DUMPABLE = 1, 4  # linux/prctl.h
_outside: list[int] = []


def become(arguments: Sequence[str], carried: bytes) -> UsageError:
    """Be a new quorum, started as this one was but for its arguments, which takes over what is `carried`, where
    the system has memory to hand on. Returns only where there can be none: the error to end with."""
    if sys.platform == "linux":
        descriptor = os.memfd_create("quorum", 0)
        os.write(descriptor, carried)
        os.environ[_VARIABLE] = str(descriptor)
    else:
        give_terminal_back(carried)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    began = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv[1:])]
    try:
        os.execv(sys.executable, [sys.executable, *began, *arguments])
    except OSError as error:
        give_terminal_back(carried)
        return UsageError(f"{sys.executable} cannot be started ({error.strerror}); start quorum again yourself")


def take_over() -> bytes:
    """What the process before this one has left for it; empty where there was none."""
    name = os.environ.pop(_VARIABLE, "")
    if not name.isdecimal():
        return b""
    try:
        with open(int(name), "rb") as file:
            return os.pread(file.fileno(), _MOST_BYTES, 0)
    except OSError:  # the variable is not of ours
        return b""


def read_terminal(carried: bytes) -> list[Any] | None:
    """The attributes that the terminal had before the app that left something to carry, if it left that too."""
    import msgspec

    class Left(msgspec.Struct):
        terminal: list[Any] | None = None

    return msgspec.msgpack.decode(carried, type=Left).terminal


def give_terminal_back(carried: bytes) -> None:
    """Have the terminal be as it was before the app that left it as it is: none takes it."""
    before = read_terminal(carried) if carried else None
    if before is not None:
        with suppress(OSError, termios.error, ValueError):
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, before)
            os.write(sys.stderr.fileno(), _GIVE_BACK)


def wait_outside() -> None:
    """Where entering a layer would take a user namespace, continue in another process, while this one waits for
    its end and ends as it did, or becomes what it asks for. No thread may have begun. Raises UsageError.
    """
    if sys.platform != "linux" or _can_mount():
        return
    waiting = os.getpid()
    _set_dumpable(False)  # keys are in its environment, and what it is to become in its memory
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)  # none comes before it is waited for
    try:
        asked = os.memfd_create("quorum", os.MFD_CLOEXEC)
        child = os.fork()
    except OSError as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        _set_dumpable(True)
        raise UsageError(f"no process can be started that works in a layer: {error.strerror}") from error
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        _set_dumpable(True)  # else it could enter no layer
        _outside.append(asked)
        _end_with(waiting)
        return
    _follow(child, unblocked)
    content = os.pread(asked, _MOST_BYTES, 0)
    if not content:
        os._exit(0)
    head, _, carried = content.partition(b"\n")
    raise RestartedCommand(tuple(json.loads(head)), carried)


def ask_outside(arguments: Sequence[str], carried: bytes) -> bool:
    """Have the process outside be a new quorum once this one has ended; whether there is one."""
    if not _outside:
        return False
    os.write(_outside[0], json.dumps(arguments).encode() + b"\n" + carried)
    return True


def _can_mount() -> bool:
    with open("/proc/self/status", encoding="ascii") as lines:
        held = next(line for line in lines if line.startswith("CapEff:"))
    return bool(int(held.split()[1], 16) >> _CAPABLE_OF_MOUNTS & 1)


def _set_dumpable(value: bool) -> None:
    """Let other programs of the same user look into this process, or not."""
    import ctypes

    ctypes.CDLL(None).prctl(_SET_DUMPABLE, int(value), 0, 0, 0)


def _end_with(waiting: int) -> None:
    """Hang up when the process outside is gone: nobody would tell the shell about this one any more."""
    import ctypes

    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGHUP)
    if os.getppid() != waiting:
        os.kill(os.getpid(), signal.SIGHUP)


def _follow(child: int, mask: Iterable[int]) -> None:
    """Wait for the end of a process; stop when it does, pass signals on, and end as it did if that was no
    success."""

    while True:
        if (number := signal.sigwait(_AWAITED)) != signal.SIGCHLD:
            with suppress(ProcessLookupError):
                os.kill(child, number)
            continue
        found, status = os.waitpid(child, os.WUNTRACED | os.WNOHANG)
        if not found:
            continue
        if os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)
        elif os.WIFSIGNALED(status):
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            with suppress(OSError):  # of one that nobody can take
                signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
            os.kill(os.getpid(), os.WTERMSIG(status))
        elif code := os.WEXITSTATUS(status):
            os._exit(code)
        else:
            break
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    for each in _FORWARDED:
        signal.signal(each, signal.SIG_DFL if each != signal.SIGINT else signal.default_int_handler)
