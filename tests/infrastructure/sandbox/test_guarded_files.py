from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.execution.sandbox import guarded_files
from quorum.infrastructure.execution.sandbox.guarded_files import FolderCache, GuardedFiles, find_guarded
from quorum.infrastructure.execution.sandbox.repository_places import list_repository_places


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "root"
    folder.mkdir()
    return folder


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()


def found(root: Path, **bounds: int) -> GuardedFiles:
    return find_guarded([str(root)], PathPolicy(roots=(str(root),)), **bounds)


def below(root: Path, paths: list[str]) -> list[str]:
    return sorted(str(Path(path).relative_to(root)) for path in paths)


def test_protected_and_sensitive_paths_are_found_at_any_depth_and_in_any_case(root: Path) -> None:
    make(root, "a/b/agents.MD", "a/.Env", ".git/config", ".github/x/.env", "plain", "a/key.pem")

    guarded = found(root)

    assert below(root, guarded.protected) == [".git", ".github", "a/b/agents.MD"]
    assert below(root, guarded.sensitive) == [".github/x/.env", "a/.Env", "a/key.pem"]
    assert guarded.complete


def test_names_without_wildcards_are_found_at_the_top_whatever_else_is_there(root: Path) -> None:
    make(root, ".git/config", ".git/hooks/x", ".env", "AGENTS.md", *(f"!{n}.pem" for n in range(20)))
    make(root, *(f"!{n}/AGENTS.md" for n in range(20)))

    guarded = found(root, most=5)
    looked_at_nothing = found(root, entries=0)

    assert {".git", "AGENTS.md"} <= set(below(root, guarded.protected))
    assert ".env" in below(root, guarded.sensitive)
    assert below(root, looked_at_nothing.protected) == [".git", "AGENTS.md"]
    assert not guarded.complete
    assert not looked_at_nothing.complete


def test_protected_paths_are_found_beside_any_number_of_sensitive_ones(root: Path) -> None:
    make(root, *(f"a/{n}.pem" for n in range(5)), "a/z/AGENTS.md")

    guarded = found(root, most=5)

    assert below(root, guarded.protected) == ["a/z/AGENTS.md"]
    assert guarded.complete


def test_repositories_of_installed_packages_are_found(root: Path) -> None:
    make(root, "node_modules/a/.git/config", "node_modules/@b/c/.git/config", "x/site-packages/d/.git/HEAD")

    assert below(root, found(root).protected) == [
        "node_modules/@b/c/.git",
        "node_modules/a/.git",
        "x/site-packages/d/.git",
    ]


def test_installed_packages_and_linked_folders_are_not_looked_into(root: Path, tmp_path: Path) -> None:
    make(root, "node_modules/x/.env", "lib/site-packages/certifi/cacert.pem")
    make(tmp_path, "elsewhere/.env")
    (root / "link").symlink_to(tmp_path / "elsewhere")

    assert found(root).sensitive == []


def test_a_workspace_that_is_too_large_is_looked_through_from_the_top_and_said_to_be(root: Path) -> None:
    make(root, ".env", *(f"deep/{n}" for n in range(20)))

    guarded = found(root, entries=10)

    assert below(root, guarded.sensitive) == [".env"]
    assert not guarded.complete


def test_so_is_one_with_too_many_such_files(root: Path) -> None:
    make(root, *(f"{n}.pem" for n in range(20)))

    guarded = found(root, most=5)

    assert len(guarded.sensitive) == 5
    assert not guarded.complete


def test_a_folder_of_no_repository_needs_nothing_else(root: Path) -> None:
    assert list_repository_places(str(root)) == ()


def test_a_submodule_needs_the_repository_around_it(root: Path) -> None:
    make(root, ".git/HEAD", ".git/objects/x", ".git/refs/x", ".git/modules/sub/HEAD", "sub/file")
    (root / "sub/.git").write_text("gitdir: ../.git/modules/sub\n")

    assert list_repository_places(str(root / "sub")) == (str(root / ".git"),)


@pytest.mark.parametrize("line", ["gitdir: /", "gitdir: ../.ssh", "nonsense", "gitdir: a\nb", ""])
def test_a_git_file_that_names_no_repository_is_not_believed(root: Path, line: str) -> None:
    make(root, ".ssh/HEAD", "work/file")
    (root / "work/.git").write_text(line)

    assert list_repository_places(str(root / "work")) == ()


