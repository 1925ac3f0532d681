"""A question to the person at the terminal, before what cannot be taken back."""

from __future__ import annotations

import sys

from quorum.domain.text.printable import make_printable
from quorum.errors import UsageError


def confirm(question: str, *, otherwise: str) -> bool:
    """Whether the person says yes. Raises UsageError where no terminal is there, which says what else to do."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"nobody is there to ask; {otherwise}")
    sys.stdout.flush()
    print(f"{make_printable(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
