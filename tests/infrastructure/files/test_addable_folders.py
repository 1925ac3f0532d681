import os
from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.managed_policy import AddableFolders


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("home/work/src", "home/library", "home/.config/quorum", "home/.ssh", "home/other/.git/hooks"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def folders(home: Path) -> AddableFolders:
    policy = PathPolicy(roots=(str(home / "work"),), own=(str(home / ".config" / "quorum"),))
    return AddableFolders(policy, [str(home)])


@pytest.mark.parametrize("named", ["../library", "~/library", "../library/", "../work/../library"])
def test_a_folder_beside_the_workspace_is_resolved(folders: AddableFolders, home: Path, named: str) -> None:
    assert folders.resolve(named) == str(home / "library")


def test_a_folder_inside_the_workspace_is_no_error(folders: AddableFolders, home: Path) -> None:
    assert folders.resolve("src") == str(home / "work" / "src")


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("/", "the whole file system"),
        ("~", "your home folder"),
        ("../..", "your home folder, or holds it"),
        ("../other/.git", ".git folder"),
        ("../other/.git/hooks", ".git folder"),
        ("~/.config/quorum", "files of its own"),
        ("~/.config", "files of its own"),
        ("~/.ssh", "sensitive or protected"),
        ("../missing", "No such file"),
        ("", "name the folder"),
        ("a\0b", "name the folder"),
    ],
)
def test_what_would_open_more_than_a_folder_is_refused(folders: AddableFolders, named: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        folders.resolve(named)


def test_a_folder_around_the_working_directory_is_refused(home: Path) -> None:
    policy = PathPolicy(roots=(str(home / "work" / "src"),))
    with pytest.raises(ConfigError, match="holds the working directory"):
        AddableFolders(policy, [str(home)]).resolve("..")


@pytest.mark.parametrize("target", [".ssh", ".config/quorum", "other/.git", "."])
def test_a_link_counts_as_what_it_leads_to(folders: AddableFolders, home: Path, target: str) -> None:
    (home / "innocent").symlink_to(home / target)
    with pytest.raises(ConfigError, match="it leads to"):
        folders.resolve("../innocent")


def test_a_file_is_no_folder(folders: AddableFolders, home: Path) -> None:
    (home / "notes.md").write_text("x")
    with pytest.raises(ConfigError, match="add the folder that it lies in"):
        folders.resolve("../notes.md")


@pytest.mark.parametrize("name", ["two\nlines", "turned\u202eround"])
def test_a_name_that_cannot_be_shown_is_refused_and_escaped(
    folders: AddableFolders, home: Path, name: str
) -> None:
    (home / name).mkdir()
    with pytest.raises(ConfigError, match="cannot be shown") as refused:
        folders.resolve(f"../{name}")
    assert str(refused.value).isprintable()


def test_a_name_that_is_no_text_is_refused(folders: AddableFolders, home: Path) -> None:
    os.mkdir(os.fsencode(home) + b"/\xff")
    with pytest.raises(ConfigError, match="no text") as refused:
        folders.resolve("../\udcff")
    assert str(refused.value).isprintable()
