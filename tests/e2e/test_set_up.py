"""The Makefile's set-up of the environment, on machines where that fails half-way at first."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.support.installation import ROOT

if shutil.which("make") is None:
    pytest.skip("make is not installed here", allow_module_level=True)

# An interpreter whose ensurepip only leaves the program behind, which is all that the Makefile looks at.
_PYTHON = """#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
    {python} "$@" --without-pip && for folder; do :; done && install -m 755 /dev/null "$folder/bin/pip"
else
    exec {python} "$@"
fi
"""
# As on Debian without python3-venv: the environment is begun, and there is no ensurepip to complete it.
_WITHOUT_ENSUREPIP = """#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
    {python} "$@" --without-pip
    echo "ensurepip is not available; apt install python3-venv" >&2
    exit 1
fi
exec {python} "$@"
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "Makefile", tmp_path)
    return tmp_path


def make(checkout: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Create the environment with this Python, and install nothing into it."""
    python = checkout / "python"
    python.write_text(program.format(python=sys.executable))
    python.chmod(0o755)
    command = ["make", f"PYTHON={python}", ".venv/bin/pip"]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_an_environment_that_could_not_be_created_is_created_once_its_cause_is_gone(checkout: Path):
    failed = make(checkout, _WITHOUT_ENSUREPIP)

    assert failed.returncode != 0
    assert "apt install python3-venv" in failed.stderr
    assert not (checkout / ".venv").exists()

    repaired = make(checkout, _PYTHON)

    assert repaired.returncode == 0, repaired.stderr
    assert f"Creating .venv with Python {sys.version.split()[0]}" in repaired.stdout
    assert "Adding pip" not in repaired.stdout
    assert (checkout / ".venv/bin/pip").exists()


def test_an_environment_without_pip_is_completed(checkout: Path):
    venv.create(checkout / ".venv", symlinks=True)

    done = make(checkout, _PYTHON)

    assert done.returncode == 0, done.stderr
    assert "Adding pip to .venv" in done.stdout
    assert (checkout / ".venv/bin/pip").exists()


@pytest.mark.long
def test_an_environment_whose_interpreter_is_gone_is_created_anew(checkout: Path):
    venv.create(checkout / ".venv", symlinks=True)
    (checkout / ".venv/bin/python").unlink()
    (checkout / ".venv/bin/python").symlink_to("/nowhere/python3")

    done = make(checkout, _PYTHON)

    assert done.returncode == 0, done.stderr
    subprocess.run([checkout / ".venv/bin/python", "-c", ""], check=True)
