"""Finding the processes of a command whose supervisor is gone, by the marker in their environment."""

from __future__ import annotations

import os
import secrets
import signal
import time
from pathlib import Path

from quorum.domain.calls.execution import Orphan
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.execution.commands.supervisor import find_family, list_processes, send

MARKER_PREFIX = "QUORUM_COMMAND_"
_TICK_SECS = 0.05
_SHOWN_CHARS = 80


def generate_marker() -> str:
    """A variable name no other command has; every process of a command carries it in its environment."""
    return MARKER_PREFIX + secrets.token_hex(12)


def kill_orphans(marker: str, *, group: int | None, supervisor: int | None = None) -> tuple[set[int], set[int]]:
    """Kill what belongs to a command; who was hit, and who is out of our reach.

    A process belongs to it when its environment has the marker, when it is in the process group of the shell,
    or when it descends from such a one or from the supervisor. Where there is no /proc (macOS) the marker
    cannot be read, and a daemon that has left the group is not found.
    """
    table = list_processes()
    marked = {pid for pid in table if any(name == marker for name, _ in read_markers(pid))}
    found = marked | find_family(table, roots=marked | ({supervisor} if supervisor else set()), group=group)
    hit = {pid for pid in found if send(pid, signal.SIGKILL)}
    return hit, (found - hit) & list_processes().keys()  # the others are gone: they ended just now


class OrphanFinder:
    """Finds what outlived both quorum and the supervisor, by whose call the marker in its environment names.

    Where a supervisor still lives it ends its command within about a second: `settle_secs` are left to it. What
    has cleared its environment, and where there is no /proc (macOS) all, is not found.
    """

    def __init__(self, settle_secs: float = 1.5) -> None:
        self._settle_secs = settle_secs

    async def find_by_batch(self, batch_id: str) -> tuple[Orphan, ...]:
        """The processes that calls of this batch started, with all below them. Nothing is done to them."""
        return await run_in_thread(lambda stop: self._wait_until_settled(batch_id, stop))

    def _wait_until_settled(self, batch_id: str, stop: Stop) -> tuple[Orphan, ...]:
        until = time.monotonic() + self._settle_secs
        while (found := _find_owned(batch_id)) and time.monotonic() < until:
            stop.check()
            time.sleep(_TICK_SECS)
        return found


def _find_owned(batch_id: str) -> tuple[Orphan, ...]:
    table = list_processes()
    marked = {pid for pid in table if any(value == batch_id for _, value in read_markers(pid))}
    found = marked | find_family(table, roots=marked, group=None)
    return tuple(Orphan(pid=pid, command=_read_command(pid)) for pid in sorted(found - {os.getpid()}))


def read_markers(pid: int) -> list[tuple[str, str]]:
    """The markers that a process carries, name and value; none where it cannot be looked into."""
    if pid == os.getpid():
        return []
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # gone meanwhile, or not ours to look into and so not a child of our command
        return []
    entries = (entry.decode("utf-8", "replace").partition("=") for entry in environ.split(b"\0"))
    return [(name, value) for name, _, value in entries if name.startswith(MARKER_PREFIX)]


def _read_command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    command = b" ".join(words).decode("utf-8", "replace").strip()
    return command if len(command) <= _SHOWN_CHARS else f"{command[: _SHOWN_CHARS - 1]}…"
