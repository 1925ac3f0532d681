"""Asking a quorum that runs already: it decides, and puts what is to be asked about on its screen.

A hook is started for each call, so this imports next to nothing.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from quorum.gate import held_call
from quorum.gate.plain_arguments import read_folder, read_plain
from quorum.infrastructure.remote.framing import (
    MOST_ANSWER_BYTES,
    MOST_BODY_BYTES,
    FrameError,
    FrameReader,
    encode_frame,
)
from quorum.infrastructure.remote.peer import identify_peer

_CONNECT_SECS, _GRACE_SECS, _CHUNK_BYTES = 2.0, 3.0, 1 << 16
# Of the caller's environment nothing else bears on what its commands do to a repository.
_SENT = (
    "PATH",
    "CDPATH",
    "GLOBIGNORE",
    "RIPGREP_CONFIG_PATH",
    "CLAUDE_PROJECT_DIR",
    "COPILOT_CLI",
    "QWEN_CODE_CLI",
)


class Unreachable(Exception):
    """The running quorum gave no answer. The text says why."""


def answer_quickly(arguments: list[str]) -> int | None:
    """The exit code, once the running quorum has answered; None where the long way has to be taken."""
    plain = read_plain(arguments, ("--dialect", "--tui", "--timeout"))
    if plain is None or not plain.tui or sys.stdin is None:
        return None
    content = sys.stdin.buffer.read(held_call.MOST_BYTES + 1)
    try:
        out, err, code = ask_running(plain.tui, plain.dialect, content, plain.secs)
    except Unreachable as error:
        held_call.hold(content, trouble=str(error))
        return None
    if err:
        print(err, file=sys.stderr)
    if out:
        print(out, flush=True)
    return code


def ask_running(path: str, dialect: str, content: bytes, secs: float) -> tuple[str, str, int]:
    """What to print on standard output and on standard error, and the exit code. Raises Unreachable."""
    sent = {name: value for name, value in os.environ.items() if name in _SENT or name.startswith("GIT_")}
    try:
        call = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreachable("the call is not UTF-8") from error
    params = {
        "dialect": dialect,
        "call": call,
        "environment": sent,
        "folder": read_folder(),
        "timeout_secs": max(1, int(secs)),
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "gate.decide", "params": params}).encode()
    if len(body) > MOST_BODY_BYTES:
        raise Unreachable("the call is too large for the socket of the running quorum")
    try:
        answer = json.loads(_exchange(path, body, secs))
        if "error" in answer:
            raise Unreachable(f"the running quorum answers: {answer['error'].get('message')}")
        result = answer["result"]
        out, err, code = result["out"], result["err"], result["code"]
    except (OSError, FrameError, ValueError, LookupError, TypeError, AttributeError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
        raise Unreachable(f"no quorum answers at {path}: {why}") from error
    if not isinstance(out, str) or not isinstance(err, str) or not isinstance(code, int):
        raise Unreachable(f"what answers at {path} is no quorum")
    return out, err, code


def _exchange(path: str, body: bytes, secs: float) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_CONNECT_SECS)
        connection.connect(path)
        if identify_peer(connection).uid != os.geteuid():
            raise OSError("it runs for another user")
        connection.settimeout(secs + _GRACE_SECS)
        connection.sendall(encode_frame(body))
        frames = FrameReader(MOST_ANSWER_BYTES)
        while (answer := frames.pop_body()) is None:
            data = connection.recv(_CHUNK_BYTES)
            if not data:
                raise OSError("the connection was closed")
            frames.feed(data)
        return answer
