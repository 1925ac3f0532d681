"""What the path operands of a command lead to: the files it would read, links followed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator

from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.shell.command_spec import PathUse, Reading
from quorum.domain.shell.starting_readers import ONE_WORD
from quorum.infrastructure.execution.shell.git_index import read_regular
from quorum.infrastructure.execution.shell.repository import (
    is_git_settings,
    list_person_folders,
    list_person_settings,
    may_be_git_settings,
    may_hold_secret,
)
from quorum.infrastructure.files.searching import SensitiveLinks, Sensitivity
from quorum.infrastructure.files.workspace import Location, escape_path

_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
# What a folder may hold that bears on the search below it.
RULE_FILES = frozenset({*_IGNORE_FILES, ".git"})
_LARGEST_RULES = 1 << 20
# Later versions skip it, earlier ones take it for a part of the first pattern.
_BOM = b"\xef\xbb\xbf"
_GIT_FOLDER = b"gitdir: "
# As ripgrep finds the person's own ignore file in the settings of git.
_EXCLUDES_FILE = re.compile(rb'^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$', re.IGNORECASE | re.MULTILINE)

_MOST_ENTRIES = 50_000
_NOTHING = "/dev/null"


class OutOfReach(Exception):
    """A path that must be asked about. The text says which and why; `path` is where it leads."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


class Reach:
    """Judges the paths of one command line. It looks at a bounded number of files in all."""

    def __init__(self, policy: PathPolicy, most_entries: int = _MOST_ENTRIES) -> None:
        self._policy = policy
        self._left = most_entries
        self._links = SensitiveLinks(policy)
        self._searched: set[tuple[str, PathUse]] = set()

    def require_readable(self, use: PathUse, folder: str) -> str:
        """The canonical path a word leads to from a folder. Raises OutOfReach where it must be asked about."""
        path = os.path.realpath(os.path.join(folder, use.path))
        if path == _NOTHING:
            return path
        if not self._policy.is_inside(path):
            raise OutOfReach(f"it reads {escape_path(path)}, outside the workspace", path)
        # A link is judged by its own name as well: it may be called like what must be asked about.
        named = os.path.normpath(os.path.join(folder, use.path))
        if self._policy.is_sensitive(path) or self._policy.is_sensitive(named):
            raise OutOfReach(f"it reads {escape_path(path)}, which is sensitive", path)
        if use.reading is not Reading.NAMES:
            self._require_kind(path, use)
        return path

    def _require_kind(self, path: str, use: PathUse) -> None:
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        if stat.S_ISDIR(status.st_mode):
            if use.reading is Reading.FILE:
                raise OutOfReach(f"{escape_path(path)} is a folder, and what is read of it is not known", path)
            self._require_nothing_sensitive(path, use)
        elif not stat.S_ISREG(status.st_mode):
            raise OutOfReach(f"{escape_path(path)} is not a regular file", path)
        elif is_git_settings(path):
            raise OutOfReach(f"it reads {escape_path(path)}, settings of git, in which tokens may stand", path)
        self._require_no_sensitive_name(path, status)

    def _require_no_sensitive_name(self, path: str, status: os.stat_result) -> None:
        if (secret := self._links.find_name(status)) is not None:
            raise OutOfReach(f"{escape_path(path)} is another name of {escape_path(secret)}, sensitive", secret)

    def _require_nothing_sensitive(self, folder: str, use: PathUse) -> None:
        if (folder, use) in self._searched:
            return
        if use.reading is Reading.VISIBLE_BELOW and not reveals_hidden(folder):
            try:
                self._look_through(folder, use.only, skips_hidden=True)
            except _Revealed:
                self._look_through(folder, use.only, skips_hidden=False)
        else:
            follows_links = use.reading is Reading.ALL_LINKED
            self._look_through(
                folder, use.only, skips_hidden=False, follows_links=follows_links, as_words=use.as_words
            )
        self._searched.add((folder, use))

    def _look_through(
        self,
        folder: str,
        only: tuple[str, ...],
        *,
        skips_hidden: bool,
        follows_links: bool = False,
        as_words: bool = False,
    ) -> None:
        sensitivity = Sensitivity(self._policy, Location(folder, (), folder))
        for names in _walk_below(folder, only, skips_hidden=skips_hidden):
            self._left -= 1
            if self._left < 0:
                raise OutOfReach(f"{escape_path(folder)} has too many files to look through", folder)
            is_selected = not only or names[-1].endswith(only)
            if follows_links and (is_selected or os.path.isdir(os.path.join(folder, *names))):
                path = os.path.join(folder, *names)
                if as_words and not ONE_WORD.fullmatch(names[-1]):
                    raise OutOfReach(f"xargs would take {escape_path(path)} apart", path)
                self._require_links_inside(path, folder)
            if not is_selected:
                continue
            is_sensitive, path = sensitivity.covers(names), os.path.join(folder, *names)
            if is_sensitive:
                raise OutOfReach(f"it would also read {escape_path(path)}, which is sensitive", path)
            self._require_no_sensitive_name(path, os.lstat(path))
            if not may_be_git_settings(names[-1]):
                continue
            if is_git_settings(path) and os.path.isfile(path) and may_hold_secret(path):
                raise OutOfReach(f"it would also read {escape_path(path)}, in which a token may stand", path)

    def _require_links_inside(self, path: str, folder: str) -> None:
        """A link must lead to what is looked through as well, or to a single file that may be read."""
        if not os.path.islink(path):
            return
        target = os.path.realpath(path)
        if not self._policy.is_inside(target) or self._policy.is_sensitive(target):
            raise OutOfReach(f"it would follow the symbolic link {escape_path(path)}", target)
        if os.path.isdir(target):
            if target != folder and not target.startswith(f"{folder}/"):
                raise OutOfReach(f"it would follow the symbolic link {escape_path(path)}", target)
        elif os.path.exists(target):
            self._require_kind(target, PathUse(target, Reading.FILE))


