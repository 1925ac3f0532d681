"""The name under which an answer to a review is kept."""

from __future__ import annotations

import getpass
import os
import socket


def name_answerer() -> str:
    """The person who answers and their machine, as this process knows them."""
    try:
        person = getpass.getuser()
    except (KeyError, OSError):  # a user without an entry of its own, as in some containers
        person = f"user {os.getuid()}"
    return f"{person}@{socket.gethostname()}"
