"""What holds of `quorum gate` holds through a resident: the same tests, with another way to the decision."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.quorum.gate import test_claude_hook, test_gate_failures, test_gate_record, test_other_dialects
from tests.support.resident_rig import ResidentRig

for _module in (test_claude_hook, test_other_dialects, test_gate_record, test_gate_failures):
    for _name, _test in vars(_module).items():
        if _name.startswith("test_"):
            globals()[_name] = pytest.mark.long(_test) if not hasattr(_test, "pytestmark") else _test


@pytest.fixture
def rig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[ResidentRig]:
    rig = ResidentRig(tmp_path, monkeypatch, capsys)
    yield rig
    rig.close()
