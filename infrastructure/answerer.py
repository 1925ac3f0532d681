"""Who answers, and on which machine, as records name them."""

from __future__ import annotations

import os
import pwd
import socket


def find_account() -> str:
    """Whose process this is, as the system knows it: variables say what anybody wants. Empty where it is a
    user without an entry, as in some containers."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


def name_answerer() -> str:
    """The person who answers and their machine, as this process knows them."""
    return f"{find_account() or f'user {os.getuid()}'}@{name_machine()}"


def name_machine() -> str:
    """The name by which people know this machine."""
    return socket.gethostname()
