"""Temporary folders of a review: gone in the end, and after a kill with the next review."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import Mock

import pytest

from quorum.domain.code_review.change import CodeReviewRequest
from quorum.domain.sessions.session_summary import NewSession
from quorum.infrastructure.changes.repository_changes import RepositoryChanges
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.files.swept_folder import COPY_PREFIX, open_swept_folder, remove_abandoned_folders
from quorum.infrastructure.storage import open_unrecorded
from tests.support.review_rig import make_repository, write

_HOLD = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from quorum.infrastructure.files.swept_folder import COPY_PREFIX, open_swept_folder
with open_swept_folder(COPY_PREFIX) as folder:
    (folder / "file").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_folder_is_gone_with_all_that_is_in_it(parent: Path) -> None:
    with open_swept_folder(COPY_PREFIX) as folder:
        write(folder, {"deep/er/file": "x"})
        assert (folder.parent, folder.stat().st_mode & 0o777) == (parent, 0o700)
        remove_abandoned_folders()
        assert (folder / "deep/er/file").exists()
    assert os.listdir(parent) == []


def test_that_of_a_killed_process_is_swept_and_that_of_a_living_one_stays(parent: Path, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
        text=True,
    ) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        remove_abandoned_folders()
        assert (theirs / "file").exists()
        other.kill()
    kept = tmp_path / "kept"
    write(kept, {"file": "x"})
    (parent / "quorum-review-the_link").symlink_to(kept)
    (parent / "quorum-review-the_file").write_text("x", encoding="utf-8")
    (parent / "another").mkdir()
    remove_abandoned_folders()
    assert sorted(os.listdir(parent)) == ["another", "quorum-review-the_file", "quorum-review-the_link"]
    assert (kept / "file").exists()


async def test_that_of_a_session_that_is_not_recorded_stays_until_its_end(parent: Path, tmp_path: Path) -> None:
    record = open_unrecorded(StorageTable(), {"HOME": str(tmp_path)}, begun=NewSession())
    remove_abandoned_folders()
    (folder,) = os.listdir(parent)
    assert "ledger.sqlite" in os.listdir(parent / folder)

    await record.release()

    assert os.listdir(parent) == []


def test_without_a_folder_for_temporary_files_there_is_nothing_to_sweep(
    parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(parent / "never-made"))
    remove_abandoned_folders()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to give folders away")
def test_folders_of_other_users_are_left_alone(parent: Path) -> None:
    theirs = parent / "quorum-review-of_them_"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, 12345, 12345)
    remove_abandoned_folders()
    assert theirs.is_dir()


def leave(parent: Path, name: str) -> None:
    (parent / name).mkdir(mode=0o700)
    write(parent, {f"{name}/old.py": "x"})


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("quorum-session-notes", 0o700),
        ("quorum-review-left_one-more", 0o700),
        ("quorum-diff-examples", 0o755),
    ],
)
def test_folders_of_the_person_with_such_a_name_are_left_alone(parent: Path, name: str, mode: int) -> None:
    leave(parent, name)
    (parent / name).chmod(mode)
    remove_abandoned_folders()
    assert (parent / name / "old.py").exists()


def test_where_nothing_can_be_locked_there_is_a_folder_and_it_is_not_swept(
    parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(errno.ENOLCK, "No locks available")))
    with open_swept_folder(COPY_PREFIX) as folder:
        remove_abandoned_folders()
        assert folder.is_dir()
    assert os.listdir(parent) == []


@pytest.mark.parametrize("name", ["quorum-review-left_one", "quorum-diff-left_one"])
async def test_a_review_begins_with_sweeping(parent: Path, tmp_path: Path, name: str) -> None:
    folder = make_repository(tmp_path / "r", {"a.py": "one\n"})
    write(folder, {"a.py": "two\n"})
    leave(parent, name)
    source = RepositoryChanges(folder, {"PATH": os.environ["PATH"]}, make_tools=None)
    await source.read(CodeReviewRequest())
    assert os.listdir(parent) == []
    leave(parent, name)
    await source.read_diff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "the diff")
    assert os.listdir(parent) == []
