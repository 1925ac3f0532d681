"""Which of canonical paths lie in which, told by their texts."""

from __future__ import annotations

from collections.abc import Container, Iterable


def lies_in(folders: Container[str], path: str) -> bool:
    """The same as `is_below_any`, of many folders that can be looked up."""
    while path not in folders:
        above = path.rpartition("/")[0] or "/"
        if above == path:
            return False
        path = above
    return True


def is_below_any(path: str, folders: Iterable[str]) -> bool:
    """Whether a canonical path is one of the folders or lies in one."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
