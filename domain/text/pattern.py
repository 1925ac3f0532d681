"""Patterns that compile on first use: all of them at the start would take a tenth of it."""

from __future__ import annotations

import re
from functools import cache


@cache
def compile_once(pattern: str) -> re.Pattern[str]:
    """Compile a constant of a module. Flags stand in its text, as in `(?i)`."""
    return re.compile(pattern)
