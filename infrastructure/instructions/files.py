"""Finds and reads instruction files: the person's own, and a project's from its root to where work is done."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from quorum.domain.instructions.instruction import Instruction, InstructionFile, InstructionScope
from quorum.infrastructure.config.paths import list_folders_up_to_repository, locate_user_file
from quorum.infrastructure.instructions.text_file import decode_text, read_bytes

NAMES = ("AGENTS.md", "CLAUDE.md")
"""The names of an instruction file, the first that a folder has counts."""

LARGEST_FILE = 1_000_000
"""How many bytes of a file are read."""

_DEEPEST_IMPORT = 5
_MOST_IMPORTS = 50  # of one instruction file
_CODE = re.compile(r"^(`{3,}|~{3,}).*?^\1[`~]*[ \t]*$|(`+)(?!`).+?(?<!`)\2(?!`)", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(r"(?<![\w@/.-])@(~?[\w./][\w./+-]*)")


class InstructionFiles:
    """The instruction files that hold in a working directory. All methods block, and raise nothing.

    A file that cannot be read, is not a regular file, or lies outside of the project that links to it, does not
    count. `is_sensitive` answers whether a path may not be read unasked: no such file is ever imported.
    `folders` are the roots of the workspace, the working directory first, where there may be more.
    """

    def __init__(
        self,
        cwd: Path,
        environ: Mapping[str, str],
        is_sensitive: Callable[[str], bool],
        folders: Sequence[str] = (),
    ) -> None:
        self._folders = folders
        self._cwd = Path(os.path.realpath(cwd))
        self._chain = list_folders_up_to_repository(self._cwd)[::-1]
        self._is_sensitive = is_sensitive
        settings = locate_user_file(environ)
        self._user_folder = settings.parent if settings is not None else None

    @property
    def project(self) -> Path:
        """The root of the project: of the repository, or the working directory where there is none."""
        return self._chain[0]

    @property
    def user_folder(self) -> Path | None:
        """The folder of the person's own file; None where there is no home folder."""
        return self._user_folder

    @property
    def _added(self) -> tuple[Path, ...]:
        return tuple(map(Path, self._folders[1:]))

    def _find_project(self, path: Path) -> Path:
        """The folder that a project's file must not lead out of."""
        return next((root for root in self._added if path.is_relative_to(root)), self.project)

    def read_at_start(self) -> tuple[InstructionFile, ...]:
        """The person's own, those of folders added to the workspace, then those from the project's root down to
        the working directory."""
        user = self.read(self._user_folder, InstructionScope.USER) if self._user_folder is not None else None
        found = [self.read(folder, InstructionScope.PROJECT) for folder in (*self._added, *self._chain)]
        return tuple(file for file in (user, *found) if file is not None)

    def find_below(self, folders: Collection[str]) -> tuple[InstructionFile, ...]:
        """Those between a root of the workspace and these folders of it, the outermost first."""
        found = [self.read(folder, InstructionScope.PROJECT) for folder in self._list_folders_to(folders)]
        return tuple(file for file in found if file is not None)

    def _list_folders_to(self, targets: Iterable[str]) -> list[Path]:
        folders: set[Path] = set()
        for target in targets:
            folder = Path(target)
            root = next((root for root in (self._cwd, *self._added) if folder.is_relative_to(root)), folder)
            while folder != root:
                folders.add(folder)
                folder = folder.parent
        return sorted(folders, key=lambda each: (len(each.parts), str(each)))

    def read(self, folder: Path, scope: InstructionScope) -> InstructionFile | None:
        """The file that counts in this folder, with its imports; None where there is none, or it is blank."""
        inside = self._find_project(folder) if scope is InstructionScope.PROJECT else None
        for name in NAMES:
            path = folder / name
            text = self._read_text(path, inside)
            if text is not None and text.strip():
                first = Instruction(file=str(path), label=self._label(path, scope), text=text)
                imported = self._find_imports(first, scope, depth=1, seen={os.path.realpath(path)})
                return InstructionFile(folder=str(folder), scope=scope, parts=(first, *imported))
        return None

    def _find_imports(
        self, importer: Instruction, scope: InstructionScope, *, depth: int, seen: set[str]
    ) -> Iterator[Instruction]:
        """The files that a text names with @, each followed by those that it names itself."""
        if depth > _DEEPEST_IMPORT:
            return
        inside = self._find_project(Path(importer.file)) if scope is InstructionScope.PROJECT else None
        for name in _IMPORT.findall(_CODE.sub("", importer.text)):
            path = _resolve(name.rstrip("."), Path(importer.file).parent)
            canonical = os.path.realpath(path)
            if canonical in seen or len(seen) > _MOST_IMPORTS:
                continue
            text = self._read_text(path, inside)
            if text is None:
                continue
            seen.add(canonical)
            part = Instruction(
                file=str(path), label=self._label(path, scope), text=text, imported_by=importer.label
            )
            yield part
            yield from self._find_imports(part, scope, depth=depth + 1, seen=seen)

    def _read_text(self, path: Path, inside: Path | None) -> str | None:
        """The beginning of a regular file as text; None where there is none that may be read."""
        data = read_bytes(path, inside=inside, limit=LARGEST_FILE, is_sensitive=self._is_sensitive)
        return decode_text(data) if data is not None else None

    def _label(self, path: Path, scope: InstructionScope) -> str:
        base = self.project if scope is InstructionScope.PROJECT else Path.home()
        plain = os.path.normpath(path)
        if not Path(plain).is_relative_to(base):
            return plain
        relative = os.path.relpath(plain, base)
        return relative if scope is InstructionScope.PROJECT else f"~/{relative}"


def _resolve(name: str, folder: Path) -> Path:
    return Path(os.path.normpath(folder / os.path.expanduser(name)))
