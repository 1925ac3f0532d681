"""Who is at the other end of a socket: their user and process, as the kernel tells.

A TCP connection is only known on loopback, and as far as Linux tells.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
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


_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_MAPPED_BYTES = b"\0" * 10 + b"\xff\xff"


class SocketAddress(NamedTuple):
    """An IP address and a port."""

    address: str
    port: int


class _SocketEntry(NamedTuple):
    uid: int
    inode: str


def identify_tcp_peer(ours: SocketAddress, theirs: SocketAddress) -> Peer | None:
    """Who connected from `theirs` to `ours`, both on this machine; None where that cannot be found out.

    Another user's process has the pid 0: its descriptors cannot be read. Reads /proc: it blocks.
    """
    if sys.platform != "linux":
        return None
    for entry in _read_entries(local=theirs, remote=ours):
        pid = _find_holder(entry.inode) if entry.uid == os.geteuid() else 0
        return Peer(pid, entry.uid) if pid is not None else None
    return None


def _read_entries(*, local: SocketAddress, remote: SocketAddress) -> Iterator[_SocketEntry]:
    for table in _TABLES:
        with suppress(OSError):
            for line in table.read_text(encoding="ascii").splitlines()[1:]:
                words = line.split()
                if _read_address(words[1]) == local and _read_address(words[2]) == remote:
                    yield _SocketEntry(int(words[7]), words[9])


def _read_address(text: str) -> SocketAddress:
    """The kernel writes addresses as words of 32 bits in the machine's own order, in hexadecimal."""
    number, _, port = text.partition(":")
    raw = bytes.fromhex(number)
    count = len(raw) // 4
    packed = struct.pack(f">{count}I", *struct.unpack(f"={count}I", raw))
    if packed.startswith(_MAPPED_BYTES):
        packed = packed[len(_MAPPED_BYTES) :]
    return SocketAddress(str(ipaddress.ip_address(packed)), int(port, 16))


def _find_holder(inode: str) -> int | None:
    """The process of ours that holds the socket of this inode; None where none is seen to."""
    wanted = f"socket:[{inode}]"
    for process in os.listdir("/proc"):
        if not process.isdecimal():
            continue
        with suppress(OSError):
            folder = f"/proc/{process}/fd"
            for descriptor in os.listdir(folder):
                with suppress(OSError):
                    if os.readlink(f"{folder}/{descriptor}") == wanted:
                        return int(process)
    return None
