"""Opens web addresses in the person's browser, where there is one with a window of its own."""

from __future__ import annotations

import asyncio
import os
import sys
import webbrowser
from collections.abc import Mapping

from tui.transcript.cells.links import is_web


def has_windows(around: Mapping[str, str]) -> bool:
    """Whether a browser would have a screen to appear on: one in this terminal would draw over the app."""
    if around.get("SSH_CONNECTION") or around.get("SSH_TTY"):
        return False
    if sys.platform == "darwin" or around.get("WSL_DISTRO_NAME"):
        return True
    return bool(around.get("DISPLAY") or around.get("WAYLAND_DISPLAY"))


async def open_address(address: str) -> bool:
    """Open a web address, and nothing else; whether that could be done."""
    if not is_web(address) or not has_windows(os.environ):
        return False
    return await asyncio.to_thread(webbrowser.open, address)
