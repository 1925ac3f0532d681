"""Ctrl+G: the prompt in the person's own editor. The editors are real programs; no real terminal is lent."""

import asyncio
import gc
import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from quorum.domain.review.questions import Approve
from quorum.tui.app.app import QuorumApp
from quorum.tui.prompt_box import outside_editor
from quorum.tui.prompt_box.outside_editor import EditorFailed, find_editor_command
from tests.support.app_stage import Clock, Stage, on_stage
from tests.support.fake_agent import a_command, a_request, hold, review
from tests.support.liveness import is_alive


@pytest.fixture(autouse=True)
def lent(tmp_path, monkeypatch) -> list[str]:
    """What became of the terminal."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.delenv("VISUAL", raising=False)
    happened: list[str] = []

    @contextmanager
    def suspend(app):
        happened.append("lent")
        yield
        happened.append("back")

    monkeypatch.setattr(QuorumApp, "suspend", suspend)
    return happened


@pytest.fixture
def editor(tmp_path, monkeypatch):
    """Makes a shell script the editor; the file is its last argument."""

    def made(script: str, *arguments: str) -> Path:
        program = tmp_path / "my editor"
        program.write_text(f"#!/bin/sh\nfor file; do :; done\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("EDITOR", " ".join([f"'{program}'", *arguments]))
        return program

    return made


async def edited(stage: Stage, lent: list[str]) -> None:
    await stage.until(lambda: lent[-1:] == ["back"] and stage.prompt._held is None)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("keys", [("ctrl+g",), ("ctrl+x", "ctrl+e")])
async def test_the_whole_draft_goes_to_the_editor_and_comes_back(tmp_path, lent, editor, keys):
    editor(
        f'cp "$file" {tmp_path}/seen; printf "%s" "$1" > {tmp_path}/asked; printf "new\\ntext\\n" > "$file"',
        "--wait",
    )
    async with on_stage(tmp_path) as stage:
        stage.prompt.replace_text("one\ntwo")
        await stage.pilot.press(*keys)
        await edited(stage, lent)

        assert stage.prompt.text == "new\ntext"
        assert (tmp_path / "seen").read_text() == "one\ntwo"
        assert (tmp_path / "asked").read_text() == "--wait"
        await stage.pilot.press("ctrl+underscore")
        assert stage.prompt.text == "one\ntwo"


async def test_folded_pastes_are_edited_at_their_full_length(tmp_path, lent, editor):
    editor(f'wc -l < "$file" > {tmp_path}/lines')
    async with on_stage(tmp_path) as stage:
        stage.prompt.insert_pasted("x\n" * 50)
        await stage.pilot.press("ctrl+g")
        await edited(stage, lent)

        assert (tmp_path / "lines").read_text().strip() == "50"


async def test_the_file_is_private_ends_as_markdown_and_is_gone_afterwards(tmp_path, lent, editor):
    editor(f'ls -ld "$(dirname "$file")" "$file" > {tmp_path}/listed; printf "%s" "$file" > {tmp_path}/name')
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("s", "ctrl+g")
        await edited(stage, lent)

    listed = (tmp_path / "listed").read_text()
    name = Path((tmp_path / "name").read_text())
    assert "drwx------" in listed
    assert "-rw-------" in listed
    assert name.suffix == ".md"
    assert not name.parent.exists()


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('echo lost > "$file"; exit 3', "ended with status 3"),
        ('rm "$file"', "left no file"),
        ("kill -9 $$", "ended with signal 9"),
    ],
)
async def test_what_goes_wrong_is_shown_and_the_draft_stays(tmp_path, lent, editor, script, expected):
    editor(script)
    async with on_stage(tmp_path) as stage:
        stage.prompt.replace_text("my draft")
        await stage.pilot.press("ctrl+g")
        await stage.shows(expected)

        assert stage.prompt.text == "my draft"
        assert not list(tmp_path.glob("quorum-*"))


async def test_what_is_no_text_is_kept_where_it_is_shown(tmp_path, lent, editor):
    editor('printf "\\377\\376" > "$file"')
    async with on_stage(tmp_path, size=(200, 30)) as stage:
        stage.prompt.replace_text("my draft")
        await stage.pilot.press("ctrl+g")
        await stage.shows("not UTF-8 text; it is kept in")

        assert stage.prompt.text == "my draft"
        assert [file.read_bytes() for file in tmp_path.glob("quorum-*/prompt.md")] == [b"\xff\xfe"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("editor_value", "expected"),
    [("/no/such/editor", "could not be used: No such file"), ("vi 'half", "cannot be understood")],
)
async def test_an_editor_that_cannot_be_started_is_named(tmp_path, monkeypatch, editor_value, expected):
    monkeypatch.setenv("EDITOR", editor_value)
    async with on_stage(tmp_path) as stage:
        stage.prompt.replace_text("my draft")
        await stage.pilot.press("ctrl+g")
        await stage.shows(expected)

        assert stage.prompt.text == "my draft"
        await stage.pilot.press("!")
        assert stage.prompt.text == "my draft!"


def programs_in(folder: Path, *names: str) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return {"PATH": str(folder)}


def test_visual_goes_before_editor_and_a_usual_one_after_both(tmp_path):
    around, workspace = programs_in(tmp_path / "bin", "code", "vi", "nano"), tmp_path / "work"
    code, vi, nano = (str(tmp_path / "bin" / name) for name in ("code", "vi", "nano"))

    assert find_editor_command({**around, "VISUAL": "code --wait", "EDITOR": "vi"}, workspace) == [
        code,
        "--wait",
    ]
    assert find_editor_command({**around, "VISUAL": " ", "EDITOR": "vi -u NONE"}, workspace) == [
        vi,
        "-u",
        "NONE",
    ]
    assert find_editor_command({"PATH": "", "EDITOR": "/opt/e -w"}, workspace) == ["/opt/e", "-w"]
    assert find_editor_command(around, workspace) == [nano]
    with pytest.raises(EditorFailed, match="VISUAL"):
        find_editor_command({"PATH": ""}, workspace)


@pytest.mark.parametrize("named", [{}, {"EDITOR": "vi"}])
def test_an_editor_that_the_workspace_brings_along_is_none(tmp_path, monkeypatch, named):
    around = programs_in(tmp_path / "work" / ".venv" / "bin", "vi", "nano")
    monkeypatch.chdir(tmp_path / "work" / ".venv" / "bin")

    for path in (around["PATH"], "."):
        with pytest.raises(EditorFailed, match="found"):
            find_editor_command({**named, "PATH": path}, tmp_path / "work")


@pytest.mark.long
async def test_keys_that_arrive_with_the_one_that_opens_the_editor_act_after_it(tmp_path, lent, editor):
    editor('printf new > "$file"')
    async with on_stage(tmp_path) as stage:
        for key in ("a", "ctrl+g", "!", "enter"):
            stage.hit(key)
        await stage.until(lambda: stage.agent.prompts == ["new!"])


@pytest.mark.long
async def test_a_turn_goes_on_and_what_comes_back_meanwhile_is_not_lost(tmp_path, lent, editor):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    editor(f'cat {gate}; echo edited > "$file"')
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.send("waits")
        await stage.pilot.press(*"draft", "ctrl+g")
        await stage.until(lambda: lent == ["lent"])
        stage.app.chat.turns.interrupt()
        await stage.until(lambda: stage.agent.reports)
        await stage.until(lambda: stage.prompt.text == "waits\ndraft")
        await asyncio.to_thread(gate.write_text, "go on")
        await edited(stage, lent)

        assert stage.prompt.text == "waits\nedited"


@pytest.mark.long
async def test_a_question_that_came_up_meanwhile_is_there_and_its_dead_time_begins_anew(tmp_path, lent, editor):
    gate, clock, make = tmp_path / "gate", Clock(), a_command("make all")
    os.mkfifo(gate)
    editor(f"cat {gate}")
    async with on_stage(tmp_path, review(a_request(make)), clock=clock) as stage:
        await stage.pilot.press("ctrl+g")
        await stage.until(lambda: lent == ["lent"])
        stage.app.chat.sending.submit("go")
        dialog = await stage.asked()
        clock.now = 10.0
        await asyncio.to_thread(gate.write_text, "go on")
        await edited(stage, lent)
        await stage.until(lambda: dialog.is_awake)

        await stage.press_at("y", 10.3)
        assert stage.agent.answers == []
        await stage.press_at("y", 11.0)
        await stage.until(lambda: stage.agent.answers == [Approve(make.digest)])


async def test_nothing_is_written_to_the_terminal_while_it_is_lent(tmp_path, lent, editor):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    editor(f"cat {gate}")
    async with on_stage(tmp_path) as stage:
        written: list[str] = []
        driver = stage.app._driver
        assert driver is not None
        driver.write = written.append  # type: ignore[method-assign]
        await stage.pilot.press("ctrl+g")
        await stage.until(lambda: lent == ["lent"])
        written.clear()
        driver.write("drawn")
        assert written == []
        await asyncio.to_thread(gate.write_text, "go on")
        await edited(stage, lent)
        driver.write("drawn")
        assert written == ["drawn"]


async def test_the_editor_does_not_outlive_the_app(tmp_path, lent, editor):
    editor(f"echo $$ > {tmp_path}/pid; exec sleep 1000")
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("ctrl+g")
        await stage.until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    pid = int((tmp_path / "pid").read_text())

    async with asyncio.timeout(60):
        while is_alive(pid):  # noqa: ASYNC110 - its end is on its way, and nobody tells of it
            await asyncio.sleep(0.01)


@pytest.fixture
def stubborn(tmp_path) -> Path:
    """An editor that ignores SIGTERM; its process is named in the file `pid` beside it."""
    program = tmp_path / "editor"
    program.write_text(f"#!/bin/sh\ntrap '' TERM\necho $$ > {tmp_path}/pid\nwhile :; do sleep 1; done\n")
    program.chmod(0o755)
    return program


async def pid_in(folder: Path) -> int:
    async with asyncio.timeout(30):
        while not ((folder / "pid").exists() and (folder / "pid").read_text()):  # noqa: ASYNC110 - a file tells
            await asyncio.sleep(0.01)
    return int((folder / "pid").read_text())


async def test_an_editor_that_ignores_its_end_does_not_outlive_whoever_is_cancelled_again_and_again(
    tmp_path, monkeypatch, stubborn
):
    monkeypatch.setattr(outside_editor, "_LAST_SECS", 0.05)
    editing = asyncio.create_task(outside_editor._run([str(stubborn)]))
    pid = await pid_in(tmp_path)
    async with asyncio.timeout(30):
        while not editing.done():
            editing.cancel()
            await asyncio.sleep(0)

    assert editing.cancelled()
    assert not is_alive(pid)


def test_an_editor_that_ignores_its_end_does_not_outlive_the_loop(tmp_path, monkeypatch, stubborn):
    monkeypatch.setattr(outside_editor, "_LAST_SECS", 1000)

    async def leave() -> int:
        editing = asyncio.create_task(outside_editor._run([str(stubborn)]))
        pid = await pid_in(tmp_path)
        editing.cancel()
        for _ in range(5):  # it is being ended when the loop, which cancels all that still runs, is closed
            await asyncio.sleep(0)
        return pid

    assert not is_alive(asyncio.run(leave()))
    gc.collect()  # whatever was left open is warned of, which fails the test
