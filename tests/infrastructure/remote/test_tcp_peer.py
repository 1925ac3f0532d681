"""Who is at the other end of a TCP connection on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from quorum.infrastructure.remote.peer import Peer, SocketAddress, identify_tcp_peer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")


@pytest.mark.parametrize(
    ("family", "bound", "address"),
    [
        (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
        (socket.AF_INET6, "::1", "::1"),
        (socket.AF_INET, "127.1.2.3", "127.1.2.3"),
    ],
)
def test_a_process_that_connects_is_found(family: int, bound: str, address: str) -> None:
    with socket.socket(family) as listening:
        try:
            listening.bind((bound, 0))
        except OSError:
            pytest.skip(f"there is no {bound} here")
        listening.listen()
        port = listening.getsockname()[1]
        code = f"import socket, sys; s = socket.create_connection(({address!r}, {port})); sys.stdin.read()"
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
            connection, theirs = listening.accept()
            with connection:
                ours = connection.getsockname()
                found = identify_tcp_peer(SocketAddress(*ours[:2]), SocketAddress(*theirs[:2]))
            assert process.stdin is not None
            process.stdin.close()

    assert found == Peer(process.pid, os.geteuid())


def test_a_connection_that_there_is_not_has_nobody() -> None:
    assert identify_tcp_peer(SocketAddress("127.0.0.1", 1), SocketAddress("127.0.0.1", 2)) is None
