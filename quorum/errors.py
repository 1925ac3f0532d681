"""What is wrong with a command line or with what it names, printed on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from quorum.domain.text.printable import make_printable


class UsageError(Exception):
    """The command line asks for something that cannot be; the text says what, and the remedy.

    It is no error of the domain's, because it may be raised before the domain is loaded.
    """


_hide: Callable[[str], str] = str


def mask_complaints(hide: Callable[[str], str]) -> None:
    """From now on print no complaint but through `hide`, which takes its secrets out.

    For the process: complaints are made where nothing of a session is at hand, before it and after.
    """
    global _hide
    _hide = hide


def complain(sentences: Iterable[str]) -> None:
    """Print each sentence on a line of its own, with nothing in it that could act on the terminal."""
    for sentence in sentences:
        print(f"quorum: {make_printable(_hide(sentence))}", file=sys.stderr)


def show_progress(text: str) -> None:
    """Show one line on a terminal, which the next one replaces; an empty one takes it away."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


class RestartedCommand(Exception):
    """This process is to become a new quorum with another command line, `arguments`, in the same terminal. It
    takes over what is `carried`."""

    def __init__(self, arguments: tuple[str, ...], carried: bytes = b"") -> None:
        super().__init__(*arguments)
        self.arguments, self.carried = arguments, carried


class ForkedCommand(Exception):
    """This process was forked to run another command line, `arguments`."""

    def __init__(self, arguments: tuple[str, ...]) -> None:
        super().__init__(*arguments)
        self.arguments = arguments
