from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.support.gate_rig import GateRig


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> GateRig:
    return GateRig(tmp_path, monkeypatch, capsys)


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
