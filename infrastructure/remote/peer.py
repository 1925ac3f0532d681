"""Who is at the other end of a socket: their user and their process, as the kernel names them."""

from __future__ import annotations

import socket
import struct
import sys
from typing import NamedTuple

_MACOS_LEVEL, _MACOS_CREDENTIALS, _MACOS_PID = 0, 1, 2  # sys/un.h: SOL_LOCAL, LOCAL_PEERCRED, LOCAL_PEERPID
_LINUX_UCRED, _MACOS_XUCRED, _MACOS_XUCRED_BYTES = "3i", "2I", 76


class Peer(NamedTuple):
    """A process as the kernel names it. `pid` is 0 where it is out of sight."""

    pid: int
    uid: int


def identify_peer(connection: socket.socket) -> Peer:
    """Who connected, or who listens. Raises OSError where the kernel does not tell."""
    if sys.platform == "linux":
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(_LINUX_UCRED))
        pid, uid, _ = struct.unpack(_LINUX_UCRED, raw)
        return Peer(pid, uid)
    raw = connection.getsockopt(_MACOS_LEVEL, _MACOS_CREDENTIALS, _MACOS_XUCRED_BYTES)
    _, uid = struct.unpack_from(_MACOS_XUCRED, raw)
    return Peer(connection.getsockopt(_MACOS_LEVEL, _MACOS_PID), uid)
