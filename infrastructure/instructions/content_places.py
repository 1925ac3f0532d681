"""The folders in which a project and a person keep files of one kind, such as commands or skills."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from quorum.domain.instructions.instruction import InstructionScope
from quorum.infrastructure.config.paths import list_folders_up_to_repository, locate_user_file


class ContentPlaces:
    """Those that hold in a working directory: `names` in each folder from the project's root to there, then the
    person's own, the same names in their home and `own` beside their settings."""

    def __init__(self, cwd: Path, environ: Mapping[str, str], names: Sequence[str], *, own: str) -> None:
        chain = list_folders_up_to_repository(Path(os.path.realpath(cwd)))[::-1]
        self.project = chain[0]
        self._home = Path(environ["HOME"]) if Path(environ.get("HOME", "")).is_absolute() else None
        own_folders = [self._home / name for name in names] if self._home is not None else []
        if (settings := locate_user_file(environ)) is not None:
            own_folders.append(settings.parent / own)
        # Where the project is the home folder, what is in it is the person's own.
        folders = [folder / name for folder in chain for name in names if folder / name not in own_folders]
        self.folders = (
            *((folder, InstructionScope.PROJECT) for folder in folders),
            *((folder, InstructionScope.USER) for folder in own_folders),
        )

    def find_limit(self, scope: InstructionScope) -> Path | None:
        """The folder outside of which nothing of this scope is read; None where there is none."""
        return self.project if scope is InstructionScope.PROJECT else None

    def label(self, path: Path, scope: InstructionScope) -> str:
        """The short form of a path in one of the folders."""
        base = self.project if scope is InstructionScope.PROJECT else self._home
        if base is None or not path.is_relative_to(base):
            return str(path)
        relative = str(path.relative_to(base))
        return relative if scope is InstructionScope.PROJECT else f"~/{relative}"
