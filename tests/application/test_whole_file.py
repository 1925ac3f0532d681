"""Files are there as a whole, or not at all."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from quorum.application import whole_file
from quorum.application.whole_file import create_whole_file, sync_names, write_whole_file


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """A disk that is full after so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(params=[True, False], ids=["unnamed", "named"])
def are_unnamed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if not request.param:
        monkeypatch.setattr(whole_file, "_UNNAMED", 0)
    return bool(request.param)


@pytest.mark.usefixtures("are_unnamed")
@pytest.mark.parametrize("replaces", [True, False])
def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, replaces: bool) -> None:
    if replaces:
        (tmp_path / "a.json").write_text("before")

    with files_of_at_most(1_000), pytest.raises(OSError, match="large"):
        write_whole_file(tmp_path / "a.json", bytes(100_000), replaces=replaces)

    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.json", "before")] * replaces


@pytest.mark.usefixtures("are_unnamed")
def test_what_is_replaced_keeps_its_mode_and_links_to_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("before")
    (tmp_path / "a").chmod(0o640)
    (tmp_path / "link").symlink_to("a")

    write_whole_file(tmp_path / "link", b"after", replaces=True)
    write_whole_file(tmp_path / "new", b"after")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_text() == (tmp_path / "new").read_text() == "after"
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "new")] == [0o640, 0o600]
    assert len(os.listdir(tmp_path)) == 3
    with pytest.raises(FileExistsError):
        write_whole_file(tmp_path / "new", b"again")


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)

    write_whole_file(tmp_path / "pipe", b"content", replaces=True)

    assert os.read(reading, 100) == b"content"
    os.close(reading)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the system does not show open files")
@pytest.mark.parametrize("is_pipe", [True, False])
def test_what_is_open_and_has_no_name_is_written_to(tmp_path: Path, is_pipe: bool) -> None:
    if is_pipe:
        reading, writing = os.pipe()
    else:
        writing = os.open(tmp_path / "gone", os.O_RDWR | os.O_CREAT)
        reading = os.dup(writing)
        (tmp_path / "gone").unlink()
    (tmp_path / "out").symlink_to(f"/proc/self/fd/{writing}")

    write_whole_file(tmp_path / "out", b"content", replaces=True)

    assert os.read(reading, 100) == b"content"
    assert os.listdir(tmp_path) == ["out"]
    os.close(reading)
    os.close(writing)


def test_a_link_to_a_file_that_is_not_there_yet_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("new")

    write_whole_file(tmp_path / "link", b"content", replaces=True)

    assert (os.readlink(tmp_path / "link"), (tmp_path / "new").read_bytes()) == ("new", b"content")


@pytest.mark.parametrize("reason", [errno.EBUSY, errno.EXDEV, errno.EPERM])
def test_what_cannot_be_replaced_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(reason, "mounted")

    (tmp_path / "a").write_text("before, and longer")
    monkeypatch.setattr(os, "replace", refuse)

    write_whole_file(tmp_path / "a", b"after", replaces=True)

    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "after")]


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_has_no_name_before_it_is_whole_where_the_system_can_do_without(
    tmp_path: Path, are_unnamed: bool, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no links")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    listed = []

    def write(descriptor: int) -> None:
        listed.append(os.listdir(tmp_path))
        os.write(descriptor, b"content")

    folder = os.open(tmp_path, os.O_RDONLY)
    create_whole_file("a", folder, 0o600, write)
    os.close(folder)

    assert listed == [[]] * are_unnamed + [["a"]] * (not (are_unnamed and links))
    assert (tmp_path / "a").read_bytes() == b"content"


@pytest.mark.parametrize(
    ("reason", "fails"), [(errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True)]
)
def test_a_folder_that_no_name_can_be_synced_in_is_no_failure_and_a_broken_disk_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int, fails: bool
) -> None:
    def refuse(_descriptor: int) -> None:
        raise OSError(reason, "no")

    monkeypatch.setattr(os, "fsync", refuse)

    with pytest.raises(OSError, match="no") if fails else nullcontext():
        sync_names(tmp_path)
