from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gate_rig import GateRig


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> GateRig:
    return GateRig(tmp_path, monkeypatch, capsys)


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as taken:  # kept, lest another process listens there
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]