@pytest.fixture
def old_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders that have just changed may be remembered at once."""
    monkeypatch.setattr(guarded_files, "_TICK_NS", -(10**12))


def search(root: Path, cache: FolderCache, **bounds: int) -> GuardedFiles:
    return find_guarded([str(root)], PathPolicy(roots=(str(root),)), cache=cache, **bounds)


@pytest.mark.usefixtures("old_enough")
def test_folders_that_did_not_change_are_not_read_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(root, "a/b/AGENTS.md", "a/.env", "node_modules/@x/y/.git/HEAD", ".git/HEAD", "c/plain")
    cache = FolderCache()
    first = search(root, cache)
    read: list[str] = []
    entries = guarded_files._list_entries

    def note_and_read(folder: str) -> Sequence[os.DirEntry[str]]:
        read.append(folder)
        return entries(folder)

    monkeypatch.setattr(guarded_files, "_list_entries", note_and_read)

    again = search(root, cache)
    make(root, "c/CLAUDE.md")
    later = search(root, cache)

    assert again == first
    assert read == [str(root / "c")]
    assert sorted({*later.protected} - {*first.protected}) == [str(root / "c/CLAUDE.md")]


@pytest.mark.usefixtures("old_enough")
def test_what_comes_goes_and_moves_is_noticed(root: Path) -> None:
    make(root, "a/b/key.pem", "c/.env", "node_modules/x/y", "d/plain")
    cache = FolderCache()
    search(root, cache)

    (root / "a").rename(root / "moved")
    (root / "c/.env").unlink()
    make(root, "node_modules/x/.git/HEAD", "d/e/f/.npmrc")
    later = search(root, cache)

    assert below(root, later.sensitive) == ["d/e/f/.npmrc", "moved/b/key.pem"]
    assert below(root, later.protected) == ["node_modules/x/.git"]


def test_a_folder_that_changed_just_now_is_read_again(root: Path) -> None:
    make(root, "a/plain")
    cache = FolderCache()
    search(root, cache)
    times = os.stat(root / "a")
    make(root, "a/.env")
    os.utime(root / "a", ns=(times.st_atime_ns, times.st_mtime_ns))

    assert below(root, search(root, cache).sensitive) == ["a/.env"]


@pytest.mark.usefixtures("old_enough")
def test_a_remembered_workspace_that_is_too_large_is_still_said_to_be(root: Path) -> None:
    make(root, *(f"deep/{n}" for n in range(20)))
    cache = FolderCache()

    assert search(root, cache).complete
    assert not search(root, cache, entries=10).complete
    assert not search(root, cache, entries=10).complete


@pytest.mark.parametrize("is_known", [False, True], ids=["first", "later"])
def test_what_another_program_moves_during_the_search_to_where_it_has_been_is_found(
    root: Path, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    make(root, "a/x", "b/inner/x", "c/x")
    cache = FolderCache()
    if is_known:
        search(root, cache)
    make(root, "b/inner/.env")
    list_entries, moves = guarded_files._list_entries, [("b/inner", "a/inner")]

    def move(folder: str) -> Sequence[os.DirEntry[str]]:
        """The folder is moved behind the back of the search as it comes to where that was."""
        if folder == str(root / "b") and moves:
            source, target = moves.pop()
            (root / source).rename(root / target)
        return list_entries(folder)

    monkeypatch.setattr(guarded_files, "_list_entries", move)
    if is_known:
        os.utime(root / "b")

    assert below(root, search(root, cache).sensitive) == ["a/inner/.env"]


def test_files_that_come_and_go_all_the_time_hold_up_no_search_for_long(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(root, ".env", "logs/x")
    monkeypatch.setattr(guarded_files, "_SETTLE_SECS", 0.05)
    list_entries, number = guarded_files._list_entries, iter(range(10_000))

    def churn(folder: str) -> Sequence[os.DirEntry[str]]:
        if folder == str(root / "logs"):
            (root / f"logs/{next(number)}").touch()
        return list_entries(folder)

    monkeypatch.setattr(guarded_files, "_list_entries", churn)
    guarded = found(root)
    assert (below(root, guarded.sensitive), guarded.complete) == ([".env"], True)


def test_folders_that_come_all_the_time_leave_the_search_incomplete(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(root, ".env", "logs/x")
    monkeypatch.setattr(guarded_files, "_SETTLE_SECS", 0.05)
    list_entries, number = guarded_files._list_entries, iter(range(10_000))

    def churn(folder: str) -> Sequence[os.DirEntry[str]]:
        entries = list_entries(folder)
        if folder == str(root / "logs"):
            (root / f"logs/{next(number)}").mkdir()
        return entries

    monkeypatch.setattr(guarded_files, "_list_entries", churn)
    assert not found(root).complete
