"""Sessions in the installed app: left and taken up, picked, forked, taken back, and survived."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.terminal import ENTER, ESCAPE, Terminal

QUIT, DOWN = "\x11", "\x1b[B"
PARTING = "quorum --resume "


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("first = 1\n", encoding="utf-8")
    (folder / "b.py").write_text("other = 2\n", encoding="utf-8")
    return folder


def app(project: Path, *arguments: str) -> Terminal:
    return Terminal(project, project.parent / "home", rows=40, columns=120, arguments=list(arguments))


def left(terminal: Terminal) -> str:
    """Leave; the beginning of the id that is named afterwards, if one is."""
    terminal.type(QUIT)
    assert terminal.ended() == 0
    _, _, named = str(terminal.process.before).partition(PARTING)
    return named.strip()


def run_about_file(project: Path, file: str = "a.py") -> str:
    """A session in which a file was read; its id."""
    with app(project) as terminal:
        terminal.wait_until_ready()
        terminal.submit(f"read {file}")
        terminal.wait_for("1 line")
        return left(terminal)


@pytest.mark.long
def test_a_session_is_left_and_taken_up_and_an_edit_in_it_taken_back(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_until_ready()
        terminal.submit("replace first with second in a.py")
        terminal.wait_for("y yes")
        terminal.press_when_awake("y", "1 replacement")
        terminal.wait_for("ask · enter sends")
        name = left(terminal)
    assert (project / "a.py").read_text(encoding="utf-8") == "second = 1\n"

    with app(project, "--resume", name) as terminal:
        terminal.wait_for("+1 −1")
        terminal.wait_for("resumed with offline/offline")
        with terminal.fresh():
            terminal.submit("/undo")
            terminal.wait_for("goes back")
            terminal.type("b")
            terminal.wait_for("gave back 1 file: ~ a.py")
        assert (project / "a.py").read_text(encoding="utf-8") == "first = 1\n"
        assert left(terminal) == name

    with app(project, "--continue") as terminal:
        terminal.wait_for("took back 1 turn: conversation and files")
        left(terminal)


@pytest.mark.long
def test_a_session_is_picked_before_the_app_opens_one_and_again_inside(project: Path) -> None:
    older, newer = run_about_file(project), run_about_file(project, "b.py")

    with app(project, "--resume") as terminal:
        terminal.wait_for("begun")
        terminal.type(DOWN + ENTER)
        terminal.wait_for("resumed with offline/offline")
        with terminal.fresh():
            terminal.submit("/resume")
            terminal.wait_for(older)  # it was used last now, so that it stands first
            terminal.type(DOWN)
            terminal.wait_for(newer)
        with terminal.fresh():
            terminal.type(ENTER)
            terminal.wait_for("read   b.py")
            terminal.wait_for("resumed with offline/offline")
        assert left(terminal) == newer


@pytest.mark.long
def test_nothing_is_said_of_a_session_in_which_nothing_was_said(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_until_ready()

        assert left(terminal) == ""


@pytest.mark.long
def test_a_second_app_reads_and_forks_what_the_first_one_writes(project: Path) -> None:
    name = run_about_file(project)

    with app(project, "--resume", name) as first:
        first.wait_for("resumed with")
        with app(project, "--resume", name) as second:
            second.wait_for("read-only · open elsewhere")
            with second.fresh():
                second.submit("/fork")
                second.wait_for("sandbox o")  # on or off: it is told of sessions that may run commands
            second.submit("read a.py and read a.py")
            second.wait_for("2 calls")
            assert left(second) not in ("", name)


@pytest.mark.long
def test_a_review_that_was_open_when_the_app_was_killed_is_asked_again(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_until_ready()
        terminal.submit("replace first with second in a.py")
        terminal.wait_for("y yes")
        terminal.process.kill(signal.SIGKILL)
        assert terminal.has_ended(within=120)

    with app(project, "--continue") as terminal:
        terminal.wait_for("interrupted: the process ended here")
        terminal.wait_for("y yes")
        assert (project / "a.py").read_text(encoding="utf-8") == "first = 1\n"
        terminal.press_when_awake("y", "1 replacement")
        terminal.wait_for("ask · enter sends")
        left(terminal)
    assert (project / "a.py").read_text(encoding="utf-8") == "second = 1\n"


@pytest.mark.long
def test_esc_twice_opens_the_turns_also_when_both_come_at_once(project: Path) -> None:
    run_about_file(project)

    with app(project, "--continue") as terminal:
        terminal.wait_for("resumed with")
        with terminal.fresh():
            terminal.type(ESCAPE + ESCAPE)
            terminal.wait_for("Go back to before")
        terminal.type(ESCAPE)
        left(terminal)
