"""Asking the process that writes a session to end: only where the kernel names it as that process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.domain.errors import LedgerError, SessionInUse
from quorum.infrastructure.store.ledger.locks import SessionLock, SessionLockFolder
from quorum.infrastructure.store.sql.session_locks import end_holder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell who holds a lock")

_HOLDER = """
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(descriptor, fcntl.LOCK_EX)
os.write(descriptor, (sys.argv[2] or str(os.getpid())).encode())
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    """Those that a test starts."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for each in started:
        each.kill()
        each.communicate()


def hold(processes: list[subprocess.Popen[str]], path: Path, says: str = "") -> subprocess.Popen[str]:
    """A process that holds this lock, with another id in it where it `says` one."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _HOLDER, str(path), says],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    processes.append(process)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_the_process_that_holds_the_lock_gets_a_sigterm(
    tmp_path: Path, processes: list[subprocess.Popen[str]]
) -> None:
    holder, other = (hold(processes, tmp_path / f"{name}.lock") for name in ("one", "two"))

    end_holder(SessionLockFolder(tmp_path), "one")

    assert holder.wait(30) == -signal.SIGTERM
    assert other.poll() is None
    with pytest.raises(LedgerError, match="no process has session one open any more"):
        end_holder(SessionLockFolder(tmp_path), "one")


def test_a_process_that_is_named_but_does_not_hold_the_lock_is_left_alone(
    tmp_path: Path, processes: list[subprocess.Popen[str]]
) -> None:
    bystander = hold(processes, tmp_path / "two.lock")
    holder = hold(processes, tmp_path / "one.lock", says=str(bystander.pid))

    with pytest.raises(SessionInUse, match=f"open in process {bystander.pid}, which cannot be asked to end"):
        end_holder(SessionLockFolder(tmp_path), "one")

    assert bystander.poll() is None
    assert holder.poll() is None


@pytest.mark.parametrize("says", ["x", "4194305", "0"])
def test_where_no_such_process_is_known_nothing_is_asked(
    tmp_path: Path, processes: list[subprocess.Popen[str]], says: str
) -> None:
    holder = hold(processes, tmp_path / "one.lock", says=says)

    with pytest.raises(SessionInUse, match="end it where it runs"):
        end_holder(SessionLockFolder(tmp_path), "one")

    assert holder.poll() is None


def test_this_process_does_not_end_itself(tmp_path: Path) -> None:
    lock = SessionLock.acquire(tmp_path, "one")

    with pytest.raises(SessionInUse, match=f"open in process {os.getpid()}, which"):
        end_holder(SessionLockFolder(tmp_path), "one")

    lock.release()
