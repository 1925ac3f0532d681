"""What holds of `quorum gate` holds through a resident: the same tests, with another way to the decision."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.quorum.gate import test_claude_hook, test_gate_failures, test_gate_record, test_other_dialects
from tests.support.resident_rig import ForkedResidents

# It says that nobody has the session open afterwards: a resident keeps it for seconds.
OF_ONE_PROCESS = {
    "test_each_session_of_a_caller_is_one_session_of_ours",
}

for _module in (test_claude_hook, test_other_dialects, test_gate_record, test_gate_failures):
    for _name, _test in vars(_module).items():
        if _name.startswith("test_") and _name not in OF_ONE_PROCESS:
            globals()[_name] = _test


pytestmark = pytest.mark.long


def test_what_is_left_out_is_there() -> None:
    assert {name for name in OF_ONE_PROCESS if hasattr(test_gate_record, name)} | {
        name for name in OF_ONE_PROCESS if hasattr(test_gate_failures, name)
    } == OF_ONE_PROCESS


@pytest.fixture
def rig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[ForkedResidents]:
    rig = ForkedResidents(tmp_path, monkeypatch, capsys)
    yield rig
    rig.close()
