"""The files that findings name: read from the repository as it is now, and nowhere else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from quorum.domain.errors import ToolError
from quorum.infrastructure.changes.shown_content import RepositoryFiles

ENVIRON = {"PATH": os.environ["PATH"]}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "repository"
    (folder / "src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (folder / "src" / "a.py").write_bytes(b"one\n\xff\n")
    (tmp_path / "secret").write_text("hush", encoding="utf-8")
    return folder


async def test_files_are_named_from_the_root_of_the_repository_whatever_folder_is_open(
    repository: Path,
) -> None:
    files = RepositoryFiles(repository / "src", ENVIRON)
    assert await files.read("src/a.py") == "one\n\ufffd\n"
    assert await files.locate("src/a.py") == str(repository / "src" / "a.py")


async def test_without_a_repository_they_are_named_from_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one", encoding="utf-8")
    environ = {**ENVIRON, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    assert await RepositoryFiles(tmp_path, environ).read("a.py") == "one"


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("src/gone.py", "no such file or folder"),
        ("../secret", "outside"),
        ("/etc/passwd", "outside"),
        ("linked", "outside"),
        ("src", "folder"),
        ("pipe", "a named pipe"),
        ("", "empty"),
        ("a\0b", "NUL"),
    ],
)
async def test_what_is_gone_or_outside_or_no_file_is_refused_with_the_reason(
    repository: Path, file: str, said: str
) -> None:
    (repository / "linked").symlink_to("../secret")
    os.mkfifo(repository / "pipe")
    files = RepositoryFiles(repository, ENVIRON)
    for ask in (files.read, files.locate):
        with pytest.raises(ToolError, match=said):
            await ask(file)


async def test_a_file_that_is_too_large_for_the_pager_is_left_to_the_editor(repository: Path) -> None:
    with (repository / "large").open("wb") as file:
        file.truncate(20_000_001)
    files = RepositoryFiles(repository, ENVIRON)
    with pytest.raises(ToolError, match="larger than 20 MB: open it in your editor"):
        await files.read("large")
    assert await files.locate("large") == str(repository / "large")
