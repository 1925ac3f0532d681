from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from quorum.infrastructure.execution.program import close_process_to_inspection, open_process_to_inspection
from tests.support.layer_process import run_forked

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


@pytest.mark.skipif(sys.platform != "linux", reason="the system offers no such protection")
def test_a_fork_of_a_closed_process_can_be_opened_to_itself_as_a_user_namespace_takes_it() -> None:
    def write() -> bool:
        try:
            os.close(os.open("/proc/self/oom_score_adj", os.O_WRONLY))
        except OSError:
            return False
        return True

    def look() -> tuple[bool, bool]:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        close_process_to_inspection()
        closed = write()
        open_process_to_inspection()
        return closed, write()

    assert run_forked(look) == (False, True)
