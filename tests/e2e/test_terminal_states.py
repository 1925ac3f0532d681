"""What the terminal itself gets to see and to say: suspending, resizing, colours, its title, and poor ones."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pexpect
import pytest

from tests.support.headless_run import QUORUM, configure, environment
from tests.support.liveness import has_slept, wait_until
from tests.support.terminal import CTRL_C, ESCAPE, Terminal

SUSPEND = "\x1a"
PASTED, PASTED_END = "\x1b[200~", "\x1b[201~"
LEFT, ENTERED = "\x1b[?1049l", "\x1b[?1049h"
REPORTS_FOCUS = "\x1b[?1004h"
TITLE_KEPT, TITLE_BACK = "\x1b[22;2t", "\x1b[23;2t"
_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_COLOURS = {*range(30, 50), *range(90, 108)}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("first = 1\n", encoding="utf-8")
    return folder


def app(project: Path, *arguments: str, rows: int = 40, columns: int = 120, **variables: str) -> Terminal:
    return Terminal(
        project,
        project.parent / "home",
        rows=rows,
        columns=columns,
        arguments=list(arguments),
        variables=variables,
    )


def pid_of(terminal: Terminal) -> int:
    assert terminal.process.pid is not None
    return terminal.process.pid


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "T"


def a_hook_that_waits_for(file: Path) -> str:
    """The settings of one that holds up each call until there is such a file."""
    hook = file.parent / "hook.sh"
    hook.write_text(f"#!/bin/sh\nuntil [ -e {file} ]; do sleep 0.05; done\n", encoding="utf-8")
    hook.chmod(0o755)
    return f'[[hooks]]\nevent = "before_tool_call"\ncommand = ["{hook}"]\n'


def colours_in(raw: str) -> set[str]:
    """Sequences that set a colour, the terminal's default ones too."""
    found = {match[0] for match in _SGR.finditer(raw)}
    return {each for each in found if any(int(part) in _COLOURS for part in each[2:-1].split(";") if part)}


def stop(terminal: Terminal, how: str) -> None:
    """Suspend it by its key, or by a signal from outside."""
    pid = pid_of(terminal)
    if how == "ctrl+z":
        terminal.type(SUSPEND)
    else:
        os.kill(pid, signal.Signals[how])

    terminal.wait_until(lambda: is_stopped(pid), what="the stop")


@pytest.mark.long
@pytest.mark.parametrize("how", ["ctrl+z", "SIGTSTP", "SIGSTOP"])
def test_suspended_it_gives_the_terminal_back_and_woken_it_draws_everything_anew(
    how: str, project: Path
) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        assert TITLE_KEPT in terminal.raw
        terminal.type("a draft")
        terminal.wait_for("draft")
        with terminal.fresh():
            stop(terminal, how)
            left = terminal.raw
        if how != "SIGSTOP":  # which leaves no program the time to do anything
            assert LEFT in left
            assert TITLE_BACK in left
        with terminal.fresh():
            os.kill(pid_of(terminal), signal.SIGCONT)
            terminal.wait_for("a draft")
            terminal.wait_for("enter sends")
            wait_until(lambda: ENTERED in terminal.raw, what="the screen")
            wait_until(lambda: TITLE_KEPT in terminal.raw, what="the title")
        terminal.type(" of mine")
        terminal.wait_for("of mine")
        taken = terminal.raw.count(TITLE_KEPT)
        given = terminal.quit().count(TITLE_BACK)
        assert (taken, given) == (1, 1)


@pytest.mark.long
def test_suspended_while_a_turn_runs_and_a_question_is_open_the_question_wants_to_be_read_again(
    project: Path,
) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        terminal.submit("replace first with primo in a.py")
        terminal.wait_for("y yes")
        time.sleep(1)  # long enough for its keys to be alive
        stop(terminal, "SIGTSTP")
        with terminal.fresh():
            os.kill(pid_of(terminal), signal.SIGCONT)
            terminal.wait_for("y yes")
            terminal.type("y")  # meant for the shell, perhaps: too early to be an answer
            time.sleep(0.3)
        assert (project / "a.py").read_text(encoding="utf-8") == "first = 1\n"

        terminal.press_when_awake("y", "1 replacement")
        terminal.wait_until(lambda: "primo" in (project / "a.py").read_text(), what="the edit")
        terminal.quit()


