"""What is wrong with a command line or with what it names, told on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from tui.transcript.printable import printable


class UsageError(Exception):
    """The command line asks for something that cannot be; the text says what, and the remedy.

    It is no error of the domain's, because it may be raised before the domain is loaded.
    """


def complain(sentences: Iterable[str]) -> None:
    """Print each sentence on a line of its own, with nothing in it that could act on the terminal."""
    for sentence in sentences:
        print(f"quorum: {printable(sentence)}", file=sys.stderr)
