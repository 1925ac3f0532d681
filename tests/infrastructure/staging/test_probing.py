"""Whether a layer is to be had in a folder, as the doctor tells."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from quorum.infrastructure.doctor.diagnosis import check_layer
from quorum.infrastructure.doctor.finding import FindingState, report_ok, warn
from quorum.infrastructure.staging.entering import find_obstacle
from tests.support.layer_process import layers

__all__ = ["layers"]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "project").mkdir()
    return {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.mark.usefixtures("layers")
def test_where_a_layer_can_be_mounted_nothing_speaks_against_it_and_nothing_is_left(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    root = (tmp_path / "project").resolve()

    assert find_obstacle(root, environ) == ""
    assert os.listdir(tmp_path) == ["project"]
    assert os.listdir(root) == []


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("print('the system allows no user namespaces'); raise SystemExit(1)", "allows no user namespaces"),
        ("raise SystemExit(7)", "the trial ended with 7"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "the trial ended with -9"),
    ],
)
def test_a_trial_that_fails_says_why(
    tmp_path: Path, environ: dict[str, str], program: str, reason: str
) -> None:
    root = (tmp_path / "project").resolve()

    assert reason in find_obstacle(root, environ, (sys.executable, "-I", "-S", "-c", program))


def test_a_disk_that_is_full_is_found_out_before_a_layer_is_entered(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def allocate(*_arguments: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", allocate)

    found = find_obstacle((tmp_path / "project").resolve(), environ, ("/does/not/exist",))
    assert found == "the state folder cannot hold one: No space left on device"


def test_what_needs_no_trial_is_said_without_one(tmp_path: Path, environ: dict[str, str]) -> None:
    assert "holds quorum's own state" in find_obstacle(tmp_path.resolve(), environ, ("/does/not/exist",))


async def test_the_doctor_says_whether_the_mode_can_be_chosen(environ: dict[str, str]) -> None:
    works, missing = report_ok("sandbox", "bubblewrap"), warn("sandbox", "none", "allow it")

    good = await check_layer(environ, works, lambda _root, _environ: "")
    bad = await check_layer(environ, works, lambda _root, _environ: "no user namespaces")
    without = await check_layer(environ, missing, lambda _root, _environ: "")

    assert good.state is FindingState.OK
    assert "holds at most 2,000 files and 64 MB" in good.text
    assert (bad.state, bad.text) == (FindingState.WARN, "cannot be chosen: no user namespaces")
    assert (without.state, without.text) == (FindingState.WARN, "cannot be chosen: it needs the sandbox")
    assert without.remedy == "allow it"
