"""The `/tmp` that the commands of a session share in the sandbox."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from quorum.infrastructure.execution.sandbox.session_tmp import SessionTmp, remove_abandoned
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap

_HOLD = """
import sys
from pathlib import Path
from quorum.infrastructure.execution.sandbox.session_tmp import SessionTmp
print(SessionTmp(Path(sys.argv[1])).prepare(()).source, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    return tmp_path.resolve() / "state" / "sandbox"


@pytest.fixture
def sharing(household: Household, parent: Path) -> Household:
    household.tmp = SessionTmp(parent)
    household.own.append(parent.parent)
    return household


def source_of(shared: SessionTmp) -> Path:
    prepared = shared.prepare(())
    assert prepared is not None
    return Path(prepared.source)


@needs_bubblewrap
async def test_what_one_command_leaves_there_the_next_one_finds(sharing: Household) -> None:
    await sharing.run("echo left > /tmp/x; mkdir /tmp/d")

    assert await sharing.run("cat /tmp/x; ls /tmp/d; echo more > /tmp/d/y") == "left\nexit code 0"


@needs_bubblewrap
async def test_it_is_no_other_session_s_and_not_the_machine_s(sharing: Household, parent: Path) -> None:
    await sharing.run("echo left > /tmp/only-here")
    sharing.tmp = SessionTmp(parent)

    assert "No such file" in await sharing.run("cat /tmp/only-here")
    assert "only-here" not in os.listdir("/tmp")


def test_it_is_the_person_s_alone(parent: Path) -> None:
    source = source_of(SessionTmp(parent))

    assert [stat.S_IMODE(each.stat().st_mode) for each in (source, source.parent, parent)] == [0o700] * 3


@needs_bubblewrap
async def test_a_workspace_below_the_real_one_is_where_it_was_and_its_way_cannot_be_bent(
    sharing: Household,
) -> None:
    assert sharing.root.is_relative_to("/tmp")
    first = sharing.root.parts[2]
    target = sharing.write("target/secret").parent
    before = sorted(os.listdir(target))

    way = f"/tmp/{first}"
    bent = await sharing.run(
        f"mv {way} /tmp/elsewhere; rmdir {way}; ln -s ../../oldroot{target} {way}; touch here"
    )
    again = await sharing.run("ls")

    assert "Device or resource busy" in bent
    assert again == "here\nexit code 0"
    assert sorted(os.listdir(target)) == before


def test_a_link_in_the_place_of_a_folder_that_is_mounted_over_gives_way(parent: Path) -> None:
    shared = SessionTmp(parent)
    prepared = shared.prepare(["work/project"])
    assert prepared is not None
    (Path(prepared.source) / "work").rmdir()
    (Path(prepared.source) / "work").symlink_to("/etc")

    assert shared.prepare(["work/project"]) == prepared
    assert not (Path(prepared.source) / "work").is_symlink()


def test_other_paths_than_at_first_are_not_mounted_in_it(parent: Path) -> None:
    shared = SessionTmp(parent)
    shared.prepare(["work/project"])

    assert shared.prepare(["work/x"]) is not None
    assert shared.prepare(["other/x"]) is None


@needs_bubblewrap
async def test_a_link_in_its_own_place_leads_nowhere(sharing: Household) -> None:
    assert sharing.tmp is not None
    target = sharing.write("target/secret").parent
    below = [str(sharing.root.relative_to("/tmp"))]
    prepared = sharing.tmp.prepare(below)
    assert prepared is not None
    source = Path(prepared.source)
    os.rename(source, source.with_name("moved"))
    os.symlink(target, source)

    said = await sharing.run("touch /tmp/new; ls /tmp")

    assert "its /tmp was its own, because the session's could not be used" in said
    assert os.listdir(target) == ["secret"]


@pytest.mark.long
def test_it_goes_with_the_session_whatever_stands_in_it(parent: Path, tmp_path: Path) -> None:
    shared = SessionTmp(parent)
    source = source_of(shared)
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (source / "link").symlink_to(kept)
    (source / "closed").mkdir()
    (source / "closed" / "in").touch()
    (source / "closed" / "out").symlink_to(kept)
    os.mkfifo(source / "pipe")
    deep = os.open(source, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=deep)
        inner = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = inner
    os.close(deep)
    (source / "closed").chmod(0)

    shared.close()

    assert os.listdir(parent) == []
    assert os.listdir(kept) == ["file"]
    assert shared.prepare(()) is None


@pytest.mark.parametrize("replaced", [False, True])
def test_it_may_be_gone_with_all_of_the_state_when_the_session_ends(parent: Path, replaced: bool) -> None:
    shared = SessionTmp(parent)
    source_of(shared)
    shutil.rmtree(parent.parent)
    if replaced:
        parent.parent.touch()

    shared.close()

    assert shared.prepare(()) is None


def test_that_of_a_killed_process_goes_at_the_next_start_and_that_of_a_living_one_stays(
    parent: Path, tmp_path: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
        text=True,
    ) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        (theirs / "file").touch()
        (parent / "strange").symlink_to(tmp_path)

        remove_abandoned(parent)
        assert (theirs / "file").exists()
        other.kill()

    remove_abandoned(parent)

    assert os.listdir(parent) == ["strange"]
    assert tmp_path.exists()
    remove_abandoned(parent.parent / "never-made")
