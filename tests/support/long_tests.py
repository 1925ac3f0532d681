"""Which files `make test-long` imports: those with a long test or one of properties."""

from __future__ import annotations

from pathlib import Path

LONG_TESTS = "long or hypothesis"
"""What is selected there, as its option -m says."""

_SIGNS = (b"mark.long", b"hypothesis")


def may_have_long_tests(file: Path) -> bool:
    """Whether its text names what makes a test belong there."""
    source = file.read_bytes()
    return any(sign in source for sign in _SIGNS)
