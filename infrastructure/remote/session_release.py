"""Asking the resident gates for a session that one of them keeps open, though nothing is decided in it."""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from pathlib import Path

from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.remote.framing import encode_frame

RELEASE = "gate.release"
_WAIT_SECS = 0.5
_CHUNK_BYTES = 4096


def ask_residents_to_release(session_id: str) -> None:
    """Return when each has answered, or has not done so in time: one that decides in the session keeps it.

    Blocks, and never raises: whether the session can be had, its lock tells.
    """
    state = locate_state_folder(os.environ)
    if state is None:
        return
    request = {"jsonrpc": "2.0", "id": 1, "method": RELEASE, "params": {"session": session_id}}
    frame = encode_frame(json.dumps(request).encode())
    with suppress(OSError):
        for path in sorted((Path(state) / "gate").iterdir()):
            _ask(path, frame)


def _ask(path: Path, frame: bytes) -> None:
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_WAIT_SECS)
        connection.connect(str(path))
        connection.sendall(frame)
        connection.recv(_CHUNK_BYTES)
