from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.gate_rig import GateRig


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> GateRig:
    return GateRig(tmp_path, monkeypatch, capsys)
