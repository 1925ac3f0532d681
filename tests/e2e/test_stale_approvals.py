"""What is changed between the approval and the run: nothing of it runs, and the person is asked anew."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from quorum.domain.calls.execution import Outcome
from quorum.domain.events.event import CallFinished, ReviewDecided, ReviewRequested
from quorum.domain.events.report import RunReport
from quorum.domain.review.questions import DecisionLabel
from tests.support.headless_run import configure
from tests.support.quorum_rig import DONE, call, calling, settings
from tests.support.real_app import RealApp, real_app
from tests.support.sse_server import ScriptedCall, SseServer

Change = Callable[[Path], object]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / "other").mkdir()
    (folder / "a.txt").write_text("alpha\nbeta\ngamma\n", encoding="utf-8")
    (folder / "script.sh").write_text("echo harmless > mark\n", encoding="utf-8")
    return folder


def requests(app: RealApp) -> list[ReviewRequested]:
    return [event for event in app.received.events if isinstance(event, ReviewRequested)]


def approvals(app: RealApp) -> list[ReviewDecided]:
    decided = (event for event in app.received.events if isinstance(event, ReviewDecided))
    return [event for event in decided if event.decision is DecisionLabel.APPROVED]


def outputs(app: RealApp) -> list[str]:
    return [event.output for event in app.received.events if isinstance(event, CallFinished)]


def decisions(report: RunReport) -> list[str]:
    return [record.decision.value for record in report.calls]


def changed_text(project: Path) -> None:
    (project / "a.txt").write_text("alpha\nbeta\ndelta\n", encoding="utf-8")


def replaced_by_a_link(project: Path) -> None:
    (project / "other/a.txt").write_text("alpha\nbeta\ngamma\n", encoding="utf-8")
    (project / "a.txt").unlink()
    (project / "a.txt").symlink_to("other/a.txt")


def created(project: Path) -> None:
    (project / "new.txt").write_text("somebody's\n", encoding="utf-8")


def changed_script(project: Path) -> None:
    (project / "script.sh").write_text("echo harmful > mark\n", encoding="utf-8")


def changed_folder(project: Path) -> None:
    (project / "sub").rmdir()
    (project / "sub").symlink_to("other")


def added_program(project: Path) -> None:
    shutil.copy("/bin/true", project / "tool")
    os.chmod(project / "tool", 0o755)


EDIT = call("c1", "edit_file", path="a.txt", old_text="alpha", new_text="omega")
CHANGES: dict[str, tuple[ScriptedCall, Change]] = {
    "the file of an edit": (EDIT, changed_text),
    "a link in its place": (EDIT, replaced_by_a_link),
    "the script of a command": (call("c1", "run_command", command="sh script.sh"), changed_script),
    "the folder of a command": (
        call("c1", "run_command", command="echo x > mark", working_dir="sub"),
        changed_folder,
    ),
    "the program of a command": (call("c1", "run_command", command="./tool > mark"), added_program),
}


def files_of(project: Path) -> dict[str, bytes]:
    return {str(p.relative_to(project)): p.read_bytes() for p in project.rglob("*") if p.is_file()}


@pytest.mark.long
@pytest.mark.parametrize(("scripted", "change"), CHANGES.values(), ids=CHANGES)
async def test_what_changed_while_the_dialog_was_open_is_asked_about_anew_and_nothing_is_written(
    scripted: ScriptedCall, change: Change, project: Path
) -> None:
    async with SseServer("openai-chat") as server:
        configure(project.parent / "home", settings(server, ()))
        server.script = [calling(scripted), DONE]
        async with real_app(project, project.parent / "home") as app:
            await app.send("go")
            await app.asked()
            change(project)
            after = files_of(project)

            await app.answer("y")
            await app.asked()
            await app.shows("asked again")
            assert files_of(project) == after
            report = await app.finish("n")

            first, again = requests(app)
            assert first.digest != again.digest
            assert decisions(report) == ["rejected"]
            assert "[user_rejected]" in outputs(app)[0]
    assert files_of(project) == after


WRITES: dict[str, tuple[str, Change, str]] = {
    "a file that was read": ("a.txt", changed_text, "a.txt changed since you last saw it"),
    "a file that was not there": ("new.txt", created, "new.txt exists, and you have not seen what it holds"),
}


@pytest.mark.long(after=1)
@pytest.mark.parametrize(("path", "change", "reason"), WRITES.values(), ids=WRITES)
async def test_what_changed_while_the_dialog_was_open_is_not_replaced_by_a_model_that_has_not_seen_it(
    path: str, change: Change, reason: str, project: Path
) -> None:
    async with SseServer("openai-chat") as server:
        configure(project.parent / "home", settings(server, ()))
        server.script = [
            calling(call("c0", "read_file", path="a.txt")),
            calling(call("c1", "write_file", path=path, content="mine\n")),
            DONE,
        ]
        async with real_app(project, project.parent / "home") as app:
            await app.send("go")
            await app.asked()
            change(project)
            after = files_of(project)
            report = await app.finish("y")

            assert len(requests(app)) == 1
            assert [record.outcome for record in report.calls] == [Outcome.OK, Outcome.ERROR]
            assert reason in outputs(app)[1]
    assert files_of(project) == after


@pytest.mark.long
async def test_the_new_packet_runs_once_it_is_approved_itself(project: Path) -> None:
    async with SseServer("openai-chat") as server:
        configure(project.parent / "home", settings(server, ()))
        server.script = [calling(EDIT), DONE]
        async with real_app(project, project.parent / "home") as app:
            await app.send("go")
            await app.asked()
            changed_text(project)
            await app.answer("y")
            await app.shows("asked again")
            report = await app.finish("y")

    assert decisions(report) == ["approved"]
    assert (project / "a.txt").read_text() == "omega\nbeta\ndelta\n"


EDITS = [
    call(f"c{n}", "edit_file", path="a.txt", old_text=old, new_text=old.upper())
    for n, old in enumerate(("alpha", "beta", "gamma"))
]


@pytest.mark.long
async def test_approving_the_rest_approves_each_edit_of_one_file_by_its_digest(project: Path) -> None:
    async with SseServer("openai-chat") as server:
        configure(project.parent / "home", settings(server, ()))
        server.script = [calling(*EDITS), DONE]
        async with real_app(project, project.parent / "home") as app:
            await app.send("go")
            await app.answer("A", "space", "A")
            report = await app.finish("n")

            granted = approvals(app)
            assert len(requests(app)) == 1
            assert len({event.digest for event in granted}) == 3
            assert decisions(report) == ["approved"] * 3
    assert (project / "a.txt").read_text() == "ALPHA\nBETA\nGAMMA\n"


@pytest.mark.long
async def test_a_command_that_differs_at_its_turn_from_what_was_approved_with_the_rest_is_asked_about(
    project: Path,
) -> None:
    interfering = call("c9", "run_command", command="sh meddle.sh")
    (project / "meddle.sh").write_text("echo echo meddled >> script.sh\n", encoding="utf-8")
    async with SseServer("openai-chat") as server:
        configure(project.parent / "home", settings(server, ()))
        server.script = [
            calling(EDITS[0], interfering, call("c2", "run_command", command="sh script.sh")),
            DONE,
        ]
        async with real_app(project, project.parent / "home") as app:
            await app.send("go")
            await app.answer("A", "A")
            await app.asked()
            assert (project / "script.sh").read_text() == "echo harmless > mark\necho meddled\n"
            report = await app.finish("n")

            assert decisions(report) == ["approved", "approved", "rejected"]
    assert (project / "a.txt").read_text() == "ALPHA\nbeta\ngamma\n"
    assert not (project / "mark").exists()


@pytest.mark.long
async def test_rejecting_one_of_the_edits_approves_none_of_those_that_were_computed_on_it(
    project: Path,
) -> None:
    async with SseServer("openai-chat") as server:
        configure(project.parent / "home", settings(server, ()))
        server.script = [calling(*EDITS), DONE]
        async with real_app(project, project.parent / "home") as app:
            await app.send("go")
            await app.answer("n")
            await app.answer("A", "A")
            report = await app.finish("n")

            assert len(requests(app)) == 2
            assert decisions(report) == ["rejected", "approved", "approved"]
    assert (project / "a.txt").read_text() == "alpha\nBETA\nGAMMA\n"
