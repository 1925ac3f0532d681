"""`dependency_injector`, without the libraries that it would load for what quorum does not use of it.

It imports PyYAML and pydantic wherever they are installed, to read containers and settings with them, and web
frameworks, to know their requests, which would take up to 100 ms of each start. Here it finds none of them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_UNUSED = frozenset(
    ("yaml", "pydantic", "pydantic_settings", "fastapi", "fast_depends", "starlette", "werkzeug")
)


class _Absence:
    """Finds no such module, for the thread that it is made in; others import theirs meanwhile."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names, self._thread = names, threading.get_ident()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raise ModuleNotFoundError for one of these modules, and leave all others to be found."""
        if name in self._names and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)


@contextmanager
def _without(names: frozenset[str]) -> Iterator[None]:
    absence = _Absence(names)
    sys.meta_path.insert(0, absence)
    try:
        yield
    finally:
        sys.meta_path.remove(absence)


with _without(_UNUSED):
    from dependency_injector import containers as containers
    from dependency_injector import providers as providers
