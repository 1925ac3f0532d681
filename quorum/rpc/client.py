"""One request to an app that listens, over a connection of its own. It blocks, in bounded time."""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from pathlib import Path

from quorum.errors import UsageError
from quorum.infrastructure.remote.framing import MOST_ANSWER_BYTES, FrameError, FrameReader, encode_frame
from quorum.infrastructure.remote.peer import identify_peer

_CONNECT_SECS, _ANSWER_SECS = 5.0, 60.0
_CHUNK_BYTES = 1 << 16
_TOKEN_BYTES = 4096


class NoAnswer(Exception):
    """No app answered; the text says why, and the remedy."""


def send_request(path: Path, method: str, params: dict[str, object]) -> dict[str, object]:
    """The answer, with its result or its error. Raises NoAnswer."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_CONNECT_SECS)
        try:
            connection.connect(os.fspath(path))
            is_ours = identify_peer(connection).uid == os.geteuid()
        except OSError as error:
            why = error.strerror or str(error)
            raise NoAnswer(
                f"nobody answers at {path} ({why}); start one with: quorum --listen {path}"
            ) from error
        if not is_ours:
            raise NoAnswer(f"the program that listens at {path} runs for another user")
        connection.settimeout(_ANSWER_SECS)
        try:
            with suppress(BrokenPipeError):  # refused before it was read; the answer says why
                connection.sendall(encode_frame(body))
            answer = json.loads(_receive(connection))
        except TimeoutError as error:
            raise NoAnswer(f"no answer within {_ANSWER_SECS:g} s") from error
        except (OSError, FrameError, ValueError) as error:
            raise NoAnswer(f"what listens at {path} gave no answer: {error}") from error
    if not isinstance(answer, dict):
        raise NoAnswer(f"what listens at {path} is no quorum: its answer is none")
    return answer


def _receive(connection: socket.socket) -> bytes:
    frames = FrameReader(MOST_ANSWER_BYTES)
    while (body := frames.pop_body()) is None:
        data = connection.recv(_CHUNK_BYTES)
        if not data:
            raise FrameError("the connection was closed")
        frames.feed(data)
    return body


def read_token(descriptor: int) -> str:
    """The token, from a descriptor: it is no word of the command line, which others see. Raises UsageError."""
    try:
        with open(descriptor, "rb") as handed:
            return handed.readline(_TOKEN_BYTES).decode("utf-8", "replace").strip()
    except OSError as error:
        raise UsageError(f"the token cannot be read from descriptor {descriptor}: {error.strerror}") from error
