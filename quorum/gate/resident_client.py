"""Asking the resident gate: a process of this user and this environment that has loaded already what decides.

A hook is started for each call, so this imports next to nothing. Wherever anything is not as it should be, the
call is decided in this process, as if there were no resident.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import time
from typing import Any

from quorum.gate import held_call
from quorum.gate.plain_arguments import read_folder, read_plain
from quorum.gate.resident_key import ResidentKey, identify_resident
from quorum.infrastructure.remote.framing import (
    MOST_ANSWER_BYTES,
    MOST_BODY_BYTES,
    FrameError,
    FrameReader,
    encode_frame,
)
from quorum.infrastructure.remote.peer import identify_peer

_GREETING_SECS, _GRACE_SECS, _CHUNK_BYTES = 1.0, 2.0, 1 << 16
_NO_ANSWER = "what decides about calls of other agents has taken this one and given no answer in time"


class _Unanswered(Exception):
    """There is no resident, or it is none of ours, or it ended: nothing was answered."""


class _Late(Exception):
    """It has taken the call, and may still decide about it: nobody else may, in the same time."""


def answer_quickly(arguments: list[str]) -> int | None:
    """The exit code, once a resident has answered; None where this process has to decide."""
    plain = read_plain(arguments, ("--dialect", "--timeout"))
    if plain is None or sys.stdin is None or (key := identify_resident(os.environ)) is None:
        return None
    if not os.path.lexists(key.socket):
        return None
    started = time.monotonic()
    content = sys.stdin.buffer.read(held_call.MOST_BYTES + 1)
    try:
        out, err, code = _ask(key, plain.dialect, content, plain.secs)
    except _Unanswered:
        held_call.hold(content, spent_secs=time.monotonic() - started)
        return None
    except _Late:
        held_call.hold(content, verdict=_NO_ANSWER)
        return None
    if err:
        print(err, file=sys.stderr)
    if out:
        print(out, flush=True)
    return code


def _ask(key: ResidentKey, dialect: str, content: bytes, secs: int) -> tuple[str, str, int]:
    try:
        call = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Unanswered from error
    asked = {
        "dialect": dialect,
        "call": call,
        "environment": dict(os.environ),
        "folder": read_folder(),
        "timeout_secs": secs,
    }
    body = _encode("gate.decide", asked)
    if len(body) > MOST_BODY_BYTES:
        raise _Unanswered
    taken = False
    try:
        _require_own_folder(os.path.dirname(key.socket))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_GREETING_SECS)
            connection.connect(key.socket)
            if identify_peer(connection).uid != os.geteuid():
                raise _Unanswered
            frames = FrameReader(MOST_ANSWER_BYTES)
            if _exchange(connection, frames, _encode("gate.greet", {"key": key.digest})) != key.digest:
                raise _Unanswered
            taken = True
            connection.settimeout(secs + _GRACE_SECS)
            answer = _exchange(connection, frames, body)
            out, err, code = answer["out"], answer["err"], answer["code"]
    except TimeoutError as error:
        raise (_Late if taken else _Unanswered) from error
    except (OSError, FrameError, ValueError, LookupError, TypeError) as error:
        raise _Unanswered from error
    if not isinstance(out, str) or not isinstance(err, str) or type(code) is not int:
        raise _Unanswered
    return out, err, code


def _require_own_folder(folder: str) -> None:
    """A socket counts only where nobody else could have put it. Raises OSError."""
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise OSError(f"{folder} is not a folder that only its owner can use")


def _encode(method: str, params: dict[str, object]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def _exchange(connection: socket.socket, frames: FrameReader, body: bytes) -> Any:
    """What the request comes to. Raises OSError, FrameError, ValueError and LookupError."""
    connection.sendall(encode_frame(body))
    while (answer := frames.pop_body()) is None:
        data = connection.recv(_CHUNK_BYTES)
        if not data:
            raise OSError("the connection was closed")
        frames.feed(data)
    return json.loads(answer)["result"]
