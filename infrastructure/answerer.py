"""The name and the time under which an answer to a review is kept."""

from __future__ import annotations

import getpass
import os
import socket
import time


def name_answerer() -> str:
    """The person who answers and their machine, as this process knows them."""
    try:
        person = getpass.getuser()
    except (KeyError, OSError):  # a user without an entry of its own, as in some containers
        person = f"user {os.getuid()}"
    return f"{person}@{socket.gethostname()}"


def read_wall_clock_ms() -> int:
    """The time of day in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000
