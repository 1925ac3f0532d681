"""The app behind Textual's web server, which speaks through pipes: packets of a kind, a length and bytes."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.infrastructure.commands.command_bench import a_sleep, alive_with
from tests.support.headless_run import QUORUM, environment
from tests.support.liveness import has_slept, wait_until

WEB_DRIVER = "textual.drivers.web_driver:WebDriver"
WITHIN_SECS = 120.0
_SEQUENCES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")


class Browser:
    """The server's end of the pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin
        assert process.stdout
        self.process = process
        self._out, self._in = process.stdout.fileno(), process.stdin
        self._unread = b""
        self.greeting = b""
        self.painted = b""
        self.metas: list[Mapping[str, object]] = []

    def type(self, text: str) -> None:
        """Send keys."""
        self._send(b"D", text.encode())

    def tell(self, **meta: object) -> None:
        """Say something about the browser."""
        self._send(b"M", json.dumps(meta).encode())

    def wait_for(self, text: str) -> None:
        """Until this has been painted."""
        deadline = time.monotonic() + WITHIN_SECS
        while text.encode() not in _SEQUENCES.sub(b"", self.painted):
            assert time.monotonic() < deadline, _SEQUENCES.sub(b"", self.painted)[-2000:].decode()
            if not self._read():
                break
        assert text.encode() in _SEQUENCES.sub(b"", self.painted)

    def ended(self) -> int:
        """Wait for the app's end; its exit code."""
        while self._read():
            pass
        return self.process.wait(WITHIN_SECS)

    def go_away(self) -> None:
        """End as a server that was killed."""
        self._in.close()

    def _send(self, kind: bytes, payload: bytes) -> None:
        self._in.write(kind + len(payload).to_bytes(4, "big") + payload)
        self._in.flush()

    def _read(self) -> bool:
        if not select.select([self._out], [], [], WITHIN_SECS)[0]:
            raise AssertionError("the app said nothing")
        if not (data := os.read(self._out, 65536)):
            return False
        self._unread += data
        if not self.greeting:
            self.greeting, _, self._unread = self._unread.partition(b"\n")
        while len(self._unread) >= 5:
            length = int.from_bytes(self._unread[1:5], "big")
            if len(self._unread) < 5 + length:
                break
            kind, payload = self._unread[:1], self._unread[5 : 5 + length]
            self._unread = self._unread[5 + length :]
            if kind == b"D":
                self.painted += payload
            else:
                assert kind == b"M"
                self.metas.append(json.loads(payload))
        return True


@contextmanager
def in_a_browser(project: Path, *arguments: str, driver: str = WEB_DRIVER) -> Iterator[Browser]:
    process = subprocess.Popen(
        [str(QUORUM), *arguments],
        cwd=project,
        env=environment(project.parent / "home", TEXTUAL_DRIVER=driver, COLUMNS="120", ROWS="40"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            yield Browser(process)
        finally:
            process.kill()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("first = 1\n", encoding="utf-8")
    return folder


@pytest.mark.long
def test_it_opens_takes_keys_and_sizes_and_ends(project: Path) -> None:
    with in_a_browser(project) as browser:
        browser.wait_for("offline")
        assert browser.greeting == b"__GANGLION__"
        browser.type("read a.py")
        browser.type("\r")
        browser.wait_for("first = 1")
        browser.tell(type="resize", width=80, height=24)
        browser.tell(type="focus")
        browser.type("\x11")

        assert browser.ended() == 0
        assert browser.metas[-1] == {"type": "exit"}


@pytest.mark.long
def test_an_app_that_nobody_uses_sleeps_there_too(project: Path) -> None:
    with in_a_browser(project) as browser:
        browser.wait_for("offline")
        deadline = time.monotonic() + WITHIN_SECS
        while not has_slept(browser.process.pid):
            assert time.monotonic() < deadline, "it never slept for a second"
        browser.type("and wakes up")
        browser.wait_for("and wakes up")
        browser.type("\x03\x11")

        assert browser.ended() == 0


@pytest.mark.long
def test_a_text_that_comes_at_once_answers_no_question_there_either(project: Path) -> None:
    with in_a_browser(project) as browser:
        browser.wait_for("offline")
        browser.type("replace first with primo in a.py\r")
        browser.wait_for("y yes")
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:  # until the dialog takes keys
            browser.type("yy\r")
            select.select([], [], [], 0.5)
        browser.type("\x11")
        browser.ended()

    assert (project / "a.py").read_text(encoding="utf-8") == "first = 1\n"


@pytest.mark.long
@pytest.mark.parametrize("how", ["the pipe ends", "quit", "SIGTERM"])
def test_when_the_browser_or_its_server_is_gone_the_app_and_its_commands_end(how: str, project: Path) -> None:
    sleep = a_sleep()
    with in_a_browser(project, "--mode", "auto") as browser:
        browser.wait_for("offline")
        browser.type(f"run `sleep {sleep}`\r")
        wait_until(lambda: alive_with(sleep), "the command runs")
        match how:
            case "quit":
                browser.tell(type="quit")
            case "SIGTERM":
                browser.process.send_signal(signal.SIGTERM)
            case _:
                browser.go_away()

        assert browser.ended() == (143 if how == "SIGTERM" else 129)
        wait_until(lambda: not alive_with(sleep), "the end of the command")


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    "driver",
    [
        "nowhere.at.all:Driver",
        "textual.drivers.web_driver:NonInteractiveApprover",
        "textual.driver",
        "json:loads",
    ],
)
def test_a_driver_that_does_not_exist_is_named(driver: str, project: Path) -> None:
    with in_a_browser(project, driver=driver) as browser:
        _, err = browser.process.communicate(timeout=WITHIN_SECS)

        assert browser.process.returncode == 2
        assert b"TEXTUAL_DRIVER" in err
        assert b"Traceback" not in err


@pytest.mark.long
def test_textuals_own_driver_for_terminals_needs_one_also_when_it_is_named(project: Path) -> None:
    with in_a_browser(project, driver="textual.drivers.linux_driver:LinuxDriver") as browser:
        _, err = browser.process.communicate(timeout=WITHIN_SECS)

        assert browser.process.returncode == 2
        assert b"needs a terminal" in err