class _Revealed(Exception):
    """An ignore file takes hidden files in again."""


def _walk_below(folder: str, only: tuple[str, ...], *, skips_hidden: bool) -> Iterator[tuple[str, ...]]:
    """The names from a folder to all that is below it. Raises _Revealed where hidden ones cannot be skipped."""
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        above = waiting.pop()
        with os.scandir(os.path.join(folder, *above)) as entries:
            for entry in entries:
                if skips_hidden and entry.name in RULE_FILES and reveals_below(os.path.dirname(entry.path)):
                    raise _Revealed
                # What a pattern selects is read, hidden or not.
                if skips_hidden and entry.name.startswith(".") and not (only and entry.name.endswith(only)):
                    continue
                names = (*above, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(names)
                yield names


def reveals_hidden(folder: str) -> bool:
    """Whether a rule that applies in a folder, from above or from the person's settings, includes hidden files.

    Raises OSError and ValueError where an ignore file cannot be read.
    """
    if any(_includes(file) for file in _list_person_ignore_files()):
        return True
    while not reveals_below(folder):
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
    return True


def reveals_below(folder: str) -> bool:
    """Whether an ignore file of this folder may include hidden files. Raises OSError and ValueError."""
    if any(_includes(os.path.join(folder, name)) for name in _IGNORE_FILES):
        return True
    marker = os.path.join(folder, ".git")
    if not os.path.isfile(marker):
        return _includes(os.path.join(marker, "info", "exclude"))
    repositories = _list_linked_repositories(marker)
    if not all(map(os.path.isabs, repositories)):
        # Versions differ in what it is relative to.
        return True
    return any(_includes(os.path.join(repository, "info", "exclude")) for repository in repositories)


def _includes(ignore_file: str) -> bool:
    if not os.path.lexists(ignore_file):
        return False
    lines = read_regular(ignore_file, _LARGEST_RULES).splitlines()
    return any(line.removeprefix(_BOM).startswith(b"!") for line in lines)


def _list_linked_repositories(marker: str) -> list[str]:
    """The folders whose rules may count, which a `.git` file names."""
    folder = _read_first_line(marker)
    if not folder.startswith(_GIT_FOLDER):
        return []
    repository = os.fsdecode(folder[len(_GIT_FOLDER) :])
    common = os.path.join(repository, "commondir")
    if not os.path.isabs(repository) or not os.path.lexists(common):
        return [repository]
    shared = os.fsdecode(_read_first_line(common))
    return [repository, os.path.join(repository, shared) if shared.startswith(".") else shared]


def _read_first_line(file: str) -> bytes:
    return read_regular(file, _LARGEST_RULES).partition(b"\n")[0].rstrip(b"\r")


def _list_person_ignore_files() -> Iterator[str]:
    """The ignore files for all repositories of the person."""
    for folder in list_person_folders():
        yield os.path.join(folder, "ignore")
    for file in filter(os.path.lexists, list_person_settings()):
        for named in _EXCLUDES_FILE.findall(read_regular(file, _LARGEST_RULES)):
            yield os.fsdecode(named).replace("~", os.path.expanduser("~"), 1)
