"""Whether a program is one of the system's, judging by where it lies and who could have put it there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import lru_cache

from quorum.infrastructure.files.workspace import escape_path

PROGRAM_FOLDERS = (
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    # Git puts its own in front of PATH for hooks and for whatever it starts.
    "/usr/lib/git-core",
    "/usr/libexec/git-core",
    "/usr/local/lib/git-core",
    "/usr/local/libexec/git-core",
    "/Library/Developer/CommandLineTools/usr/bin",
    "/Library/Developer/CommandLineTools/usr/libexec/git-core",
    "/opt/homebrew/bin",
    "/opt/homebrew/sbin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/home/linuxbrew/.linuxbrew/sbin",
    "/opt/local/bin",
    "/opt/local/sbin",
    "/opt/local/libexec/git-core",
    "/run/current-system/sw/bin",
)
# Below these, package managers keep each version of a program in a folder of its own.
_STORES = (
    "/nix/store",
    "/gnu/store",
    "/opt/homebrew/Cellar",
    "/usr/local/Cellar",
    "/home/linuxbrew/.linuxbrew/Cellar",
)
_LARGEST_RECORD = 16 << 20


def explain_foreign(program: str, folders: frozenset[str], *, person: int) -> str | None:
    """Why a program is none of the system's, a clause; None where it is. `folders` are canonical ones of it.

    Besides those, a program counts as the system's if nobody but root could have put it there. Where the person
    is root, that says nothing, and only the folders count. Of conda, what one of its packages brought counts.
    Raises OSError.
    """
    folder = os.path.realpath(os.path.dirname(program))
    if folder in folders or any(folder.startswith(f"{store}/") for store in _STORES):
        return None
    if _is_of_conda(folder, os.path.basename(program), person):
        return None
    if person == 0:
        return f"{escape_path(folder)} is not a folder of the system"
    return next(filter(None, map(_explain_not_roots, _list_places(os.path.realpath(program), folder))), None)


def _list_places(*paths: str) -> Iterator[str]:
    """Paths, with every folder above them."""
    for path in paths:
        yield path
        while path != "/":
            path = os.path.dirname(path)
            yield path


def _explain_not_roots(path: str) -> str | None:
    found = os.stat(path)
    if found.st_uid != 0:
        return f"{escape_path(path)} does not belong to root"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others than root may write {escape_path(path)}"
    return None


def _is_of_conda(folder: str, name: str, person: int) -> bool:
    """Whether a package of conda brought it: pip puts programs there as well, and of any name."""
    records = os.path.join(os.path.dirname(folder), "conda-meta")
    if os.path.basename(folder) != "bin" or not os.path.isfile(os.path.join(records, "history")):
        return False
    for place in (folder, records):
        found = os.stat(place)
        if found.st_uid not in (0, person) or found.st_mode & stat.S_IWOTH:
            return False
    return _is_recorded(records, name, os.stat(records).st_mtime_ns)


@lru_cache(maxsize=256)
def _is_recorded(records: str, name: str, changed: int) -> bool:
    """Whether a record of conda names a program; `changed` is when the folder of records last was."""
    wanted = f'"bin/{name}"'.encode()
    with os.scandir(records) as entries:
        files = [entry.path for entry in entries if entry.name.endswith(".json")]
    for path in files:
        with open(path, "rb") as file:
            if wanted in file.read(_LARGEST_RECORD):
                return True
    return False
