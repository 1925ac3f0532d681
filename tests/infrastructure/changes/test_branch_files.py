"""Which files a branch changes, and which sessions may have changed them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from quorum.domain.errors import ToolError
from quorum.infrastructure.changes.git_reader import read_branch_files
from tests.support.review_rig import git, make_repository, write


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = make_repository(tmp_path / "p", {"a.py": "1\n", "dir/b.py": "1\n"})
    git(folder, "checkout", "-q", "-b", "topic")
    return folder


def test_files_that_are_committed_or_staged_since_the_branch_parted_are_its_own(repository: Path) -> None:
    write(repository, {"dir/b.py": "2\n", "new file.py": "1\n"})
    git(repository, "commit", "-q", "-a", "-m", "second")
    git(repository, "add", "-A")
    write(repository, {"a.py": "unstaged\n"})

    found = read_branch_files(repository / "dir", os.environ, "")

    assert found.touches([f"{repository}/dir/b.py"])
    assert found.touches(["/elsewhere", f"{repository}/new file.py"])
    assert not found.touches([f"{repository}/a.py"])
    assert 0 < found.since_ms <= time.time() * 1000


def test_what_the_main_branch_got_since_is_none_of_its_files(repository: Path) -> None:
    git(repository, "checkout", "-q", "main")
    write(repository, {"a.py": "2\n"})
    git(repository, "commit", "-q", "-a", "-m", "elsewhere")
    git(repository, "checkout", "-q", "topic")
    write(repository, {"dir/b.py": "2\n"})
    git(repository, "commit", "-q", "-a", "-m", "here")

    found = read_branch_files(repository, os.environ, "")

    assert found.paths == {f"{os.path.realpath(repository)}/dir/b.py"}


def test_sessions_of_the_working_tree_and_below_may_be_of_the_branch(repository: Path) -> None:
    found = read_branch_files(repository, os.environ, "main")

    assert found.may_hold(str(repository))
    assert found.may_hold(str(repository / "dir"))
    assert not found.may_hold(f"{repository}-other")
    assert not found.may_hold(str(repository.parent))


def test_a_base_that_is_not_there_is_named_with_the_remedy(repository: Path) -> None:
    git(repository, "branch", "-q", "-m", "main", "develop")

    with pytest.raises(ToolError, match="name it with --base"):
        read_branch_files(repository, os.environ, "")
    with pytest.raises(ToolError, match="there is no commit gone"):
        read_branch_files(repository, os.environ, "gone")
    assert read_branch_files(repository, os.environ, "develop").paths == frozenset()
