"""Subagents that change something in a layer: each in one of its own, merged into that of their session."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from quorum.application.export.effects_report import render_effects
from quorum.application.staging.effects_voting import EffectsPacket
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import ToolCall
from quorum.domain.events.event import CallFinished, EffectsObserved, ErrorOccurred, NoticeGiven
from quorum.domain.sessions.session_summary import LatestSession
from quorum.domain.staging.effects_overview import EffectsOverview
from quorum.infrastructure.blocking import sees_other_files
from quorum.infrastructure.container import Container
from quorum.infrastructure.staging import merging, subagent_layer
from quorum.infrastructure.staging.entered_layer import EnteredLayer
from quorum.infrastructure.staging.entering import enter_layer
from quorum.infrastructure.staging.workspace_layer import has_effects, recover
from tests.infrastructure.instructions.test_skills import Trusting
from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.builders import calls_response
from tests.support.fake_session import Step
from tests.support.layer_process import run_forked, run_in_layer
from tests.support.real_session import SessionStage, call, says
from tests.support.session_parts import change_inputs
from tests.support.subagent_stage import TaskRig, task, task_rig

T = TypeVar("T")
pytestmark = [pytest.mark.usefixtures("layers"), needs_bubblewrap]
AGENT = """---
description: Writes
tools: run_command, read_file, write_file, edit_file, apply_patch, grep_search, glob_search, list_directory
---
Write.
"""
TEXT = "".join(f"line {number}\n" for number in range(40))


def work_in_layer(
    folder: Path,
    tasks: Mapping[str, Sequence[ToolCall]],
    look: Callable[[TaskRig], Awaitable[T]],
    before: Callable[[Path], object] = lambda _root: None,
    *,
    stops: bool = False,
) -> T:
    """What `look` finds after subagents made the calls of their tasks, in a layer over `folder/work`.

    All have their layers before the first of them makes a call. `before` is done in the layer.
    `stops`: the person stops the turn once all their calls were made.
    """
    stage = SessionStage(folder, sandbox="auto", more_settings='[review]\nmode = "staged"\n')
    (stage.root / "a.txt").write_text(TEXT)
    (stage.root / "gone").write_text("here\n")
    (stage.root / ".agents/agents").mkdir(parents=True)
    (stage.root / ".agents/agents/writer.md").write_text(AGENT)

    async def work(layer: EnteredLayer) -> T:
        before(stage.root)
        all_began = asyncio.Event()
        scripts = {
            name: [
                *(Step(answer=calls_response(each), gate=all_began) for each in calls),
                Step(answer=says(f"{name} is done"), gate=asyncio.Event() if stops else None),
            ]
            for name, calls in tasks.items()
        }

        def adjust(container: Container) -> None:
            change_inputs(container, layer=layer)

        async with task_rig(stage, scripts, person=Trusting(), adjust=adjust) as rig:
            rig.script([task(name, agent="writer") for name in tasks])
            async with asyncio.timeout(60):
                running = asyncio.create_task(rig.session.agent.run.execute("go"))
                await rig.gateway.all_wait(len(tasks))
                all_began.set()
                if stops:
                    await rig.gateway.all_end(len(tasks))
                    running.cancel()
                await asyncio.wait({running})
            layer.check()
            return await look(rig)

    return run_in_layer(stage.root.resolve(), stage.environ, lambda layer: asyncio.run(work(layer)))


def is_text(file: Path) -> bool:
    return file.is_file() and (".git" not in file.parts or file.name == "description")


def resume_in_layer(folder: Path, look: Callable[[TaskRig], Awaitable[T]]) -> T:
    """What `look` finds in the same session, resumed in the layer by another process."""
    stage = SessionStage(folder, sandbox="auto", more_settings='[review]\nmode = "staged"\n')

    async def work(layer: EnteredLayer) -> T:
        def adjust(container: Container) -> None:
            change_inputs(container, layer=layer)

        async with task_rig(stage, {}, choice=LatestSession(), person=Trusting(), adjust=adjust) as rig:
            return await look(rig)

    def enter() -> T:
        layer = enter_layer(
            stage.root.resolve(),
            stage.environ,
            recover=lambda layer: recover(layer, stage.environ),
            has_effects=has_effects,
        )
        return asyncio.run(work(layer))

    return run_forked(enter)


async def read_results(rig: TaskRig) -> dict[str, str]:
    """What the layer of the session holds, and what its model read of the tasks."""
    root = rig.session.container.parts().given.root
    files = {each.relative_to(root).as_posix(): each.read_text() for each in root.rglob("*") if is_text(each)}
    sent = [each.sent[-1].messages for each in rig.gateway.sessions if each.sent]
    return {**files, "": "\n".join(str(message) for messages in sent for message in messages)}


def run(command: str) -> ToolCall:
    return call("run_command", command=command)


def test_what_subagents_do_at_once_none_of_the_others_sees_and_all_is_there_in_the_end(tmp_path: Path) -> None:
    tasks = {
        "one": [run("echo 1 > one; sed -i 's/line 3$/third/' a.txt"), run("ls > seen-by-one")],
        "two": [
            call("write_file", path="two", content="2"),
            call("edit_file", path="a.txt", old_text="line 30\n", new_text="thirtieth\n"),
        ],
    }

    found = work_in_layer(tmp_path, tasks, read_results)

    assert (found["one"], found["two"]) == ("1\n", "2")
    assert "two" not in found["seen-by-one"]
    assert found["a.txt"] == TEXT.replace("line 3\n", "third\n").replace("line 30\n", "thirtieth\n")


def test_where_two_changed_the_same_lines_the_first_stands_and_the_other_lies_beside_it(tmp_path: Path) -> None:
    tasks = {
        "one": [call("edit_file", path="a.txt", old_text="line 3\n", new_text="third\n")],
        "two": [call("edit_file", path="a.txt", old_text="line 3\n", new_text="3rd\n")],
    }

    found = work_in_layer(tmp_path, tasks, read_results)

    assert found["a.txt"] == TEXT.replace("line 3\n", "third\n")
    assert found["a.txt.writer-2"] == TEXT.replace("line 3\n", "3rd\n")
    assert "what it made of it is in a.txt.writer-2" in found[""]


async def undo(rig: TaskRig) -> dict[str, str]:
    rewind = rig.session.agent.rewind
    number = rig.session.last.number
    plan = await rewind.plan(number)
    await rewind.rewind_to(number, conversation=False, plan=plan, overwrite=frozenset())
    return await read_results(rig)


@pytest.mark.long
def test_an_undo_takes_back_what_was_merged(tmp_path: Path) -> None:
    tasks = {
        "one": [call("edit_file", path="a.txt", old_text="line 3\n", new_text="third\n")],
        "two": [run("echo 2 > two; sed -i 's/line 30$/thirtieth/' a.txt")],
    }

    found = work_in_layer(tmp_path, tasks, undo)

    assert found["a.txt"] == TEXT
    assert "two" not in found


@pytest.mark.long
def test_what_a_subagent_did_before_its_turn_was_stopped_is_merged(tmp_path: Path) -> None:
    found = work_in_layer(tmp_path, {"one": [run("echo 1 > one")]}, read_results, stops=True)

    assert found["one"] == "1\n"


async def apply_all(rig: TaskRig) -> tuple[object, list[str]]:
    review = rig.session.agent.effects
    assert review is not None
    packet = await review.read()
    applied = await review.apply(packet, EffectsOverview.of(packet.effects).find_first_choice())
    return applied.refused, os.listdir(rig.session.container.parts().given.root)


@pytest.mark.long
def test_what_was_merged_is_applied_with_the_rest(tmp_path: Path) -> None:
    tasks = {"one": [run("echo 1 > one")], "two": [run("echo 2 > two")]}

    refused, shown = work_in_layer(tmp_path, tasks, apply_all)

    assert refused == {}
    assert {"one", "two"} <= set(shown)
    assert (tmp_path / "work/two").read_text() == "2\n"


async def name_changes(rig: TaskRig) -> dict[str, list[str]]:
    work = rig.session.state.layer
    return {each.name: sorted(os.path.basename(path) for path in each.paths) for each in work.changes}


@pytest.mark.long
def test_the_review_of_effects_knows_whose_the_merged_changes_are(tmp_path: Path) -> None:
    tasks = {"one": [run("echo 1 > one; rm a.txt")], "two": [run("echo 2 > two")]}

    assert work_in_layer(tmp_path, tasks, name_changes) == {"writer 1": ["a.txt", "one"], "writer 2": ["two"]}


async def read_log(rig: TaskRig) -> tuple[list[str], str]:
    root = rig.session.container.parts().given.root

    def ask(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=root, capture_output=True, check=True).stdout.decode()

    status = await asyncio.to_thread(ask, "status", "--porcelain", "--untracked-files=no")
    return (await asyncio.to_thread(ask, "log", "--format=%s")).splitlines(), status


@pytest.mark.long
def test_what_two_subagents_commit_at_once_is_on_the_branch_of_their_session(tmp_path: Path) -> None:
    git = "git -c user.name=a -c user.email=a@example.org"
    tasks = {
        "one": [run(f"sed -i 's/line 3$/third/' a.txt; {git} commit -qam one")],
        "two": [run(f"sed -i 's/line 30$/thirtieth/' a.txt; {git} commit -qam two")],
    }

    def begin(root: Path) -> None:
        for each in ("init -q -b main", "add a.txt", "commit -qm first"):
            subprocess.run([*git.split(), *each.split()], cwd=root, check=True)

    log, status = work_in_layer(tmp_path, tasks, read_log, before=begin)

    assert sorted(log) == ["Merge commits of writer-2 into main", "first", "one", "two"]
    assert status == ""


def test_over_a_layer_that_holds_too_much_they_share_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subagent_layer, "_MOST_COPIED", 0)
    tasks = {"one": [run("echo 1 > one")], "two": [run("sleep 0; echo 2 > two")]}

    found = work_in_layer(tmp_path, tasks, read_results, before=lambda root: (root / "much").write_text("x"))

    assert (found["one"], found["two"]) == ("1\n", "2\n")


def test_the_person_is_told_what_could_not_be_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill_disk(*_copied: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def list_errors(rig: TaskRig) -> tuple[list[str], dict[str, str]]:
        told = [each.message for each in rig.seen.events if isinstance(each, ErrorOccurred)]
        return told, await read_results(rig)

    monkeypatch.setattr(merging, "_copy", fill_disk)
    (told,), found = work_in_layer(tmp_path, {"one": [run("echo 1 > one")]}, list_errors)

    assert "what writer-1 changed is not in the layer of its session yet" in told
    assert "No space left on device" in told
    assert "one" not in found
    assert told in found[""]


@contextmanager
def failing_once() -> Iterator[None]:
    """Have the disk be full when the first file is merged."""
    real, calls = merging._copy, count()

    def fail_first(place: str, name: str, folder: int, mode: int) -> None:
        if next(calls) == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(place, name, folder, mode)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "_copy", fail_first)
        yield


def test_what_could_not_be_merged_is_tried_again_before_the_review(tmp_path: Path) -> None:
    async def look(rig: TaskRig) -> tuple[list[str], dict[str, list[str]], dict[str, str]]:
        told = [each.message for each in rig.seen.events if isinstance(each, NoticeGiven)]
        return told, await name_changes(rig), await undo(rig)

    with failing_once():
        told, changes, found = work_in_layer(tmp_path, {"one": [run("echo 1 > one")]}, look)

    assert "what writer-1 changed is in the layer now" in told
    assert changes == {"writer 1": ["one"]}
    assert "one" not in found


def test_the_review_says_what_could_not_be_merged_and_applies_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_disk(*_copied: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    real = merging._copy

    async def look(rig: TaskRig) -> tuple[EffectsPacket, object, list[str], tuple[str, ...]]:
        review = rig.session.agent.effects
        assert review is not None
        packet = await review.read()
        refused, shown = await apply_all(rig)
        monkeypatch.setattr(merging, "_copy", real)
        after = await review.read()
        return packet, refused, shown, tuple(each.path for each in after.effects.effects)

    monkeypatch.setattr(merging, "_copy", fill_disk)
    packet, refused, shown, later = work_in_layer(
        tmp_path, {"one": [run("echo 1 > one")]}, look, before=lambda root: (root / "own").write_text("x")
    )

    (unmerged,) = packet.effects.unmerged
    assert "what writer-1 changed could not be merged" in unmerged
    assert unmerged in render_effects("1", packet, str, {})
    assert (refused, "own" in shown, "one" in shown) == ({}, True, False)
    assert later == ("one",)


def end_at(place: str, number: int) -> None:
    """Have this process kill itself at the call of this number of a function of the merging of layers."""
    module = {"_copy": merging, "_remove": subagent_layer, "store_plan": subagent_layer}[place]
    real, calls = getattr(module, place), count()

    def kill(*given: object) -> object:
        if next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given)

    setattr(module, place, kill)


@pytest.mark.long(after=1)
@pytest.mark.parametrize(("where", "number"), [("_copy", 1), ("store_plan", 0), ("_copy", 0), ("_remove", 0)])
def test_what_a_killed_process_left_is_merged_on_the_record_of_its_session(
    tmp_path: Path, where: str, number: int
) -> None:
    calls = [run("echo 1 > one; echo 2 > two; sed -i 's/line 3$/third/' a.txt; rm gone")]
    with pytest.raises(AssertionError, match="said nothing"):
        work_in_layer(tmp_path, {"one": calls}, read_results, before=lambda root: end_at(where, number))

    async def look(rig: TaskRig) -> tuple[dict[str, str], dict[str, list[str]], dict[str, str], list[str]]:
        found, changes = await read_results(rig), await name_changes(rig)
        records = await rig.session.agent.record.archive.read(rig.id)
        subagents = [str(each.event.subagent_id) for each in records if isinstance(each.event, EffectsObserved)]
        return found, changes, await undo(rig), subagents

    found, changes, undone, subagents = resume_in_layer(tmp_path, look)

    assert (found["one"], found["two"], found["a.txt"]) == ("1\n", "2\n", TEXT.replace("line 3\n", "third\n"))
    assert "gone" not in found
    assert changes == {"writer 1": ["a.txt", "gone", "one", "two"]}
    assert [each[-3:] for each in subagents] == ["-t1"]
    assert (undone["a.txt"], undone["gone"]) == (TEXT, "here\n")
    assert not {"one", "two"} & set(undone)


@contextmanager
def watching_the_loop(root: str) -> Iterator[list[str]]:
    """Which files below `root` are looked at meanwhile for a task that has a layer of its own, by a thread that
    does not see it, with the place in the code."""
    found: list[str] = []
    names = (
        "stat",
        "lstat",
        "open",
        "scandir",
        "listdir",
        "readlink",
        "access",
        "mkdir",
        "rename",
        "replace",
        "unlink",
    )

    def watch(name: str) -> Callable[..., object]:
        real = getattr(os, name)

        def look(path: object, *more: object, **named: object) -> object:
            if sees_other_files() and str(path).startswith(root):
                found.append(f"{name} {path}: {''.join(traceback.format_stack()[-12:-1])}")
            return real(path, *more, **named)

        return look

    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setattr(os, name, watch(name))
        patch.setattr("io.open", watch_open(found, root))
        patch.setattr("builtins.open", watch_open(found, root))
        yield found


def watch_open(found: list[str], root: str) -> Callable[..., object]:
    real = open

    def look(file: object, *more: object, **named: object) -> object:
        if sees_other_files() and str(file).startswith(root):
            found.append(f"open {file}: {''.join(traceback.format_stack()[-12:-1])}")
        return real(file, *more, **named)  # type: ignore[call-overload]

    return look


def test_nothing_looks_at_the_files_of_a_subagent_from_outside_its_layer(tmp_path: Path) -> None:
    calls = [
        run("echo 1 > one"),
        run("ls; cat a.txt"),
        call("read_file", path="a.txt"),
        call("write_file", path="sub/two", content="2"),
        call("edit_file", path="a.txt", old_text="line 3\n", new_text="third\n"),
        call("grep_search", pattern="third", path="."),
        call("glob_search", pattern="**/*"),
        call("list_directory", path="."),
    ]

    async def look(rig: TaskRig) -> tuple[list[object], list[str]]:
        ends = [each for each in rig.inner(f"{rig.id}-t1") if isinstance(each, CallFinished)]
        return [(each.tool, each.output) for each in ends if each.outcome is not Outcome.OK], found

    with watching_the_loop(str((tmp_path / "work").resolve())) as found:
        failed, looks = work_in_layer(tmp_path, {"one": calls}, look)

    assert failed == []
    assert "\n".join(looks) == ""
