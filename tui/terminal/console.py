"""What can be known of a terminal without Textual, and without asking the terminal itself."""

from __future__ import annotations

from collections.abc import Mapping
from fcntl import ioctl
from struct import unpack
from termios import FIONREAD

_SIMPLE = ("dumb", "linux", "vt", "eterm")


def is_simple(environ: Mapping[str, str]) -> bool:
    """Whether this is a console that prints what it does not know, or has few characters."""
    term = environ.get("TERM", "").lower()
    return not term or term.startswith(_SIMPLE)


def count_waiting_bytes(terminal: int) -> int:
    """How many bytes were typed that nobody has read. Raises OSError where it is no terminal."""
    (waiting,) = unpack("i", ioctl(terminal, FIONREAD, bytes(4)))
    return int(waiting)
