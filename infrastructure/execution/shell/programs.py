"""Which programs are the system's own, by where they lie and who could have put them there.

Only of those do the names say what they are.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from functools import lru_cache

from quorum.application.program_lookup import find_as_shell_does
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.shell.command_spec import NotReadOnly
from quorum.domain.shell.read_only_commands import SHELL_BUILTINS
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


# ELF, and Mach-O in its byte orders, alone and as one file for several processors.
_BINARY = (
    b"\x7fELF",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
)


class SystemPrograms:
    """Finds programs as a command would, and vouches for those in the system's folders.

    `path` is the PATH that commands are given.
    """

    def __init__(self, path: str, policy: PathPolicy, folders: Sequence[str] = PROGRAM_FOLDERS) -> None:
        self._path = path
        self._policy = policy
        self._folders = frozenset(os.path.realpath(folder) for folder in folders)

    def require(self, name: str, *, by_shell: bool = True) -> str | None:
        """Where a program of the system lies. Raises NotReadOnly where the name would run another one.

        `by_shell`: the shell runs it, which has commands of its own.
        """
        if by_shell and name in SHELL_BUILTINS:
            return None
        found = find_as_shell_does(name, self._path)
        # One that is not there does nothing.
        if found is None:
            return None
        if why := explain_foreign(found, self._folders, person=os.geteuid()):
            raise NotReadOnly(
                f"{name} would run {escape_path(found)}, which is none of the system's programs: {why}"
            )
        if self._policy.is_inside(os.path.realpath(found)):
            raise NotReadOnly(f"{name} would run {escape_path(found)}, which lies in the workspace")
        if _is_script(found) and (entry := self._find_entry_in_workspace()) is not None:
            raise NotReadOnly(
                f"{name} is a script, which would look for programs in {escape_path(entry)}, in the workspace"
            )
        return found

    def _find_entry_in_workspace(self) -> str | None:
        """The first folder of PATH in which the workspace may put programs; a relative one is such a folder."""
        return next((entry for entry in self._path.split(os.pathsep) if self._is_in_workspace(entry)), None)

    def _is_in_workspace(self, entry: str) -> bool:
        return not os.path.isabs(entry) or self._policy.is_inside(os.path.realpath(entry))


def _is_script(path: str) -> bool:
    """Whether the system or the shell would have another program read it. Raises OSError."""
    with open(path, "rb") as file:
        return not file.read(4).startswith(_BINARY)
