"""Protected paths that a command made unasked in the sandbox before quorum was killed, at resume."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import secrets
import signal
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from quorum.domain.events.event import NoticeGiven, SessionResumed
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.sessions.session_summary import LatestSession, NamedSession, NewSession, SessionChoice
from quorum.infrastructure.execution.sandbox.guarded_files import find_guarded
from quorum.infrastructure.execution.sandbox.new_protected_paths import UnfinishedCommands
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from tests.infrastructure.commands.command_bench import alive_with, eventually
from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.fake_ports import RecordingObserver
from tests.support.real_session import SessionStage, shell

pytestmark = needs_bubblewrap

_RENAMED = "a command ran when quorum was killed: protected paths that the command made were renamed"
_DIES = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.e2e.test_killed_sandboxed_command import a_stage
from tests.support.real_session import shell
async def main():
    stage = a_stage(Path(sys.argv[1]))
    async with stage.opened() as session:
        turn = asyncio.create_task(session.turn(shell(sys.argv[2])))
        while not (stage.root / "ready").exists():
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""


def a_stage(folder: Path) -> SessionStage:
    return SessionStage(folder, sandbox="auto", more_settings='[review]\nmode = "sandboxed"')


async def killed_during(stage: SessionStage, command: str) -> None:
    """Let a session of another process run this, and die once the command has made the file `ready`."""
    sleep = f"600.{secrets.randbelow(10**12):012d}"
    repository = Path(__file__).parents[2]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _DIES, str(stage.folder), f"{command}; touch ready; sleep {sleep}", cwd=repository
    )
    assert await process.wait() == -signal.SIGKILL
    await eventually(lambda: not alive_with(sleep))


def killed(unfinished: UnfinishedCommands) -> None:
    """The kernel frees what the process held; nothing else is done."""
    for lock in unfinished._own.values():
        os.close(lock)


def kept_in(stage: SessionStage) -> list[Path]:
    return list((stage.home).rglob("unfinished-commands/*/*.*"))


@pytest.mark.long
async def test_a_new_session_in_the_workspace_names_what_is_new_and_the_resumed_one_renames_it(
    tmp_path: Path,
) -> None:
    stage = a_stage(tmp_path)
    (stage.root / "make.sh").write_text("echo evil > AGENTS.md\n")
    await killed_during(stage, "sh make.sh")

    observer = RecordingObserver()
    async with stage.opened(NewSession(), observer=observer):
        pass

    assert (stage.root / "AGENTS.md").read_text() == "evil\n"
    (said,) = [event.message for event in observer.of(NoticeGiven) if "killed" in event.message]
    assert f"not there before it: {stage.root / 'AGENTS.md'}." in said
    (kept,) = kept_in(stage)

    again = RecordingObserver()
    async with stage.opened(NewSession(), observer=again):
        pass
    assert not any("killed" in event.message for event in again.of(NoticeGiven))

    told = await resumed(stage, NamedSession(kept.parent.name))
    assert any(sentence.startswith(_RENAMED) for sentence in told)
    assert (stage.root / "set-aside-AGENTS.md~1").read_text() == "evil\n"
    assert kept_in(stage) == []


async def resumed(stage: SessionStage, choice: SessionChoice | None = None) -> tuple[str, ...]:
    observer = RecordingObserver()
    async with stage.opened(choice or LatestSession(), observer=observer):
        pass
    (event,) = observer.of(SessionResumed)
    assert isinstance(event, SessionResumed)
    return event.told


@pytest.mark.long
async def test_what_the_command_made_is_renamed_and_what_stood_before_stays(tmp_path: Path) -> None:
    stage = a_stage(tmp_path)
    (stage.root / "CLAUDE.md").write_text("mine\n")
    (stage.root / "make.sh").write_text("echo evil > AGENTS.md; mkdir -p a; echo evil > a/.envrc\n")
    await killed_during(stage, "sh make.sh")
    assert (stage.root / "AGENTS.md").exists()
    assert len(kept_in(stage)) == 1

    told = await resumed(stage)

    assert (stage.root / "set-aside-AGENTS.md~1").read_text() == "evil\n"
    assert (stage.root / "a/set-aside-envrc~1").exists()
    assert not (stage.root / "AGENTS.md").exists()
    assert (stage.root / "CLAUDE.md").read_text() == "mine\n"
    assert any(sentence.startswith(_RENAMED) for sentence in told)
    assert kept_in(stage) == []
    (stage.root / "AGENTS.md").write_text("mine now\n")
    assert not any("quorum was killed" in sentence for sentence in await resumed(stage))
    assert (stage.root / "AGENTS.md").exists()


@pytest.mark.long
async def test_nothing_is_kept_of_commands_that_ended(tmp_path: Path) -> None:
    stage = a_stage(tmp_path)
    async with stage.opened() as session:
        await session.turn(shell("true"))
        assert kept_in(stage) == []
        await session.turn(shell("false"))
        assert kept_in(stage) == []
    (stage.root / "AGENTS.md").write_text("mine\n")

    await resumed(stage)

    assert (stage.root / "AGENTS.md").exists()


def test_a_list_that_cannot_be_read_or_is_of_another_workspace_is_said(
    tmp_path: Path,
) -> None:
    folder, here, there = tmp_path / "kept", tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    unfinished = UnfinishedCommands(folder, PathPolicy(roots=(str(here),)))
    unfinished.begin(find_guarded([str(here)], PathPolicy(roots=(str(here),))), (), [str(here)])
    killed(unfinished)
    (folder / "cut.json").write_text('{"roots": [')

    commands, said = UnfinishedCommands(folder, PathPolicy(roots=(str(there),))).pop_all()

    assert commands == []
    assert [sentence.partition(";")[0] for sentence in said] == [
        "a command ran unasked in the sandbox when quorum was killed"
    ]
    assert not folder.exists()


def test_a_process_that_only_reads_the_session_keeps_its_hands_off(tmp_path: Path) -> None:
    policy = PathPolicy(roots=(str(tmp_path),))
    at_work, reading = (UnfinishedCommands(tmp_path / "kept", policy) for _ in range(2))
    end = at_work.begin(find_guarded([str(tmp_path)], policy), (), [str(tmp_path)])

    reading.clear()

    assert len(list((tmp_path / "kept").iterdir())) == 1
    end()
    at_work.clear()
    assert not (tmp_path / "kept").exists()


def test_what_other_sessions_of_the_workspace_left_is_found_once_and_no_running_command(tmp_path: Path) -> None:
    here, there, kept = tmp_path / "here", tmp_path / "there", tmp_path / "kept"
    for name, root in (("dead", here), ("alive", here), ("elsewhere", there), ("gone", tmp_path / "gone")):
        root.mkdir(exist_ok=True)
        policy = PathPolicy(roots=(str(root),))
        unfinished = UnfinishedCommands(kept / name, policy)
        end = unfinished.begin(find_guarded([str(root)], policy), (), [str(root)])
        if name != "alive":
            killed(unfinished)
        else:
            end_alive = end
    (tmp_path / "gone").rmdir()
    (kept / "dead" / "cut.new").write_text("{")
    (record,) = (kept / "dead").glob("*.command")
    (kept / "older").mkdir()
    unlocked = kept / "older" / "a.json"  # as a version that locks nothing leaves it while its command runs
    unlocked.write_text(record.read_text())

    ((command,), said) = UnfinishedCommands(kept / "new", PathPolicy(roots=(str(here),))).pop_all()

    assert command.roots == (str(here),)
    assert not command.is_own
    assert said == []
    assert sorted(path.name for path in kept.iterdir()) == ["alive", "dead", "elsewhere", "older"]
    assert UnfinishedCommands(kept / "new", PathPolicy(roots=(str(here),))).pop_all() == ([], [])
    for name in ("dead", "older"):
        ((command,), _) = UnfinishedCommands(kept / name, PathPolicy(roots=(str(here),))).pop_all()
        assert command.is_own
        assert not (kept / name).exists()
    end_alive()
    assert list((kept / "alive").iterdir()) == []


def test_a_command_of_another_session_in_an_earlier_quorum_may_run_and_is_left_alone(tmp_path: Path) -> None:
    policy = PathPolicy(roots=(str(tmp_path),))
    for name in ("own", "other"):
        unfinished = UnfinishedCommands(tmp_path / "kept" / name, policy)
        unfinished.begin(find_guarded([str(tmp_path)], policy), (), [str(tmp_path)])
        killed(unfinished)  # as one that locks nothing
        (file,) = (tmp_path / "kept" / name).iterdir()
        file.rename(file.with_suffix(".json"))

    commands, said = UnfinishedCommands(tmp_path / "kept" / "own", policy).pop_all()

    assert (len(commands), said) == (1, [])
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["other"]


def test_where_nothing_can_be_locked_a_command_is_kept_for_its_own_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(errno.ENOLCK, "No locks available")))
    policy = PathPolicy(roots=(str(tmp_path),))
    unfinished = UnfinishedCommands(tmp_path / "kept" / "own", policy)
    unfinished.begin(find_guarded([str(tmp_path)], policy), (), [str(tmp_path)])
    killed(unfinished)

    assert UnfinishedCommands(tmp_path / "kept" / "other", policy).pop_all() == ([], [])
    ((command,), said) = UnfinishedCommands(tmp_path / "kept" / "own", policy).pop_all()

    assert (command.roots, said) == ((str(tmp_path),), [])


def test_a_list_is_compared_in_the_folders_that_it_was_made_for(tmp_path: Path) -> None:
    here, added, later = (tmp_path / name for name in ("here", "added", "later"))
    for folder in (here, added, later):
        folder.mkdir()
    roots = (str(here), str(added))
    before = find_guarded(roots, PathPolicy(roots=roots))
    unfinished = UnfinishedCommands(tmp_path / "kept", PathPolicy(roots=roots))
    unfinished.begin(before, (), roots)
    killed(unfinished)

    now = PathPolicy(roots=(str(here), str(later)))
    ((command,), said) = UnfinishedCommands(tmp_path / "kept", now).pop_all()

    assert command.roots == (str(here),)
    assert said == []


def test_what_the_person_made_after_a_command_of_another_session_stays_and_is_named(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    policy = PathPolicy(roots=(str(root),))
    unfinished = UnfinishedCommands(tmp_path / "kept" / "dead", policy)
    unfinished.begin(find_guarded([str(root)], policy), (), [str(root)])
    killed(unfinished)
    (root / "AGENTS.md").write_text("mine\n")

    new = Sandbox(choice="off", policy=policy, unfinished=UnfinishedCommands(tmp_path / "kept" / "new", policy))
    (said,) = asyncio.run(new.describe_former())

    assert f"not there before it: {root / 'AGENTS.md'}." in said
    assert (root / "AGENTS.md").read_text() == "mine\n"


def test_a_record_that_another_start_removed_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = PathPolicy(roots=(str(tmp_path),))
    unfinished = UnfinishedCommands(tmp_path / "kept" / "this", policy)
    lock = fcntl.flock

    def start_another_before(descriptor: int, kind: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        UnfinishedCommands(tmp_path / "kept" / "other", policy).pop_all()
        lock(descriptor, kind)

    monkeypatch.setattr(fcntl, "flock", start_another_before)
    unfinished.begin(find_guarded([str(tmp_path)], policy), (), [str(tmp_path)])

    assert len(list((tmp_path / "kept" / "this").glob("*.command"))) == 1
    unfinished.clear()


def test_records_that_cannot_be_looked_for_are_said(tmp_path: Path) -> None:
    unfinished = UnfinishedCommands(tmp_path / ("a" * 300) / "s", PathPolicy(roots=(str(tmp_path),)))

    commands, (said,) = unfinished.pop_all()

    assert commands == []
    assert said.startswith("whether a command ran when quorum was killed cannot be told: ")
