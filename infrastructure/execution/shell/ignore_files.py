"""Whether the ignore files that ripgrep reads make it search hidden files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from infrastructure.execution.shell.git_index import read_regular
from infrastructure.execution.shell.person_settings import person_folders, person_settings

_NAMES = (".gitignore", ".ignore", ".rgignore")
# What a folder may hold that bears on the search below it.
RULE_FILES = frozenset({*_NAMES, ".git"})
_LARGEST = 1 << 20
# Later versions skip it, earlier ones take it for a part of the first pattern.
_BOM = b"\xef\xbb\xbf"
_GIT_FOLDER = b"gitdir: "
# As ripgrep finds the person's own ignore file in the settings of git.
_EXCLUDES_FILE = re.compile(rb'^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$', re.IGNORECASE | re.MULTILINE)


def reveals_hidden(folder: str) -> bool:
    """Whether a rule that applies in a folder, from above or from the person's settings, includes hidden files.

    Raises OSError and ValueError where an ignore file cannot be read.
    """
    if any(_includes(file) for file in _of_person()):
        return True
    while not reveals_below(folder):
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
    return True


def reveals_below(folder: str) -> bool:
    """Whether an ignore file of this folder may include hidden files. Raises OSError and ValueError."""
    if any(_includes(os.path.join(folder, name)) for name in _NAMES):
        return True
    marker = os.path.join(folder, ".git")
    if not os.path.isfile(marker):
        return _includes(os.path.join(marker, "info", "exclude"))
    repositories = _repositories_behind(marker)
    if not all(map(os.path.isabs, repositories)):
        # Versions differ in what it is relative to.
        return True
    return any(_includes(os.path.join(repository, "info", "exclude")) for repository in repositories)


def _includes(ignore_file: str) -> bool:
    if not os.path.lexists(ignore_file):
        return False
    lines = read_regular(ignore_file, _LARGEST).splitlines()
    return any(line.removeprefix(_BOM).startswith(b"!") for line in lines)


def _repositories_behind(marker: str) -> list[str]:
    """The folders whose rules may count, which a `.git` file names."""
    folder = _first_line(marker)
    if not folder.startswith(_GIT_FOLDER):
        return []
    repository = os.fsdecode(folder[len(_GIT_FOLDER) :])
    common = os.path.join(repository, "commondir")
    if not os.path.isabs(repository) or not os.path.lexists(common):
        return [repository]
    shared = os.fsdecode(_first_line(common))
    return [repository, os.path.join(repository, shared) if shared.startswith(".") else shared]


def _first_line(file: str) -> bytes:
    return read_regular(file, _LARGEST).partition(b"\n")[0].rstrip(b"\r")


def _of_person() -> Iterator[str]:
    """The ignore files for all repositories of the person."""
    for folder in person_folders():
        yield os.path.join(folder, "ignore")
    for file in filter(os.path.lexists, person_settings()):
        for named in _EXCLUDES_FILE.findall(read_regular(file, _LARGEST)):
            yield os.fsdecode(named).replace("~", os.path.expanduser("~"), 1)
