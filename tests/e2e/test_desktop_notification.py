"""A notification on a desktop: a real terminal hands it to a real notification daemon."""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO

import pytest

from quorum.tui.terminal.notifications import encode_notification

PROGRAMS = ("Xvfb", "dbus-daemon", "dbus-monitor", "dunst", "kitty")
PATIENCE_SECS = 120.0
TEXT = "run needs your answer · app"
SAY = """
import os, sys
from quorum.tui.terminal.notifications import encode_notification
sys.stdout.write(encode_notification(sys.argv[1], os.environ))
sys.stdout.flush()
sys.stdin.readline()
"""


@contextmanager
def running(*command: str, env: dict[str, str], **more: object) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs as long as the block."""
    with subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(stream: IO[bytes], wanted: str) -> str:
    """What comes out of a program until it says what is wanted."""
    deadline, seen = time.monotonic() + PATIENCE_SECS, b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while wanted.encode() not in seen:
            left = deadline - time.monotonic()
            assert selector.select(max(left, 0)), f"{wanted!r} did not come:\n{seen.decode()}"
            piece = os.read(stream.fileno(), 65_536)
            assert piece, f"it ended without {wanted!r}:\n{seen.decode()}"
            seen += piece
    return seen.decode()


@pytest.mark.parametrize("terminal", [{"TERM": "xterm-kitty"}, {"KITTY_WINDOW_ID": "1"}])
def test_kitty_is_sent_what_it_shows_only_without_the_focus(terminal: dict[str, str]) -> None:
    sequence = encode_notification(TEXT, terminal)

    assert sequence.startswith("\x1b]99;")
    assert ":o=unfocused;" in sequence


@pytest.mark.long
def test_a_notification_in_kitty_reaches_the_notification_daemon_as_it_was_worded(tmp_path) -> None:
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        pytest.skip(f"needs a desktop to show notifications; not installed: {', '.join(missing)}")
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG")} | {
        "HOME": str(tmp_path),
        "XDG_RUNTIME_DIR": str(tmp_path),
        "LIBGL_ALWAYS_SOFTWARE": "1",
        "PYTHONPATH": os.getcwd(),
        "LC_ALL": "C.UTF-8",
    }
    pipe = {"stdout": subprocess.PIPE}
    with ExitStack() as programs:
        display = programs.enter_context(running("Xvfb", "-displayfd", "1", env=env, **pipe))
        env["DISPLAY"] = f":{read_until(display.stdout, chr(10)).strip()}"
        bus = programs.enter_context(
            running("dbus-daemon", "--session", "--nofork", "--print-address", env=env, **pipe)
        )
        env["DBUS_SESSION_BUS_ADDRESS"] = read_until(bus.stdout, "\n").strip()
        monitor = programs.enter_context(running("dbus-monitor", "--session", env=env, **pipe))
        read_until(monitor.stdout, "NameAcquired")
        programs.enter_context(running("dunst", env=env))
        read_until(monitor.stdout, 'string "org.freedesktop.Notifications"')
        programs.enter_context(running("kitty", "--config", "NONE", sys.executable, "-c", SAY, TEXT, env=env))

        shown = read_until(monitor.stdout, f'string "quorum: {TEXT}"')

        assert "interface=org.freedesktop.Notifications; member=Notify" in shown
        read_until(monitor.stdout, "method return")
