"""A process that takes the place of another one, and one that waits outside of a layer for another."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from typing import Any

import pytest

from quorum.app.handing_over import become, give_terminal_back, read_terminal, take_over, wait_outside
from quorum.app.terminal import take_terminal
from quorum.tui.tabs.carrying import CarriedApp, encode

_PREAMBLE = """
import os, sys
from quorum.app import handing_over as ours
from quorum.errors import RestartedCommand
ours._can_mount = lambda: False
"""


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _PREAMBLE + script], capture_output=True, text=True, timeout=60, check=False
    )


def test_the_process_outside_becomes_what_the_one_in_the_layer_asks_for() -> None:
    done = run(
        """
outside = os.getpid()
try:
    ours.wait_outside()
except RestartedCommand as asked:
    print(os.getpid() == outside, asked.arguments, len(asked.carried))
else:
    print(os.getpid() != outside, ours.ask_outside(("--mode", "ask", "é"), b"x" * 1_000_000), flush=True)
"""
    )

    assert done.stdout.splitlines() == ["True True", "True ('--mode', 'ask', 'é') 1000000"], done.stderr


def test_other_programs_of_the_same_user_cannot_look_into_it() -> None:
    done = run(
        """
import ctypes
if os.geteuid() == 0:  # who may look into all processes
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
ours.wait_outside()
for process, is_open in ((os.getppid(), False), (os.getpid(), True)):
    try:
        open(f"/proc/{process}/environ", "rb").close()
    except PermissionError:
        print(not is_open)
    else:
        print(is_open, flush=True)
"""
    )

    assert done.stdout == "True\nTrue\n", done.stderr


@pytest.mark.parametrize(
    ("ending", "code"), [("sys.exit(0)", 0), ("os._exit(7)", 7), ("os.kill(os.getpid(), 9)", -9)]
)
def test_it_ends_as_that_one_did(ending: str, code: int) -> None:
    assert run(f"ours.wait_outside()\n{ending}").returncode == code


def test_signals_reach_the_one_in_the_layer() -> None:
    done = run(
        """
import signal
ours.wait_outside()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
os.kill(os.getppid(), signal.SIGTERM)
sys.exit(5 if signal.sigwait([signal.SIGTERM]) == signal.SIGTERM else 1)
"""
    )

    assert done.returncode == 5, done.stderr


def test_where_no_user_namespace_is_needed_nobody_waits_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("ours._can_mount = lambda: True\nours.wait_outside()\nprint(ours.ask_outside((), b''))")

    assert done.stdout == "False\n", done.stderr


def test_what_is_carried_arrives_in_memory_alone_and_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    descriptor = os.memfd_create("test")
    os.write(descriptor, b"carried")
    monkeypatch.setenv("QUORUM_TAKES_OVER", str(descriptor))

    assert take_over() == b"carried"
    assert "QUORUM_TAKES_OVER" not in os.environ
    assert take_over() == b""
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_the_attributes_of_the_terminal_are_carried_as_they_were() -> None:
    far, near = os.openpty()
    try:
        attributes = termios.tcgetattr(near)
    finally:
        os.close(far)
        os.close(near)

    assert read_terminal(encode(CarriedApp(tabs=(), front=0, terminal=attributes))) == attributes
    assert read_terminal(encode(CarriedApp(tabs=(), front=0))) is None
    give_terminal_back(b"")


def test_it_stops_and_goes_on_with_that_one() -> None:
    script = f"{_PREAMBLE}ours.wait_outside()\nimport signal\nos.kill(os.getpid(), signal.SIGSTOP)\nsys.exit(3)"
    with subprocess.Popen([sys.executable, "-c", script], start_new_session=True) as process:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        os.killpg(process.pid, signal.SIGCONT)

        assert process.wait(60) == 3


class LeftTerminal:
    """A terminal as an app leaves it to the next one, standard input and errors of this process."""

    def __init__(self) -> None:
        self.far, self.near = os.openpty()
        self.usual = termios.tcgetattr(self.near)
        raw: list[Any] = termios.tcgetattr(self.near)
        raw[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(self.near, termios.TCSANOW, raw)
        self.carried = encode(CarriedApp(tabs=(), front=0, terminal=self.usual))
        self.stream = io.TextIOWrapper(io.FileIO(self.near, "r+"), encoding="utf-8")

    def take_place_of_streams(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("stdin", "stdout", "stderr"):
            monkeypatch.setattr(sys, name, self.stream)

    @property
    def is_as_usual(self) -> bool:
        return termios.tcgetattr(self.near)[3] == self.usual[3]


@pytest.fixture
def left_terminal() -> Iterator[LeftTerminal]:
    terminal = LeftTerminal()
    yield terminal
    terminal.stream.close()
    os.close(terminal.far)


def test_where_no_other_can_begin_the_terminal_is_given_back_and_the_person_told(
    left_terminal: LeftTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_terminal.take_place_of_streams(monkeypatch)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setenv("QUORUM_TAKES_OVER", "")

    error = become((), left_terminal.carried)

    assert "/nowhere/python cannot be started (No such file or directory)" in str(error)
    assert left_terminal.is_as_usual
    take_over()


@pytest.mark.parametrize("is_reader", [False, True])
def test_an_app_that_shows_no_early_prompt_finds_the_terminal_as_it_was(
    left_terminal: LeftTerminal, monkeypatch: pytest.MonkeyPatch, is_reader: bool
) -> None:
    left_terminal.take_place_of_streams(monkeypatch)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    overrides = {"tui.screen_reader": is_reader}

    with take_terminal(overrides=overrides, carried=left_terminal.carried) as prompt:
        assert prompt is None  # the terminal is not that of this process
        assert left_terminal.is_as_usual


def test_where_systems_have_no_layers_nobody_waits_and_nothing_is_handed_on_in_memory(
    left_terminal: LeftTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_terminal.take_place_of_streams(monkeypatch)
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr("quorum.app.handing_over._can_mount", lambda: open("/nowhere/status"))  # noqa: SIM115
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    wait_outside()
    become((), left_terminal.carried)

    assert left_terminal.is_as_usual
