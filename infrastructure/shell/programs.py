"""Which programs are the system's own, so that their names say what they are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from domain.command_rules import NotReadOnly
from domain.path_policy import PathPolicy
from domain.read_only_commands import SHELL_BUILTINS
from infrastructure.tools.workspace import shown

PROGRAM_FOLDERS = (
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/opt/homebrew/bin",
    "/run/current-system/sw/bin",
)


class SystemPrograms:
    """Finds programs as a command would, and vouches for those in the system's folders.

    `path` is the PATH that commands are given.
    """

    def __init__(self, path: str, policy: PathPolicy, folders: Sequence[str] = PROGRAM_FOLDERS) -> None:
        self._path = path
        self._policy = policy
        self._folders = frozenset(os.path.realpath(folder) for folder in folders)

    def require(self, name: str) -> None:
        """Raises NotReadOnly where the name would run something that is not the system's."""
        if name in SHELL_BUILTINS:
            return
        found = shutil.which(name, path=self._path)
        # One that is not there does nothing.
        if found is None:
            return
        if os.path.realpath(os.path.dirname(found)) not in self._folders:
            raise NotReadOnly(f"{name} would run {shown(found)}, which is none of the system's programs")
        if self._policy.is_inside(os.path.realpath(found)):
            raise NotReadOnly(f"{name} would run {shown(found)}, which lies in the workspace")
