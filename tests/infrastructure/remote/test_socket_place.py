from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.infrastructure.remote.place import LONGEST_PATH, SocketPath


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One whose path is short enough; those of pytest may be too long."""
    tmp_path.chmod(0o700)
    return tmp_path


def test_the_socket_is_the_persons_alone_and_goes_when_it_is_left(folder: Path) -> None:
    place = SocketPath(folder / "q")

    status = os.lstat(folder / "q")
    assert stat.S_ISSOCK(status.st_mode)
    assert stat.S_IMODE(status.st_mode) == 0o600
    place.leave()
    assert os.listdir(folder) == []


def test_a_second_instance_reads_who_holds_the_place_and_changes_nothing(folder: Path) -> None:
    place = SocketPath(folder / "q")

    with pytest.raises(ConfigError, match=f"process {os.getpid()} listens there already"):
        SocketPath(folder / "q")
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(folder / "q"))
    place.leave()


def test_a_socket_that_nobody_listens_at_any_more_is_taken_over(folder: Path) -> None:
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(folder / "q"))
    dead.close()

    place = SocketPath(folder / "q")

    assert stat.S_IMODE(os.lstat(folder / "q").st_mode) == 0o600
    place.leave()


@pytest.mark.parametrize("kind", ["file", "link to a socket", "dangling link", "folder", "pipe"])
def test_what_is_no_socket_is_left_alone(folder: Path, kind: str) -> None:
    path = folder / "q"
    match kind:
        case "file":
            path.write_text("mine")
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "dangling link":
            path.symlink_to(folder / "nothing")
        case _:
            with socket.socket(socket.AF_UNIX) as dead:
                dead.bind(str(folder / "dead"))
            path.symlink_to(folder / "dead")
    before = os.lstat(path)

    with pytest.raises(ConfigError, match="not a socket, and it is left alone"):
        SocketPath(path)

    assert os.lstat(path) == before


def test_a_path_that_is_too_long_is_refused_with_its_length(folder: Path) -> None:
    path = folder / ("q" * (LONGEST_PATH + 1))

    with pytest.raises(ConfigError, match=f"a socket's at most {LONGEST_PATH}"):
        SocketPath(path)


def test_the_longest_path_is_taken(folder: Path) -> None:
    room = LONGEST_PATH - len(os.fsencode(folder.resolve())) - 1
    path = folder / ("q" * room)

    place = SocketPath(path)

    assert path.is_socket()
    place.leave()


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_folder_that_others_may_write_in_is_refused(folder: Path, mode: int) -> None:
    shared = folder / "shared"
    shared.mkdir()
    shared.chmod(mode)

    with pytest.raises(ConfigError, match="others may write in"):
        SocketPath(shared / "q")

    assert os.listdir(shared) == []


def test_a_folder_below_one_that_others_may_write_in_is_refused(folder: Path) -> None:
    (folder / "shared" / "mine").mkdir(parents=True)
    (folder / "shared").chmod(0o777)

    with pytest.raises(ConfigError, match="others may write in"):
        SocketPath(folder / "shared" / "mine" / "q")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(folder: Path) -> None:
    theirs = folder / "theirs"
    theirs.mkdir()
    os.chown(theirs, 12345, 12345)

    with pytest.raises(ConfigError, match="belongs to another user"):
        SocketPath(theirs / "q")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a socket away")
def test_a_dead_socket_of_another_user_is_left_alone(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "q"))
    os.chown(folder / "q", 12345, 12345)

    with pytest.raises(ConfigError, match="belongs to another user"):
        SocketPath(folder / "q")

    assert (folder / "q").is_socket()


def test_a_folder_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(ConfigError, match="No such file or directory"):
        SocketPath(folder / "nowhere" / "q")


def test_a_link_to_a_folder_is_judged_by_where_it_leads(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "link").symlink_to(folder / "real")

    place = SocketPath(folder / "link" / "q")

    assert place.path == (folder / "real" / "q").resolve()
    place.leave()


def test_leaving_does_not_remove_what_somebody_else_put_there(folder: Path) -> None:
    place = SocketPath(folder / "q")
    (folder / "q").unlink()
    (folder / "q").write_text("mine")

    place.leave()

    assert (folder / "q").read_text() == "mine"


def test_the_socket_is_not_inherited_by_what_is_started(folder: Path) -> None:
    place = SocketPath(folder / "q")

    assert not place.socket.get_inheritable()
    place.leave()
