"""A process that kills itself before one of the changes that it makes to names, modes and files on the disk."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Collection
from typing import Any

import pytest

from quorum.infrastructure.staging import change_journal, renaming

MOVES = ("move", "exchange")
_CHANGES = ("rename", "replace", "link", "unlink", "rmdir", "mkdir", "fsync", "chmod", "mknod", "removexattr")


def run_until_killed(
    work: Callable[[], object], before: int, of: Collection[str] = (*_CHANGES, *MOVES)
) -> bool:
    """Do this in a fork, which kills itself before its change of this number, from 0; whether it came so far.
    Only changes `of` these kinds are counted.

    Raises AssertionError with the trace where the work fails.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            _count(before, of)
            work()
        except BaseException:  # noqa: BLE001 - told to the parent, whatever it is
            os.write(writing, traceback.format_exc().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    assert not said, said.decode()
    return os.WIFSIGNALED(status)


def _count(left: int, of: Collection[str]) -> None:
    def wrap(change: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return change(*arguments, **named)

        return counted

    patch = pytest.MonkeyPatch()
    for name in set(_CHANGES) & set(of):
        patch.setattr(os, name, wrap(getattr(os, name)))
    for name in set(MOVES) & set(of):
        patch.setattr(change_journal, name, wrap(getattr(renaming, name)))
