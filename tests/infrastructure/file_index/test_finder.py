import asyncio
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from quorum.infrastructure import file_finder as finder_module
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.file_finder import WorkspaceFiles, list_files, walk_files


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def git(folder: Path, *words: str) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed here")
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", str(folder), *words], check=True, env=environ, capture_output=True)


def populate(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


async def all_of(folder: Path) -> set[str]:
    files = WorkspaceFiles([str(folder)], os.environ)
    try:
        return {file.path for file in await files.find("", 1_000)}
    finally:
        await files.aclose()


async def test_tracked_and_untracked_files_are_found_and_ignored_and_deleted_ones_are_not(tmp_path):
    git(tmp_path, "init", "-q")
    populate(tmp_path, "tracked.py", "gone.py", "src/deep/new.py", "build/out.o", "tracked.log")
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    git(tmp_path, "add", "tracked.py", "gone.py")
    git(tmp_path, "add", "-f", "tracked.log")
    (tmp_path / "gone.py").unlink()

    assert await all_of(tmp_path) == {
        ".gitignore", "tracked.py", "tracked.log", "src/", "src/deep/", "src/deep/new.py",
    }  # fmt: skip


async def test_below_a_folder_of_a_repository_only_its_own_files_are_found(tmp_path):
    git(tmp_path, "init", "-q")
    populate(tmp_path, "outside.py", "inner/inside.py")

    assert await all_of(tmp_path / "inner") == {"inside.py"}


async def test_without_git_ignore_files_hold_and_heavy_folders_are_passed_over(tmp_path):
    populate(tmp_path, "a.py", "node_modules/x/y.js", "src/b.py", "src/c.tmp", "logs/d.log", ".git")
    (tmp_path / ".git").unlink()
    (tmp_path / ".gitignore").write_text("*.tmp\nlogs/\n")
    (tmp_path / "loop").symlink_to(tmp_path)

    assert await all_of(tmp_path) == {".gitignore", "a.py", "loop", "src/", "src/b.py"}
    assert (await list_files(tmp_path, os.environ)).walked


async def test_names_that_are_no_text_or_hold_line_ends_are_found(tmp_path):
    git(tmp_path, "init", "-q")
    for name in (b"two\nlines.txt", b"caf\xe9.txt", b"-rf", b"a b.txt"):
        populate(tmp_path, os.fsdecode(name))

    assert await all_of(tmp_path) == {"two\nlines.txt", os.fsdecode(b"caf\xe9.txt"), "-rf", "a b.txt"}


async def test_a_repository_inside_is_offered_as_a_folder(tmp_path):
    git(tmp_path, "init", "-q")
    populate(tmp_path, "inner/x.py")
    git(tmp_path / "inner", "init", "-q")

    assert await all_of(tmp_path) == {"inner/"}


async def test_listing_runs_nothing_that_a_repository_brings_along(tmp_path):
    git(tmp_path, "init", "-q")
    populate(tmp_path, "a.py")
    ran = tmp_path / "ran"
    program = tmp_path / ".git" / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(program))
    git(tmp_path, "config", "filter.x.clean", str(program))
    (tmp_path / ".gitattributes").write_text("* filter=x\n")

    assert "a.py" in await all_of(tmp_path)
    assert not ran.exists()


async def test_listing_fetches_nothing_by_a_program_that_a_repository_names_also_with_an_older_git(
    tmp_path, monkeypatch
):
    origin, clone, ran = tmp_path / "origin", tmp_path / "clone", tmp_path / "ran"
    populate(origin, "in/a.py", "out/b.py")
    git(origin, "init", "-q")
    git(origin, "add", ".")
    git(origin, "-c", "user.name=me", "-c", "user.email=me@localhost", "commit", "-qm", "one")
    git(tmp_path, "clone", "-q", "--no-local", "--no-checkout", str(origin), str(clone))
    git(clone, "sparse-checkout", "init", "--cone", "--sparse-index")
    git(clone, "sparse-checkout", "set", "in")
    git(clone, "checkout", "-q")
    for pack in (clone / ".git/objects/pack").iterdir():  # what the index leaves to them has to be fetched
        pack.unlink()
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    for name, value in (
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", str(program)),
    ):
        git(clone, "config", name, value)
    older = {
        name: value for name, value in finder_module.GIT_ENVIRONMENT.items() if name != "GIT_NO_LAZY_FETCH"
    }
    monkeypatch.setattr(finder_module, "GIT_ENVIRONMENT", older)

    await all_of(clone)

    assert not ran.exists()


async def test_new_files_are_found_once_the_list_has_grown_old_and_not_before(tmp_path):
    clock = Clock()
    populate(tmp_path, "a.py")
    files = WorkspaceFiles([str(tmp_path)], os.environ, clock=clock)

    async def names() -> set[str]:
        return {file.path for file in await files.find("", 10)}

    assert await names() == {"a.py"}
    populate(tmp_path, "b.py")
    assert await names() == {"a.py"}
    clock.now = 60
    async with asyncio.timeout(60):
        while await names() != {"a.py", "b.py"}:  # the old list answers where the new one takes its time
            clock.now += 1
    await files.aclose()


async def test_while_a_new_list_is_made_the_old_one_answers(tmp_path, monkeypatch):
    clock, listed = Clock(), asyncio.Event()
    populate(tmp_path, "a.py")
    files = WorkspaceFiles([str(tmp_path)], os.environ, clock=clock)
    await files.find("", 10)

    async def never(cwd, environ):
        listed.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(finder_module, "list_files", never)
    clock.now = 60

    assert [file.path for file in await files.find("a", 10)] == ["a.py"]
    assert listed.is_set()
    await files.aclose()


async def test_what_was_used_comes_first_and_the_last_used_before_the_others(tmp_path):
    populate(tmp_path, "one/util.py", "two/util.py", "util.py")
    files = WorkspaceFiles([str(tmp_path)], os.environ)
    files.note_used("one/util.py")
    files.note_used("two/util.py")

    assert [file.path for file in await files.find("util", 2)] == ["two/util.py", "one/util.py"]
    await files.aclose()


async def test_the_loop_is_not_where_the_searching_is_done(tmp_path, monkeypatch):
    populate(tmp_path, "a.py")
    threads = []

    class Watched(finder_module.FileIndex):
        def find(self, *arguments):
            threads.append(threading.current_thread())
            return super().find(*arguments)

    files = WorkspaceFiles([str(tmp_path)], os.environ)
    await files.find("", 1)
    files._index = Watched(["a.py"])
    await files.find("a", 1)

    assert threads != []
    assert threading.main_thread() not in threads
    await files.aclose()


def test_a_walk_ends_in_time(tmp_path):
    populate(tmp_path, "a.py", "b/c.py")
    ticks = iter([0.0, 0.0, 1.0, 100.0, 100.0, 100.0])

    assert walk_files(str(tmp_path), Stop(), clock=lambda: next(ticks)) == b"a.py\0"


async def test_a_folder_that_is_gone_holds_nothing(tmp_path):
    assert await all_of(tmp_path / "gone") == set()


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"])
async def test_a_repository_named_in_the_environment_is_not_the_one_that_is_listed(tmp_path, monkeypatch, name):
    git(tmp_path, "init", "-q")
    populate(tmp_path, "a.py")
    monkeypatch.setenv(name, str(tmp_path.parent / "elsewhere"))

    assert await all_of(tmp_path) == {"a.py"}
