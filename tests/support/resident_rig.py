"""Callers whose calls a resident gate decides: a real process, asked by the quick client."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from quorum.cli.gate.decision import OPTION
from quorum.gate import held_call
from quorum.gate.resident_client import _encode, _exchange, answer_quickly
from quorum.gate.resident_key import ResidentKey, identify_resident
from quorum.infrastructure.remote.framing import MOST_ANSWER_BYTES, FrameReader
from tests.support.forked_quorum import ForkedBesides, can_fork, fork_quorum_besides
from tests.support.gate_rig import GateAnswer, GateRig

PROGRAM = str(Path(__file__).parents[2] / "quorum" / "__main__.py")
PATIENCE_SECS = 120.0


class ResidentRig(GateRig):
    """Starts a resident for the environment as it is at each call; `was_quick` says whether it answered."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        super().__init__(folder, monkeypatch, capsys)
        self.residents: dict[str, subprocess.Popen[bytes] | ForkedBesides] = {}
        self.was_quick = False
        # The path of a socket is short; folders of pytest are named after the test.
        self.state = Path(tempfile.mkdtemp(prefix="quorum-gate-"))
        self.set_environment(QUORUM_GATE__IDLE_MINUTES="1", XDG_STATE_HOME=str(self.state))
        # Only those are started that are ended with the test.
        monkeypatch.setattr("quorum.cli.gate.decision.start_resident", lambda: None)

    @property
    def key(self) -> ResidentKey:
        key = identify_resident(os.environ)
        assert key is not None
        return key

    @property
    def resident(self) -> subprocess.Popen[bytes] | ForkedBesides:
        """The one that this environment has."""
        return self.residents[self.key.socket]

    def start(self) -> None:
        """Have a resident that listens."""
        place = Path(self.key.socket)
        if place.exists():
            return
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return  # as where the first call would start it
        process = self.launch()
        self.residents[str(place)] = process
        with contextlib.closing(self._connect(process)) as connection:
            # One that has just begun is slower than the client waits for, where much else runs.
            connection.settimeout(PATIENCE_SECS)
            frames = FrameReader(MOST_ANSWER_BYTES)
            assert _exchange(connection, frames, _encode("gate.greet", {"key": self.key.digest}))

    def launch(self) -> subprocess.Popen[bytes] | ForkedBesides:
        """Have one begin."""
        return subprocess.Popen([sys.executable, "-P", PROGRAM, "gate", OPTION], cwd="/", env=dict(os.environ))

    def _connect(self, process: subprocess.Popen[bytes] | ForkedBesides) -> socket.socket:
        """The socket is there a moment before it listens."""
        until = time.monotonic() + PATIENCE_SECS
        while True:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.connect(self.key.socket)
                return connection
            except (FileNotFoundError, ConnectionRefusedError):
                connection.close()
            assert process.poll() is None, "it has ended"
            assert time.monotonic() < until, "it does not listen"
            time.sleep(0.01)

    def send(self, content: bytes, dialect: str = "claude", *options: str) -> GateAnswer:
        """Ask it; where it gives no answer, decide in this process, as `quorum gate` does."""
        self.start()
        return self.ask(content, dialect, *options)

    def ask(self, content: bytes, dialect: str = "claude", *options: str) -> GateAnswer:
        """The same with whatever listens, or does not."""
        held_call.held = None
        self._monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        self._capsys.readouterr()
        code = answer_quickly(["gate", "--dialect", dialect, *options])
        self.was_quick = code is not None
        if code is None:
            try:
                return super().send(content, dialect, *options)
            finally:
                held_call.held = None
        printed = self._capsys.readouterr()
        return GateAnswer(code, printed.out, printed.err)

    def close(self) -> None:
        """End all residents."""
        for process in self.residents.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        # What a process of a test has started ends when it has lost its place.
        shutil.rmtree(self.state, ignore_errors=True)


class ForkedResidents(ResidentRig):
    """The same, forked from a process that has imported all: to begin takes most of the time of a decision."""

    def launch(self) -> subprocess.Popen[bytes] | ForkedBesides:
        if not can_fork(os.environ):
            return super().launch()
        return fork_quorum_besides(PROGRAM, "gate", OPTION, cwd=Path("/"), env=dict(os.environ))
