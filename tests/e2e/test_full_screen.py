"""The installed app in a pseudo-terminal, driven like a person drives it."""

from __future__ import annotations

import os
import secrets
import signal
import time
from pathlib import Path

import pytest

from tests.infrastructure.commands.command_bench import alive_with
from tests.support.liveness import is_alive, wait_until
from tests.support.terminal import CTRL_C, ESCAPE, Terminal

SIZES = [(40, 120), (24, 80)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("first = 1\n", encoding="utf-8")
    (folder / "b.py").write_text("second = 2\n", encoding="utf-8")
    return folder


def app(project: Path, *arguments: str, rows: int = 40, columns: int = 120) -> Terminal:
    return Terminal(project, project.parent / "home", rows=rows, columns=columns, arguments=list(arguments))


@pytest.mark.long(after=1)
@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_reads_overlap_an_edit_is_approved_and_a_command_rejected_with_a_reason(
    rows: int, columns: int, project: Path
) -> None:
    with app(project, rows=rows, columns=columns) as terminal:
        terminal.wait_for("offline")
        terminal.submit("read a.py and b.py and search second in .")
        terminal.wait_for("second = 2")

        with terminal.fresh():
            terminal.submit("replace first with primo in a.py and run pytest")
            terminal.wait_for("Edit a.py")
            terminal.wait_for("primo = 1")
        terminal.press_when_awake("y", "2 of 2")
        terminal.press_when_awake("r", "for this reason")
        terminal.type("not now\r")
        terminal.wait_for("not now")
        terminal.wait_until(lambda: "primo" in (project / "a.py").read_text(), what="the edit")
        terminal.quit()


@pytest.mark.long
def test_an_approved_edit_is_on_disk_and_a_rejected_one_is_not(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        terminal.submit("replace first with primo in a.py and replace second with zwei in b.py")
        terminal.wait_for("1 of 2")
        terminal.press_when_awake("y", "2 of 2")
        terminal.press_when_awake("n", "rejected")
        terminal.quit()

    assert (project / "a.py").read_text(encoding="utf-8") == "primo = 1\n"
    assert (project / "b.py").read_text(encoding="utf-8") == "second = 2\n"


@pytest.mark.long
def test_keys_typed_while_the_dialog_pops_up_approve_nothing(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        terminal.submit("replace first with primo in a.py")
        # What comes in one reading with Enter would be a paste. The dialog may be there as soon as the turn.
        terminal.wait_for_any("esc interrupts", "Edit a.py")
        until = time.monotonic() + 2
        while time.monotonic() < until:  # 30 keys a second, before, while and after the dialog appears
            terminal.type("y")
            time.sleep(1 / 30)
        terminal.wait_for("Edit a.py")

        assert (project / "a.py").read_text(encoding="utf-8") == "first = 1\n"

        terminal.type(ESCAPE)
        terminal.wait_for("interrupted")
        terminal.quit()
    assert (project / "a.py").read_text(encoding="utf-8") == "first = 1\n"


@pytest.mark.long
def test_what_a_terminal_pastes_as_if_it_were_typed_answers_no_question(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        terminal.submit("replace first with primo in a.py")
        terminal.wait_for("Edit a.py")
        for pasted in ("yes, please\r", "a\r", "all of it\r"):
            for _ in range(2):  # the second time when its keys have come alive, 0.4 s after the last one
                terminal.type(pasted)
                time.sleep(0.6)
            assert (project / "a.py").read_text(encoding="utf-8") == "first = 1\n"

        terminal.press_when_awake("n", "rejected")
        terminal.quit()
    assert (project / "a.py").read_text(encoding="utf-8") == "first = 1\n"


@pytest.mark.long
def test_escape_while_a_command_runs_ends_it_and_the_next_prompt_works(project: Path) -> None:
    with app(project, "--mode", "auto") as terminal:
        terminal.wait_for("offline")
        daemon = a_daemon(terminal)
        terminal.type(ESCAPE)
        terminal.wait_for("interrupted")
        terminal.wait_until(lambda: not alive_with(daemon), what="the daemon's end")

        terminal.submit("read b.py")
        terminal.wait_for("second = 2")
        terminal.quit()


@pytest.mark.long
def test_nothing_lives_one_second_after_quorum_was_killed(project: Path) -> None:
    with app(project, "--mode", "auto") as terminal:
        terminal.wait_for("offline")
        daemon = a_daemon(terminal)

        os.kill(terminal.process.pid, signal.SIGKILL)

        wait_until(lambda: not alive_with(daemon), what="the daemon's end")


@pytest.mark.long
def test_a_prompt_of_several_lines_is_one_prompt_and_history_brings_it_back(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        terminal.type("read a.py\nread b.py")  # a line feed is Ctrl+J
        terminal.type("\r")
        terminal.wait_for("first = 1")
        terminal.wait_for("second = 2")
        with terminal.fresh():
            terminal.type("\x1b[A")
            terminal.wait_for("read b.py")
        terminal.quit()


@pytest.mark.long
def test_a_hostile_file_does_not_reach_the_terminal(project: Path) -> None:
    hostile = "\x1b]52;c;aGk=\x07[/red] [bold]x\u202eevil"
    (project / "hostile.txt").write_text(hostile, encoding="utf-8")
    with app(project) as terminal:
        terminal.wait_for("offline")
        terminal.submit("read hostile.txt")
        terminal.wait_for("[/red]")

        assert "\x1b]52" not in terminal.raw
        assert "\u202e" not in terminal.raw
        terminal.quit()


@pytest.mark.long
def test_a_terminal_that_goes_away_takes_the_app_with_it(project: Path) -> None:
    with app(project, "--mode", "auto") as terminal:
        terminal.wait_for("offline")
        daemon, quorum = a_daemon(terminal), terminal.process.pid

        terminal.hang_up()

        wait_until(lambda: not is_alive(quorum), what="the app's end")
        wait_until(lambda: not alive_with(daemon), what="the daemon's end")


@pytest.mark.long
def test_rubbish_from_the_terminal_does_no_harm(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        rubbish = bytes(byte for byte in range(128, 256)) * 5 + b"\xc8(\xff\xfe\xed\xa0\x80 \xf0\x9f"
        os.write(terminal.process.child_fd, b"\x1b[200~" + rubbish + b"\x1b[201~")
        os.write(terminal.process.child_fd, rubbish + b" the end")
        terminal.wait_for("\N{REPLACEMENT CHARACTER}")
        terminal.wait_for("the end")
        terminal.type(CTRL_C)  # clears the prompt
        terminal.wait_for("again quits")
        terminal.submit("read b.py")
        terminal.wait_for("second = 2")
        terminal.quit()


@pytest.mark.long
def test_a_wrong_configuration_ends_the_app_with_its_sentence_and_code_2(project: Path) -> None:
    config = project.parent / "wrong.toml"
    config.write_text("[agent]\nmax_tool_turn = 3\n", encoding="utf-8")
    with app(project, "--config", str(config)) as terminal:
        terminal.wait_for("did you mean agent.max_tool_turns")

        assert terminal.ended() == 2


def a_daemon(terminal: Terminal) -> str:
    """Has a command start a process in a session of its own; the argument by which that is found.

    What a command calls its process ids is another matter: in a sandbox it counts for itself.
    """
    seconds = f"300.{secrets.randbelow(10**12):012d}"
    terminal.submit(f"run `sh -c 'setsid sleep {seconds} & wait'`")
    terminal.wait_until(lambda: bool(alive_with(seconds)), what="the daemon")
    return seconds
