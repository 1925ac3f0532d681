import os
import stat

import pytest

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev
from quorum.tui.copying import Way, choose_way, find_clipboard_program, make_pasteable, send_to_program
from quorum.tui.screens.pager_screen import KeptLines
from tests.support.app_stage import on_stage
from tests.tui.transcript_scenes import completed, context, finished, planned, started

RUN = ("run_command", {"command": "make test"}, RiskLevel.HIGH, ())
ANSWER = (
    "# Title\n\nSome **bold** text.\n\n```python\ndef f():\n    return 1\n```\n\n"
    "- item\n\n  ```sh\n  ls -l\n  ```"
)
NOWHERE = (
    "WAYLAND_DISPLAY",
    "DISPLAY",
    "TMUX",
    "STY",
    "ZELLIJ",
    "SSH_CONNECTION",
    "SSH_TTY",
    "WSL_DISTRO_NAME",
)


@pytest.fixture(autouse=True)
def _bare_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in (*NOWHERE, "KITTY_WINDOW_ID", "WEZTERM_PANE", "GHOSTTY_RESOURCES_DIR", "WT_SESSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("ALACRITTY_WINDOW_ID", raising=False)


def show(stage, *events):
    for event in events:
        stage.app.chat.transcript.apply(event)
    stage.app.chat.transcript.flush()


def program(folder, name, script):
    """A clipboard program that is a shell script."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("command", "copied", "expected"),
    [
        ("/copy", ANSWER, "copied 14 lines of the answer"),
        ("/copy answer 2", "an older answer", "copied 15 characters of the answer"),
        ("/copy 2", "an older answer", "copied 15 characters of the answer"),
        ("/copy code", "ls -l", "copied 5 characters of sh"),
        ("/copy code 2", "def f():\n    return 1", "copied 2 lines of python"),
        ("/copy prompt", "do  it\n漢字", "copied 2 lines of the prompt"),
        ("/copy output", "all\n  green\n", "copied 2 lines of the output of run"),
    ],
)
async def test_the_command_copies_what_was_written_as_it_was_written(tmp_path, command, copied, expected):
    async with on_stage(tmp_path, size=(140, 30)) as stage:
        show(stage, ev.TurnStarted(prompt="do  it\n漢字"), completed("an older answer", calls=True))
        show(stage, planned(RUN), started("run_command", {}), finished("run_command", "all\n  green\n"))
        show(stage, completed(ANSWER))
        await stage.send(command)
        await stage.shows(expected)
        assert stage.app.clipboard == copied


async def test_ctrl_y_copies_the_latest_answer_while_it_streams(tmp_path):
    async with on_stage(tmp_path) as stage:
        show(stage, ev.TextDelta(text="so **far"))
        await stage.pilot.press("ctrl+y")
        await stage.shows("copied 8 characters of the answer")
        assert stage.app.clipboard == "so **far"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("/copy", "there is no answer yet"),
        (f"/copy {'9' * 5000}", "a number from 1 on"),
        ("/copy code 3", "there are fewer than 3 of that kind: code"),
        ("/copy everything", "/copy takes answer, code, output, prompt and a number"),
    ],
)
async def test_what_cannot_be_copied_is_said(tmp_path, command, expected):
    async with on_stage(tmp_path) as stage:
        await stage.send(command)
        await stage.shows(expected)
        assert stage.app.clipboard == ""


async def test_of_a_stored_output_all_is_copied(tmp_path):
    async with on_stage(tmp_path) as stage:
        whole = "\n".join(f"line {number}" for number in range(5_000))
        stage.agent.outputs["blob-1"] = KeptLines(whole)
        show(stage, planned(RUN), started("run_command", {}), finished("run_command", "line 0"))
        show(stage, ev.OutputStored(context=context(), blob_id="blob-1", size_bytes=len(whole), summary=""))
        await stage.send("/copy output")
        await stage.shows("copied 5,000 lines")
        assert stage.app.clipboard == whole


async def test_of_a_stored_output_that_is_gone_what_is_kept_is_copied_and_said(tmp_path):
    async with on_stage(tmp_path, size=(160, 24)) as stage:
        show(stage, planned(RUN), started("run_command", {}), finished("run_command", "line 0"))
        show(stage, ev.OutputStored(context=context(), blob_id="blob-1", size_bytes=70, summary=""))
        await stage.send("/copy output")
        await stage.shows("there is no stored output blob-1")
        assert stage.app.clipboard == "line 0"


async def test_ctrl_c_copies_what_the_mouse_selected_and_says_how_much(tmp_path):
    async with on_stage(tmp_path) as stage:
        show(stage, completed("one two"))
        await stage.pilot.click(stage.app.chat.transcript, offset=(4, 1), times=2)
        await stage.pilot.press("ctrl+c")
        await stage.shows("copied 3 characters")
        assert stage.app.clipboard == "one"


@pytest.mark.long
async def test_a_clipboard_program_gets_the_text_and_makes_it_sure(tmp_path, monkeypatch):
    program(tmp_path / "bin", "xclip", f'echo "$@" > {tmp_path}/arguments; cat > {tmp_path}/clipboard')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":0")
    (tmp_path / "work").mkdir()
    async with on_stage(tmp_path / "work") as stage:
        show(stage, completed("naïve 漢字\n\nend"))
        await stage.pilot.press("ctrl+y")
        await stage.shows("copied 3 lines of the answer")
        assert "OSC 52" not in stage.text()
    assert (tmp_path / "clipboard").read_text() == "naïve 漢字\n\nend"
    assert (tmp_path / "arguments").read_text() == "-selection clipboard\n"


async def test_without_a_program_it_is_said_that_the_terminal_may_not_take_it(tmp_path):
    async with on_stage(tmp_path) as stage:
        show(stage, completed("text"))
        await stage.pilot.press("ctrl+y")
        await stage.shows("by OSC 52, which not every terminal takes")


@pytest.mark.long
async def test_what_is_too_long_for_a_terminal_is_not_sent_and_that_is_said(tmp_path):
    async with on_stage(tmp_path, size=(160, 24)) as stage:
        show(stage, completed("x" * 1_000_001))
        await stage.pilot.press("ctrl+y")
        await stage.shows("not copied: 1,000,001 characters of the answer, 1.0 MB: too much for a terminal")
        assert stage.app.clipboard == ""


async def test_a_program_that_fails_is_not_believed(tmp_path):
    failing = program(tmp_path / "bin", "xclip", "cat > /dev/null; exit 1")
    assert not await send_to_program([str(failing)], "text")
    assert not await send_to_program([str(tmp_path / "missing")], "text")


@pytest.mark.parametrize(
    ("around", "command"),
    [
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, ["wl-copy"]),
        ({"DISPLAY": ":0"}, ["xclip", "-selection", "clipboard"]),
        ({"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}, None),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "a b"}, None),
        ({"TMUX": "/tmp/t,1,0", "SSH_TTY": "/dev/pts/1"}, ["tmux", "load-buffer", "-w", "-"]),
        ({}, None),
    ],
)
def test_only_a_program_whose_clipboard_the_person_sees_is_used(tmp_path, around, command):
    for name in ("wl-copy", "xclip", "xsel", "tmux"):
        program(tmp_path, name, "")
    found = find_clipboard_program({**around, "PATH": str(tmp_path)}, tmp_path / "work")
    assert found == (command and [str(tmp_path / command[0]), *command[1:]])
    assert (
        find_clipboard_program({**around, "PATH": str(tmp_path)}, tmp_path) is None
    )  # the workspace brings it along


@pytest.mark.parametrize(
    ("size", "around", "way"),
    [
        (10, {"TERM": "xterm-kitty"}, Way.SURE),
        (10, {"TERM": "xterm-256color", "WEZTERM_PANE": "0"}, Way.SURE),
        (10, {"TERM": "screen", "KITTY_WINDOW_ID": "1", "TMUX": "t"}, Way.MAYBE),
        (10, {"TERM": "xterm-256color"}, Way.MAYBE),
        (74_001, {"TERM": "xterm-kitty"}, Way.TOO_LONG),
        (1_000_001, {"TERM": "xterm-kitty"}, Way.REFUSED),
        (10, {"TERM": "linux"}, Way.REFUSED),
    ],
)
def test_what_a_terminal_makes_of_it_is_shown_as_far_as_it_is_known(size, around, way):
    assert choose_way(size, around) is way


def test_nothing_that_is_copied_acts_where_it_is_pasted():
    hostile = "a\x1b[201~rm -rf x\r\n\x1b]52;c;aGk=\x07b\t\x00\u202ec\x9b31m"
    assert make_pasteable(hostile) == "arm -rf x\nb\t␀⟨U+202E⟩c"
    assert make_pasteable("tabs\tand\nlines 漢字 👩‍👧 שלום") == "tabs\tand\nlines 漢字 👩‍👧 שלום"


async def test_an_answer_that_would_act_is_copied_harmless(tmp_path):
    async with on_stage(tmp_path) as stage:
        show(stage, completed("run this: \x1b[201~rm -rf x\x07"))
        await stage.pilot.press("ctrl+y")
        await stage.shows("copied")
        assert stage.app.clipboard == "run this: rm -rf x␇"
