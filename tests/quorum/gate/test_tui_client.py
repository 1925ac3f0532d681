"""The process that asks a quorum which runs already."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from quorum.gate.tui_client import Unreachable, ask_running
from quorum.infrastructure.remote.framing import MOST_BODY_BYTES, FrameReader, encode_frame
from tests.support.gate_rig import GateRig


class Listener:
    """Answers the first request with these bytes, framed or not."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.reply = b""
        self.asked: dict[str, object] = {}
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(self.path)
        self._socket.listen()
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except OSError:
            return
        with connection:
            frames = FrameReader()
            while (body := frames.pop_body()) is None:
                data = connection.recv(1 << 16)
                if not data:
                    return
                frames.feed(data)
            self.asked = json.loads(body)
            connection.sendall(self.reply)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    listening = Listener(tmp_path / "s")
    yield listening
    listening.close()


def framed(value: object) -> bytes:
    return encode_frame(json.dumps(value).encode())


def test_the_answer_is_printed_as_the_running_quorum_gives_it(listener: Listener) -> None:
    listener.reply = framed({"jsonrpc": "2.0", "id": 1, "result": {"out": "{}", "err": "", "code": 0}})

    assert ask_running(listener.path, "claude", b'{"a": 1}', 7) == ("{}", "", 0)
    params = listener.asked["params"]
    assert isinstance(params, dict)
    assert (params["dialect"], params["call"], params["timeout_secs"]) == ("claude", '{"a": 1}', 7)


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n\r\n",
        framed([]),
        framed({"result": None}),
        framed({"result": {"out": "{}"}}),
        framed({"result": {"out": 7, "err": "", "code": 0}}),
        framed({"error": {"code": -32601, "message": "there is no method 'gate.decide'"}}),
    ],
)
def test_what_gives_no_answer_is_not_believed(listener: Listener, reply: bytes) -> None:
    listener.reply = reply

    with pytest.raises(Unreachable):
        ask_running(listener.path, "claude", b"{}", 5)


def test_a_socket_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"no quorum answers at .*none: No such file"):
        ask_running(str(tmp_path / "none"), "claude", b"{}", 5)


def test_a_call_that_no_frame_can_hold_is_not_sent(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="too large"):
        ask_running(str(tmp_path / "none"), "claude", b"x" * MOST_BODY_BYTES, 5)


def test_without_a_running_quorum_it_is_decided_here_and_asked_about_with_the_reason(rig: GateRig) -> None:
    nowhere = str(rig.root / "none")
    payload = json.dumps(rig.payload("Bash", command="touch a")).encode()
    reading = json.dumps(rig.payload("Bash", command="ls")).encode()

    asked = rig.send(payload, "claude", "--tui", nowhere)

    assert (asked.permission, f"no quorum answers at {nowhere}" in asked.reason) == ("ask", True)
    assert rig.send(reading, "claude", "--tui", nowhere).permission == "allow"


@pytest.mark.parametrize("other", [["--mode", "auto"], ["-C", "/"], ["--config", "/x"], ["-m", "a/b"]], ids=str)
def test_settings_of_the_asking_process_cannot_go_with_it(rig: GateRig, other: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        rig.send(b"{}", "claude", "--tui", "/s", *other)

    assert ended.value.code == 2


HEAVY = (
    "argparse",
    "asyncio",
    "dataclasses",
    "inspect",
    "msgspec",
    "sqlalchemy",
    "tree_sitter",
    "quorum.application",
)


def test_the_client_imports_next_to_nothing() -> None:
    program = (
        "import sys, quorum.gate.tui_client, quorum.standard_streams\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
