"""Which files a search leaves out because ignore files say so."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import re2
from msgspec import Struct

from quorum.domain.errors import ToolError
from quorum.infrastructure.files.workspace import open_regular

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# In rising order of precedence within one folder.
_FILES = (".gitignore", ".ignore")
_LARGEST = 1024 * 1024


class _Level(Struct, frozen=True):
    """The patterns of one file, which hold below the folder `depth` names down from the root."""

    depth: int
    spec: GitIgnoreSpec


class IgnoreRules(Struct, frozen=True):
    """The ignore files from a root down to some folder; the deepest that speaks of an entry decides."""

    levels: tuple[_Level, ...] = ()

    def enter(self, folder: int, names: Iterable[str], depth: int) -> IgnoreRules:
        """The rules inside an open folder that lies `depth` names below the root and holds `names`."""
        held = frozenset(names)
        texts = [_read_exclude(folder)] if ".git" in held else []
        texts += [_read_ignore_file(name, folder) for name in _FILES if name in held]
        return IgnoreRules((*self.levels, *(_Level(depth, _parse_spec(text)) for text in texts if text)))

    def ignore(self, names: tuple[str, ...], *, is_folder: bool) -> bool:
        """Whether the entry with these names from the root is left out."""
        for level in reversed(self.levels):
            path = "/".join(names[level.depth :]) + ("/" if is_folder else "")
            # A name that is no valid text cannot be matched as it is; no pattern can mean it either.
            include = level.spec.check_file(path.encode("utf-8", "replace").decode("utf-8")).include
            if include is not None:
                return include
        return False


def _parse_spec(text: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # not every process meets an ignore file

    lines = [line.removesuffix("\r") for line in text.split("\n")]
    try:
        return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error, re2.error):
        # Like git, leave out the lines that mean nothing, and keep the rest.
        return GitIgnoreSpec.from_lines(line for line in lines if _is_pattern(line))


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error, re2.error):
        return False
    return True


def _read_exclude(repository: int) -> str:
    """The text of .git/info/exclude; a .git that is a file or a link has none of its own."""
    opened = [os.dup(repository)]
    try:
        for name in (".git", "info"):
            opened.append(
                os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=opened[-1])
            )
        return _read_ignore_file("exclude", opened[-1])
    except OSError:
        return ""
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _read_ignore_file(name: str, folder: int) -> str:
    """The text of an ignore file. One that cannot be read, or is a link, rules nothing, as for git."""
    try:
        descriptor = open_regular(name, folder, name)
    except (OSError, ToolError):
        return ""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_LARGEST).decode("utf-8-sig", "replace")
