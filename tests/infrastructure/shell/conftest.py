from __future__ import annotations

from pathlib import Path

import pytest

from tests.infrastructure.shell.repository_bench import git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / "sub").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    for line in ("one line\n", "another line\n"):
        (root / "a.txt").write_text(line)
        (root / "sub" / "b.txt").write_text(line)
        git(root, "add", ".")
        git(root, "commit", "-q", "-m", line)
    (root / "a.txt").write_text("a changed line\n")
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho ran >> {tmp_path / 'mark'}\ncat\n")
    script.chmod(0o755)
    return root