@pytest.mark.long
def test_a_command_that_runs_goes_on_while_the_app_is_suspended_and_is_reported_afterwards(
    project: Path,
) -> None:
    with app(project, "--mode", "auto") as terminal:
        terminal.wait_for("offline")
        terminal.submit(
            "run `sh -c 'touch begun; until [ -e go ]; do sleep 0.1; done; echo it-is-ov\"\"er; touch over'`"
        )
        terminal.wait_until((project / "begun").exists, what="the command")
        stop(terminal, "SIGTSTP")
        (project / "go").touch()
        wait_until((project / "over").exists, what="the end of the command while the app is stopped")
        with terminal.fresh():
            os.kill(pid_of(terminal), signal.SIGCONT)
            terminal.wait_for("it-is-over")
        terminal.quit()


@pytest.mark.long
def test_what_is_seen_first_is_the_whole_screen(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_for("enter sends")
        _, _, drawn_by_app = terminal.raw.partition(
            REPORTS_FOCUS
        )  # the early prompt needs no more than its lines
        rows = re.findall(r"\x1b\[(\d+);\d+H", drawn_by_app)

    assert [int(row) for row in rows[:40]] == list(range(1, 41))


@pytest.mark.long
def test_an_app_that_nobody_uses_sleeps(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        terminal.wait_until(lambda: has_slept(pid_of(terminal)), what="a second without any work")
        terminal.type("and wakes up")
        terminal.wait_for("and wakes up")


@pytest.mark.long
def test_ended_from_outside_it_gives_the_title_and_the_screen_back(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        os.kill(pid_of(terminal), signal.SIGTERM)
        assert terminal.has_ended(within=120)
        raw = terminal.raw + str(terminal.process.before)
        assert LEFT in raw
        assert raw.count(TITLE_BACK) == 1


@pytest.mark.long
@pytest.mark.parametrize(
    "number",
    [signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGVTALRM, signal.SIGXCPU, signal.SIGRTMIN],
)
def test_a_signal_that_ends_it_ends_it_with_the_terminal_restored(
    project: Path, number: signal.Signals
) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        os.kill(pid_of(terminal), number)
        assert terminal.has_ended(within=120)
        raw = terminal.raw + str(terminal.process.before)
        terminal.process.close()

    assert terminal.process.signalstatus == number
    last = {
        mode: raw.rfind(f"\x1b[?{mode}l") > raw.rfind(f"\x1b[?{mode}h") for mode in (1049, 1000, 1003, 2004)
    }
    assert all(last.values())


@pytest.mark.long
def test_the_title_says_from_afar_that_an_answer_is_needed(project: Path) -> None:
    may_ask = project.parent / "may_ask"
    configure(project.parent / "home", a_hook_that_waits_for(may_ask))
    with app(project) as terminal:
        terminal.wait_for("offline")
        wait_until(lambda: "\x1b]2;project · quorum\x07" in terminal.raw, what="the title")
        terminal.submit("replace first with primo in a.py")
        wait_until(lambda: "\x1b]2;● project · quorum\x07" in terminal.raw, what="the mark of a turn")
        may_ask.touch()
        terminal.wait_for("y yes")
        wait_until(lambda: "\x1b]2;! project · quorum\x07" in terminal.raw, what="the mark of a question")
        terminal.type(ESCAPE)
        terminal.wait_for("interrupted")
        terminal.quit()


@pytest.mark.long
def test_a_notification_is_sent_only_while_the_terminal_is_not_looked_at(project: Path) -> None:
    looking_away = project.parent / "looking_away"
    configure(project.parent / "home", f'[tui]\ntheme = "auto"\n{a_hook_that_waits_for(looking_away)}')
    with app(project, TERM_PROGRAM="ghostty") as terminal:
        terminal.wait_for("offline")
        wait_until(lambda: "\x1b]11;?" in terminal.raw, what="the question for the ground")
        terminal.submit("replace first with primo in a.py")
        with terminal.fresh():
            # The focus is lost. Once the terminal's answer is taken for its theme, the app knows that, too.
            terminal.type("\x1b[O\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
            wait_until(lambda: "48;2;251;250;248" in terminal.raw, what="the light theme")
        looking_away.touch()
        terminal.wait_for("y yes")
        reply = "\x1b]777;notify;quorum;edit needs your answer · project\x07"
        wait_until(lambda: reply in terminal.raw, what="the notification")
        terminal.type(ESCAPE)
        terminal.wait_for("interrupted")
        with terminal.fresh():
            terminal.type("\x1b[I")  # and is back
            terminal.submit("replace first with primo in a.py")
            terminal.wait_for("y yes")
            terminal.type(ESCAPE)
            terminal.wait_for("interrupted")
            assert "]777;" not in terminal.raw
        terminal.quit()


@pytest.mark.long
def test_what_is_dropped_on_a_terminal_that_is_not_looked_at_arrives(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        terminal.type(f"\x1b[O{PASTED}read a.py{PASTED_END}")
        terminal.wait_for("read a.py")
        terminal.submit("")
        terminal.wait_for("first = 1")
        terminal.quit()


@pytest.mark.long
def test_with_no_color_not_one_sequence_for_a_colour_is_sent(project: Path) -> None:
    with app(project, NO_COLOR="1") as terminal:
        terminal.wait_for("offline")
        terminal.submit("replace first with primo in a.py and read a.py")
        terminal.wait_for("y yes")
        terminal.press_when_awake("y", "1 replacement")
        terminal.type("\x10")  # the palette
        terminal.wait_for("Search for commands")
        terminal.type("wide")
        terminal.wait_for("/layout wide")
        terminal.type(ESCAPE)
        terminal.type("text")
        terminal.wait_for("text")

        assert colours_in(terminal.raw) == set()
        assert _SGR.search(terminal.raw)  # bold, dim and reverse are there
        terminal.type(CTRL_C)
        terminal.quit()


@pytest.mark.long
def test_an_empty_no_color_wants_nothing(project: Path) -> None:
    with app(project, NO_COLOR="") as terminal:
        terminal.wait_for("offline")
        assert colours_in(terminal.raw)
        terminal.quit()


@pytest.mark.long
def test_on_a_terminal_of_256_colours_grounds_are_grey_and_neither_black_nor_navy(project: Path) -> None:
    with app(project, COLORTERM="") as terminal:
        terminal.wait_for("offline")
        terminal.submit("replace first with primo in a.py and read a.py")
        terminal.wait_for("y yes")
        grounds = {int(number) for number in re.findall(r"48;5;([0-9]+)m", terminal.raw)}

        assert {233, 234} <= grounds
        assert not {16, 17} & grounds
        terminal.press_when_awake("n", "rejected")
        terminal.quit()


@pytest.mark.long
def test_the_ansi_theme_sends_no_colour_but_the_sixteen(project: Path) -> None:
    with app(project, QUORUM_TUI__THEME='"quorum-ansi"') as terminal:
        terminal.wait_for("offline")
        with terminal.fresh():
            terminal.submit("replace first with primo in a.py and read a.py")
            terminal.wait_for("y yes")
            terminal.press_when_awake("y", "1 replacement")
            colours = colours_in(terminal.raw)
        assert colours
        assert [each for each in colours if re.search("[34]8[;:]", each)] == []
        terminal.quit()


@pytest.mark.long
def test_on_a_terminal_of_16_colours_removed_lines_are_red_and_added_ones_green(project: Path) -> None:
    with app(project, TERM="xterm", COLORTERM="") as terminal:
        terminal.wait_for("offline")
        with terminal.fresh():
            terminal.submit("replace first with primo in a.py")
            terminal.wait_for("y yes")
            for line in (r"\x1b\[1;4;31;49mfirst", r"\x1b\[1;4;32;49mprimo"):
                wait_until(lambda line=line: re.search(line, terminal.raw) is not None, what=line)
        terminal.press_when_awake("n", "rejected")
        terminal.quit()


@pytest.mark.long
def test_on_a_light_terminal_of_16_colours_nothing_is_yellow_or_cyan(project: Path) -> None:
    with app(project, TERM="xterm", COLORTERM="", COLORFGBG="0;15") as terminal:
        terminal.wait_for("offline")
        with terminal.fresh():
            terminal.submit("replace first with primo in a.py")
            terminal.wait_for("waits for you")
            terminal.wait_for("y yes")
            codes = {
                code
                for sequence in re.findall(r"\x1b\[([\d;]+)m", terminal.raw)
                for code in sequence.split(";")
            }
            assert "35" in codes
            assert not {"33", "36", "93", "96"} & codes
        terminal.press_when_awake("n", "rejected")
        terminal.quit()


@pytest.mark.long
def test_after_a_storm_of_sizes_the_app_is_as_large_as_its_window_and_works(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        terminal.submit("replace first with primo in a.py")
        terminal.wait_for("y yes")
        for n in range(100):
            terminal.process.setwinsize(1 + (n * 37) % 60, 1 + (n * 53) % 200)
        terminal.process.setwinsize(30, 100)
        time.sleep(0.5)
        with terminal.fresh():
            terminal.process.setwinsize(31, 101)
            terminal.wait_for("y yes")
            terminal.wait_for("primo")
        terminal.press_when_awake("n", "rejected")
        terminal.submit("read a.py")
        terminal.wait_for("first = 1")
        terminal.quit()


@pytest.mark.long
def test_for_a_screen_reader_the_terminals_cursor_is_there_from_the_start(project: Path) -> None:
    with app(project, "--screen-reader") as terminal:
        terminal.wait_for("prompt:")
        terminal.wait_for("offline")
        wait_until(  # it is hidden while a frame is painted
            lambda: terminal.raw.rindex("\x1b[?25h") > terminal.raw.rindex("\x1b[?25l"), what="the cursor"
        )
        assert not re.search("[─│╭╮╰╯]", terminal.painted)
        terminal.quit()


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    "arguments", [(), ("--continue",), ("--resume",), ("--screen-reader",), ("sessions", "resume", "latest")]
)
@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_dumb_terminal_is_shown_what_works_there(
    arguments: tuple[str, ...], term: str, project: Path
) -> None:
    with app(project, *arguments, TERM=term) as terminal:
        terminal.wait_for("quorum run")
        assert ENTERED not in terminal.raw
        assert terminal.ended() == 2


@pytest.mark.long
def test_a_terminal_that_has_no_utf_8_is_shown_how_to_get_it(project: Path) -> None:
    with app(project, PYTHONIOENCODING="latin-1") as terminal:
        terminal.wait_for("LC_ALL=C.UTF-8")
        assert terminal.ended() == 2


@pytest.mark.long(after=1)
@pytest.mark.parametrize("stream", ["<", ">", "2>"])
@pytest.mark.parametrize("arguments", ["", "--continue"])
def test_with_a_stream_that_is_no_terminal_it_refuses_in_a_sentence(
    stream: str, arguments: str, project: Path
) -> None:
    elsewhere = project.parent / "elsewhere"
    elsewhere.touch()
    said = pexpect.spawn(
        "/bin/sh",
        ["-c", f'"{QUORUM}" {arguments} {stream}"{elsewhere}"; echo code $?'],
        cwd=str(project),
        env=environment(project.parent / "home", TERM="xterm-256color"),
        encoding="utf-8",
        timeout=120,
    )
    said.expect("code 2")
    assert "terminal" in (said.before or "") + elsewhere.read_text(encoding="utf-8")
    said.close(force=True)


@pytest.mark.long
def test_without_any_terminal_at_all_it_refuses_too(project: Path) -> None:
    done = subprocess.run(
        [str(QUORUM)],
        cwd=project,
        env=environment(project.parent / "home"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "needs a terminal" in done.stderr
