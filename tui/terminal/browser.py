"""Opens web addresses in the person's browser, where there is one with a window of its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping

from quorum.tui.transcript.cells.lines import is_web

_PATIENCE_SECS = 20.0
# Python knows the browsers of each system, and looks them up on PATH: so in a process whose PATH is safe. It
# takes a program that has handed the address over and ended for one that failed: these are waited for here.
_OPEN = """
import subprocess, sys, webbrowser
address, browser = sys.argv[1], webbrowser.get()
if type(browser) is webbrowser.BackgroundBrowser:
    words = [browser.name, *(word.replace("%s", address) for word in browser.args)]
    try:
        sys.exit(subprocess.Popen(words, start_new_session=True).wait(5) != 0)
    except subprocess.TimeoutExpired:
        sys.exit(0)
sys.exit(not webbrowser.open(address))
"""


def has_windows(around: Mapping[str, str]) -> bool:
    """Whether a browser would have a screen to appear on: one in this terminal would draw over the app."""
    if around.get("SSH_CONNECTION") or around.get("SSH_TTY"):
        return False
    if sys.platform == "darwin" or around.get("WSL_DISTRO_NAME"):
        return True
    return bool(around.get("DISPLAY") or around.get("WAYLAND_DISPLAY"))


async def open_address(address: str) -> bool:
    """Open a web address, and nothing else, in a browser that no command of a session may write; whether that
    could be done.
    """
    if not is_web(address) or not has_windows(os.environ):
        return False
    return await asyncio.to_thread(_open, address)


def _open(address: str) -> bool:
    from quorum.application.program_lookup import filter_environment

    environment = filter_environment(os.environ)
    if named := environment.pop("BROWSER", ""):
        # A relative path would be looked for in the folder that is open.
        usable = [each for each in named.split(os.pathsep) if "/" not in each or each.startswith("/")]
        environment |= {"BROWSER": os.pathsep.join(usable)} if usable else {}
    try:
        done = subprocess.run(
            (sys.executable, "-I", "-c", _OPEN, address),
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=_PATIENCE_SECS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
