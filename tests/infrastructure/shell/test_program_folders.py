"""Which programs count as the system's."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.execution.shell.gate import ShellGate
from quorum.infrastructure.execution.shell.programs import PROGRAM_FOLDERS, SystemPrograms, explain_foreign
from tests.support.shell_gates import gate_for

_NOBODY = 65534
_NO_FOLDERS: frozenset[str] = frozenset()


def a_program(folder: Path, name: str = "git") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy("/bin/true", folder / name)
    return folder / name


def test_what_only_root_can_have_put_there_is_the_systems_wherever_it_lies() -> None:
    program = os.path.realpath("/bin/ls")

    assert os.stat(program).st_uid == 0
    assert explain_foreign(program, _NO_FOLDERS, person=_NOBODY) is None


def test_where_the_person_is_root_only_folders_that_are_known_count() -> None:
    folder = os.path.realpath("/bin")

    assert explain_foreign("/bin/ls", _NO_FOLDERS, person=0) == f"{folder} is not a folder of the system"
    assert explain_foreign("/bin/ls", frozenset({folder}), person=0) is None


def test_what_others_may_write_is_none_of_the_systems(tmp_path: Path) -> None:
    program = a_program(tmp_path / "bin")
    (tmp_path / "bin").chmod(0o777)

    why = explain_foreign(str(program), _NO_FOLDERS, person=_NOBODY)

    assert why is not None
    assert str(tmp_path) in why or "/tmp" in why


@pytest.mark.parametrize(
    "folder",
    [
        *("/usr/lib/git-core", "/usr/libexec/git-core", "/opt/local/bin", "/home/linuxbrew/.linuxbrew/bin"),
        *("/run/current-system/sw/bin", "/opt/homebrew/bin"),
    ],
)
def test_folders_of_git_and_of_package_managers_are_known(folder: str) -> None:
    assert folder in PROGRAM_FOLDERS


@pytest.mark.parametrize(
    "folder", ["/nix/store/abc-git-2.50/bin", "/opt/homebrew/Cellar/git/2.50/libexec/git-core"]
)
def test_what_a_package_manager_keeps_by_version_is_the_systems(folder: str) -> None:
    assert explain_foreign(f"{folder}/git", _NO_FOLDERS, person=0) is None


def test_of_conda_only_what_a_package_brought_is_the_systems(tmp_path: Path) -> None:
    brought = a_program(tmp_path / "bin", "git")
    other = a_program(tmp_path / "bin", "ls")
    records = tmp_path / "conda-meta"
    records.mkdir()
    (records / "history").touch()
    (records / "git-2.50.json").write_text(json.dumps({"files": ["bin/git", "bin/git-shell"]}))

    assert explain_foreign(str(brought), _NO_FOLDERS, person=os.geteuid()) is None
    assert explain_foreign(str(other), _NO_FOLDERS, person=os.geteuid()) is not None


def test_a_folder_of_conda_that_anybody_may_write_is_none_of_the_systems(tmp_path: Path) -> None:
    program = a_program(tmp_path / "bin")
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "conda-meta" / "history").touch()
    (tmp_path / "conda-meta" / "git.json").write_text('{"files": ["bin/git"]}')
    (tmp_path / "bin").chmod(0o777)

    assert explain_foreign(str(program), _NO_FOLDERS, person=os.geteuid()) is not None


async def test_a_folder_of_conda_in_the_workspace_is_none_of_the_systems(tmp_path: Path) -> None:
    a_program(tmp_path / "env" / "bin")
    (tmp_path / "env" / "conda-meta").mkdir()
    (tmp_path / "env" / "conda-meta" / "history").touch()
    (tmp_path / "env" / "conda-meta" / "git.json").write_text('{"files": ["bin/git"]}')

    verdict = await gate_for(tmp_path, path=f"{tmp_path}/env/bin").judge("git --version", tmp_path)

    assert not verdict.is_read_only
    assert "in the workspace" in verdict.reason


async def test_what_is_refused_is_reported_with_its_folder(tmp_path: Path) -> None:
    program = a_program(tmp_path / "bin")
    policy = PathPolicy(roots=(str(tmp_path / "work"),))
    (tmp_path / "work").mkdir()

    verdict = await ShellGate(policy, SystemPrograms(str(program.parent), policy)).judge(
        "git status", tmp_path / "work"
    )

    assert f"git would run {program}, which is none of the system's programs: " in verdict.reason
    assert str(tmp_path) in verdict.reason
