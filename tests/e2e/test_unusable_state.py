"""A state folder that cannot be used: what is new works without a record, what was is not pretended."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.headless_run import configure_for, environment, run
from tests.support.quorum_rig import DONE, call, calling
from tests.support.sse_server import Reply, SseServer

UNRECORDED = "This session is not recorded, and ends with this process"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n")
    return folder


def _a_file_for_the_folder(state: Path) -> None:
    state.mkdir()
    (state / "quorum").touch()


def _a_file_above_the_folder(state: Path) -> None:
    state.touch()


def _a_folder_for_the_file(state: Path) -> None:
    (state / "quorum" / "ledger.sqlite").mkdir(parents=True)


def _a_link_to_nowhere(state: Path) -> None:
    state.symlink_to("/proc/nowhere")


@pytest.mark.long
@pytest.mark.parametrize(
    ("spoil", "remedy"),
    [
        (_a_file_for_the_folder, "a file is in the place of its folder; move that away, or name another file"),
        (
            _a_file_above_the_folder,
            "a file is in the place of its folder; move that away, or name another file",
        ),
        (_a_folder_for_the_file, "a folder is in its place; move that away, or name another file"),
        (_a_link_to_nowhere, "or name another file with [storage] url"),
    ],
)
async def test_where_nothing_can_be_recorded_what_is_new_works_and_what_was_is_refused(
    home: Path, project: Path, spoil: Callable[[Path], None], remedy: str
) -> None:
    spoil(home / "state")
    await _check(project, environment(home), remedy)


async def _check(project: Path, env: dict[str, str], remedy: str) -> None:
    new = await run("read a.txt", cwd=project, env=env)
    assert (new.code, "alpha" in new.out) == (0, True)
    assert UNRECORDED in new.err
    assert remedy in new.err
    assert UNRECORDED in (await run("read a.txt", "-q", cwd=project, env=env)).err

    for words in (["--continue"], ["--continue", "--fork"], ["--resume", "latest"], ["--resume", "0199"]):
        refused = await run(*words, "read a.txt", cwd=project, env=env)
        assert (refused.code, refused.out) == (2, "")
        assert remedy in refused.err
        assert len(refused.err.splitlines()) == 1


@pytest.fixture
def read_only(home: Path, project: Path) -> Iterator[Path]:
    """A state folder with a session in it, on a disk that has become read-only."""
    state = home / "state"
    state.mkdir()
    if sys.platform != "linux" or subprocess.run(["mount", "-t", "tmpfs", "tmpfs", state]).returncode:
        pytest.skip("a file system of its own can only be mounted by root, on Linux")
    try:
        yield state
    finally:
        subprocess.run(["umount", "--lazy", state], check=True)


def remount(folder: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", folder], check=True)


@pytest.mark.long
async def test_on_a_read_only_disk_what_is_new_works_and_what_was_is_refused_and_not_lost(
    home: Path, project: Path, read_only: Path
) -> None:
    env = environment(home)
    assert (await run("read a.txt", cwd=project, env=env)).err.count("quorum:") == 0
    remount(read_only, "ro")
    await _check(project, env, "the disk is read-only; make it writable, or name another file")
    remount(read_only, "rw")

    assert (await run("--continue", "read a.txt", cwd=project, env=env)).code == 0


@pytest.mark.long
async def test_without_a_home_folder_what_is_new_works_and_what_was_is_refused(project: Path) -> None:
    env = {"PATH": environment(project)["PATH"], "HOME": "."}
    await _check(project, env, "there is no home folder to keep sessions in; set HOME, or [storage] url")


@pytest.mark.long
@pytest.mark.parametrize(("left", "code", "status"), [(2, 1, "failed"), (1, 0, "completed")])
async def test_a_state_folder_that_vanishes_in_mid_run_is_one_sentence_and_the_code_is_that_of_the_report(
    home: Path, project: Path, left: int, code: int, status: str
) -> None:
    answers = [calling(call("c1", "run_command", command="touch b.txt")), DONE]

    def answer(_request: object) -> Reply:
        if len(answers) == left:
            shutil.rmtree(home / "state")
        return answers.pop(0)

    async with SseServer("anthropic") as server:
        server.respond = answer
        configure_for(home, server)
        ended = await run("go", "--output", "json", "--mode", "auto", cwd=project, env=environment(home))

    assert (ended.code, ended.report["status"]) == (code, status)
    assert "Traceback" not in ended.err
    assert "events of the session are not recorded" in ended.err
    assert "removed or replaced while it was used" in ended.err
    assert (project / "b.txt").exists() is (left == 1)
