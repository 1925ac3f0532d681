from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_CODE = """
import subprocess, sys, os
sys.path.insert(0, {root!r})
from quorum.infrastructure.execution.program import close_process_to_inspection
assert close_process_to_inspection()
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
    assert close_process_to_inspection()
print(subprocess.run(["cat", f"/proc/{{os.getpid()}}/environ"], capture_output=True, text=True).stdout)
print(subprocess.run(["cat", "/proc/self/environ"], capture_output=True, text=True, env={{}}).returncode)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system offers no such protection")
def test_a_command_cannot_read_our_keys_from_proc() -> None:
    code = _CODE.format(root=str(ROOT))

    result = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": os.environ["PATH"], "PROVIDER_API_KEY": "sk-secret"},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )

    assert "sk-secret" not in result.stdout
    assert result.stdout.split()[-1] == "0"
