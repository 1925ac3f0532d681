"""Settings are loaded by several threads of one process: tabs are opened as fast as one can type."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_AT_ONCE = """
import threading
from pathlib import Path
from quorum.infrastructure.config.loading import load_settings

together = threading.Barrier(4)
loaded = []

def load():
    together.wait()
    loaded.append(load_settings(cwd=Path("."), environ={}).settings)

threads = [threading.Thread(target=load) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(loaded), len(set(map(repr, loaded))))
"""


def test_threads_that_load_settings_for_the_first_time_at_once_do_not_end_the_process(tmp_path: Path) -> None:
    path = {"PYTHONPATH": str(Path(__file__).parents[3]), "HOME": str(tmp_path)}
    for _ in range(3):
        child = subprocess.run(
            [sys.executable, "-c", _AT_ONCE],
            cwd=tmp_path,
            env=path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (child.returncode, child.stdout, child.stderr) == (0, "4 1\n", "")
