"""The Markdown files of one kind, such as commands: the folders that may have them, and how they are read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from quorum.domain.instructions.instruction import InstructionScope
from quorum.infrastructure.config.paths import list_folders_up_to_repository, locate_user_file
from quorum.infrastructure.files.opened_path import read_opened_path, refuse_held


def read_bytes(
    path: Path,
    *,
    inside: Path | None,
    limit: int,
    is_sensitive: Callable[[str], bool] = lambda _path: False,
) -> bytes | None:
    """The first `limit` bytes of a regular file. Blocks, and never waits for a pipe.

    None where there is none, it cannot be read, or it is sensitive or lies elsewhere than `inside` once links
    are followed.
    """

    def may_be_read(found: str) -> bool:
        return (inside is None or Path(found).is_relative_to(inside)) and not is_sensitive(found)

    try:
        canonical = Path(os.path.realpath(path))  # raises where a link is changed while it is followed
        if not may_be_read(str(canonical)):
            return None
        refuse_held(canonical)
        descriptor = os.open(canonical, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        # A link may have been put into the way since it was resolved.
        opened = read_opened_path(descriptor)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or not may_be_read(opened or str(canonical)):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(limit)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def decode_text(data: bytes) -> str:
    """Bytes as text, whatever they are; lines end in a newline alone."""
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")


class ContentPlaces:
    """Those that hold in a working directory: `names` in each folder from the project's root to there, then the
    person's own, the same names in their home and `own` beside their settings; none at all if `is_off`."""

    def __init__(
        self, cwd: Path, environ: Mapping[str, str], names: Sequence[str], *, own: str, is_off: bool = False
    ) -> None:
        chain = list_folders_up_to_repository(Path(os.path.realpath(cwd)))[::-1]
        self.project = chain[0]
        self._home = Path(environ["HOME"]) if Path(environ.get("HOME", "")).is_absolute() else None
        own_folders = [self._home / name for name in names] if self._home is not None else []
        if (settings := locate_user_file(environ)) is not None:
            own_folders.append(settings.parent / own)
        # Where the project is the home folder, what is in it is the person's own.
        folders = [folder / name for folder in chain for name in names if folder / name not in own_folders]
        found = (
            *((folder, InstructionScope.PROJECT) for folder in folders),
            *((folder, InstructionScope.USER) for folder in own_folders),
        )
        self.folders = () if is_off else found

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


_SUFFIX = ".md"
_MOST_FILES = 500  # of one folder
_MOST_ENTRIES = 5_000  # that are looked at in it
_DEEPEST = 4


def list_markdown_files(folder: Path) -> Iterator[Path]:
    """The Markdown files below a folder, in order, as many as are read. Linked folders are not entered."""
    waiting, looked_at, given = [folder], 0, 0
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as listing:
                entries = sorted(
                    (entry for entry, _ in zip(listing, range(_MOST_ENTRIES), strict=False)), key=_derive_name
                )
        except OSError:
            continue
        looked_at += len(entries)
        deeper = []
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                deeper.append(here / entry.name)
            elif entry.name.endswith(_SUFFIX):
                if given == _MOST_FILES:
                    return
                given += 1
                yield here / entry.name
        if looked_at > _MOST_ENTRIES:
            return
        if len(here.relative_to(folder).parts) < _DEEPEST:
            waiting += reversed(deeper)


def _derive_name(entry: os.DirEntry[str]) -> str:
    return entry.name
