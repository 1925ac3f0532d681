"""The processes of `quorum fleet work`: a parent, the worker it forked, and those of the worker's sessions."""

from __future__ import annotations

import os
from pathlib import Path


def find_worker(parent: int) -> int | None:
    """The worker of this parent; None where it has none at the moment."""
    found = [child for child in list_children(parent) if _is_in_session_of(child, parent)]
    return found[0] if found else None


def find_session_processes(parent: int) -> list[int]:
    """The processes of the sessions: no signal of a terminal reaches them."""
    return [child for child in list_children(parent) if not _is_in_session_of(child, parent)]


def list_children(pid: int) -> list[int]:
    """The children of a process with one thread; none where it is gone."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _is_in_session_of(child: int, parent: int) -> bool:
    try:
        return os.getsid(child) == os.getsid(parent)
    except ProcessLookupError:
        return False
