"""Which programs are the system's own, so that their names say what they are."""

from __future__ import annotations

import os
from collections.abc import Sequence

from quorum.application.program_lookup import find_as_shell_does
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.shell.command_spec import NotReadOnly
from quorum.domain.shell.read_only_commands import SHELL_BUILTINS
from quorum.infrastructure.execution.shell.program_folders import PROGRAM_FOLDERS, explain_foreign
from quorum.infrastructure.files.workspace import escape_path

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

    def require(self, name: str, *, by_shell: bool = True) -> None:
        """Raises NotReadOnly where the name would run something that is not the system's.

        `by_shell`: the shell runs it, which has commands of its own.
        """
        if by_shell and name in SHELL_BUILTINS:
            return
        found = find_as_shell_does(name, self._path)
        # One that is not there does nothing.
        if found is None:
            return
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

    def _find_entry_in_workspace(self) -> str | None:
        """The first folder of PATH in which the workspace may put programs; a relative one is such a folder."""
        return next((entry for entry in self._path.split(os.pathsep) if self._is_in_workspace(entry)), None)

    def _is_in_workspace(self, entry: str) -> bool:
        return not os.path.isabs(entry) or self._policy.is_inside(os.path.realpath(entry))


def _is_script(path: str) -> bool:
    """Whether the system or the shell would have another program read it. Raises OSError."""
    with open(path, "rb") as file:
        return not file.read(4).startswith(_BINARY)
