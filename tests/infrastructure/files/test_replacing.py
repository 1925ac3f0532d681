"""What a file keeps when its content is replaced: owner, mode, access list, attributes, names, place."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from quorum.application.calls.batch_state import hold_to_access
from quorum.domain.calls.access import Access
from quorum.domain.errors import StaleSeal, ToolError
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.files import replacing
from quorum.infrastructure.files.file_metadata import find_other_names
from quorum.infrastructure.files.replacing import FileStep, change_together, replace_file
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.tools.builtin.parts import declare_writing

OLD, NEW = b"one\n", b"two, and longer\n"
needs_access_lists = pytest.mark.skipif(not shutil.which("setfacl"), reason="setfacl is not installed")


def replace(file: Path, workspace: Workspace | None = None) -> str:
    workspace = workspace or Workspace([file.parent])
    return replace_file(
        workspace,
        workspace.locate(str(file)),
        NEW,
        expected=sha256(OLD).hexdigest(),
        create_folders=False,
        stop=Stop(),
    )


def update(file: Path) -> None:
    workspace = Workspace([file.parent])
    step = FileStep(location=workspace.locate(str(file)), before=OLD, after=NEW)
    change_together(workspace, [step], stop=Stop())


def read_access_list(file: Path) -> list[str]:
    done = subprocess.run(
        ["getfacl", "-cn", "--absolute-names", file], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "a.txt"
    file.write_bytes(OLD)
    return file


@needs_access_lists
@pytest.mark.parametrize("change", [replace, update])
def test_an_access_list_and_attributes_stay_and_nobody_may_do_more(file: Path, change) -> None:  # type: ignore[no-untyped-def]
    file.chmod(0o640)
    try:
        subprocess.run(["setfacl", "-m", "u:1:rw,g::r", file], check=True)
        os.setxattr(file, "user.note", b"hello")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the file system has no access lists or attributes")
    before = read_access_list(file)

    change(file)

    assert file.read_bytes() == NEW
    assert read_access_list(file) == before
    assert "group::r--" in before
    assert os.getxattr(file, "user.note") == b"hello"


@needs_access_lists
def test_the_default_list_of_the_folder_gives_nobody_more(file: Path) -> None:
    file.chmod(0o660)
    try:
        subprocess.run(["setfacl", "-d", "-m", "u:1:rwx", file.parent], check=True)
    except subprocess.CalledProcessError:
        pytest.skip("the file system has no access lists")

    replace(file)

    assert not [line for line in read_access_list(file) if line.startswith("user:1")]


def test_other_names_in_the_workspace_show_the_new_content_too(file: Path) -> None:
    other = file.parent / "deep/b.txt"
    other.parent.mkdir()
    os.link(file, other)

    note = replace(file)

    assert other.read_bytes() == NEW
    assert other.samefile(file)
    assert str(other) in note
    assert sorted(path.name for path in file.parent.rglob("*")) == ["a.txt", "b.txt", "deep"]


def test_several_files_are_changed_under_their_other_names_too_or_not_at_all(file: Path) -> None:
    other, second = file.parent / "b.txt", file.parent / "c.txt"
    os.link(file, other)
    second.write_bytes(OLD)
    workspace = Workspace([file.parent])
    steps = [FileStep(location=workspace.locate(str(each)), before=OLD, after=NEW) for each in (file, second)]
    second.write_bytes(b"changed meanwhile")

    with pytest.raises(StaleSeal):
        change_together(workspace, steps, stop=Stop())
    assert other.read_bytes() == OLD

    second.write_bytes(OLD)
    change_together(workspace, steps, stop=Stop())
    assert (other.read_bytes(), second.read_bytes()) == (NEW, NEW)
    assert other.samefile(file)


def test_a_name_that_is_not_known_keeps_the_former_content(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_bytes(OLD)
    os.link(work / "a.txt", tmp_path / "outside.txt")

    note = replace(work / "a.txt")

    assert (work / "a.txt").read_bytes() == NEW
    assert (tmp_path / "outside.txt").read_bytes() == OLD
    assert "keep the former content" in note


def test_a_name_that_was_not_decided_about_keeps_the_former_content(file: Path) -> None:
    other = file.parent / "AGENTS.md"
    os.link(file, other)

    with hold_to_access(Access.of(writes=[os.path.realpath(file)])):
        replace(file)

    assert other.read_bytes() == OLD


def test_a_call_declares_the_other_names_of_what_it_writes(file: Path) -> None:
    os.link(file, file.parent / "AGENTS.md")
    location = Workspace([file.parent]).locate("a.txt")

    assert os.path.realpath(file.parent / "AGENTS.md") in declare_writing([location]).writes
    assert find_other_names(Workspace([file.parent]).locate("none.txt")) == ()


@pytest.mark.parametrize("reason", [errno.EBUSY, errno.EXDEV])
def test_a_file_in_whose_place_none_can_be_put_is_written_over(
    file: Path, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(replacing.os, "replace", refuse)
    inode = file.stat().st_ino

    replace(file)

    assert (file.read_bytes(), file.stat().st_ino) == (NEW, inode)
    assert [path.name for path in file.parent.iterdir()] == ["a.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write in every folder")
def test_a_file_in_a_folder_that_may_not_be_written_is_written_over(file: Path) -> None:
    file.parent.chmod(0o500)
    try:
        replace(file)
    finally:
        file.parent.chmod(0o700)
    assert file.read_bytes() == NEW


def test_a_write_that_fails_in_the_middle_gives_the_former_content_back(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.link(file, file.parent / "b.txt")
    write, calls = os.pwrite, []

    def fail_once(descriptor: int, data: bytes, place: int) -> int:
        calls.append(place)
        if len(calls) == 1:
            write(descriptor, data[:3], place)
            raise OSError(errno.EIO, "the disk is broken")
        return write(descriptor, data, place)

    monkeypatch.setattr(replacing.os, "pwrite", fail_once)

    with pytest.raises(ToolError, match="the disk is broken"):
        replace(file)
    assert file.read_bytes() == OLD
    assert sorted(path.name for path in file.parent.iterdir()) == ["a.txt", "b.txt"]


def test_what_cannot_be_given_back_is_kept_beside_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.link(file, file.parent / "b.txt")

    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "the disk is broken")

    monkeypatch.setattr(replacing.os, "pwrite", fail)

    with pytest.raises(ToolError, match="its former content is in") as failed:
        replace(file)
    (copy,) = [path for path in file.parent.iterdir() if path.name.endswith(".quorum-old")]
    assert copy.read_bytes() == OLD
    assert copy.name in str(failed.value)
