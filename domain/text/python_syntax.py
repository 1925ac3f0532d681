"""Python's own parser, one caller at a time.

How deep it stands is counted once for all threads (CPython 3.11 and 3.12), so that two at once fail with a
SystemError, whatever they parse.
"""

from __future__ import annotations

import ast
import threading

_ALONE = threading.RLock()


def parse_module(source: str | bytes) -> ast.Module:
    """The statements of a file. Raises what `ast.parse` raises."""
    with _ALONE:
        return ast.parse(source)


def parse_expression(source: str) -> ast.Expression:
    """One expression. Raises what `ast.parse` raises."""
    with _ALONE:
        return ast.parse(source, mode="eval")
