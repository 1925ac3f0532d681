"""Asking the resident gates of other environments for a session that one of them keeps open."""

from __future__ import annotations

import asyncio
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


async def ask_residents_to_release(session_id: str) -> None:
    """Return when each has answered, or has not done so in time: one that decides in the session keeps it."""
    state = locate_state_folder(os.environ)
    if state is not None:
        await asyncio.to_thread(_ask_all, Path(state) / "gate", session_id)


def _ask_all(folder: Path, session_id: str) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": RELEASE, "params": {"session": session_id}}
    frame = encode_frame(json.dumps(request).encode())
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            _ask(path, frame)


def _ask(path: Path, frame: bytes) -> None:
    """What is answered does not matter: the record tells whether it can be had."""
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_WAIT_SECS)
        connection.connect(str(path))
        connection.sendall(frame)
        connection.recv(_CHUNK_BYTES)
