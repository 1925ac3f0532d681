"""Finding the processes of a command whose warden is gone, by the marker in their environment."""

from __future__ import annotations

import os
import secrets
import signal

from infrastructure.commands.warden import family, processes, send

MARKER_PREFIX = "QUORUM_COMMAND_"


def new_marker() -> str:
    """A variable name no other command has; every process of a command carries it in its environment."""
    return MARKER_PREFIX + secrets.token_hex(12)


def kill_strays(marker: str, *, group: int | None, warden: int | None = None) -> tuple[set[int], set[int]]:
    """Kill what belongs to a command; who was hit, and who is out of our reach.

    A process belongs to it when its environment has the marker, when it is in the process group of the
    shell, or when it descends from such a one or from the warden. Where there is no /proc (macOS) the marker
    cannot be read, and a daemon that has left the group is not found.
    """
    table = processes()
    marked = {pid for pid in table if _carries(pid, marker.encode() + b"=")}
    found = marked | family(table, roots=marked | ({warden} if warden else set()), group=group)
    hit = {pid for pid in found if send(pid, signal.SIGKILL)}
    return hit, found - hit


def _carries(pid: int, entry: bytes) -> bool:
    if pid == os.getpid():
        return False
    try:
        with open(f"/proc/{pid}/environ", "rb") as environ:
            content = environ.read()
    except OSError:  # gone meanwhile, or not ours to look into and so not a child of our command
        return False
    return content.startswith(entry) or b"\0" + entry in content
