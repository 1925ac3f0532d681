"""Whether a git repository can be looked at without anything of its own being run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from quorum.infrastructure.execution.shell.git_index import IndexSummary, read_index
from quorum.infrastructure.execution.shell.repository_settings import (
    UnsafeRepository,
    read_text,
    require_harmless_settings,
)

_HEAD = re.compile(r"(?:ref: refs/[^\s\0]+|[0-9a-f]{40}|[0-9a-f]{64})\n?")
# Of a repository's own folder, not read where only something is looked at, unless a revision is called like a
# file in it: hooks are switched off, submodules not entered, and the other two belong to other programs. In all
# of these links are usual.
_NOT_READ = frozenset({"hooks", "modules", "annex", "lfs"})
_MONITOR = "fsmonitor--daemon.ipc"
_MOST_ENTRIES = 200_000


class Repository(Struct, frozen=True):
    """A repository whose settings are known to run nothing.

    `top` is its working tree, `shared` what linked working trees have in common, objects and settings among it;
    usually that is `git_folder` itself.
    """

    top: str
    git_folder: str
    shared: str

    def require_own_state(self, named: frozenset[str] = frozenset()) -> None:
        """Raises UnsafeRepository where git would read another place for this repository.

        Git shows objects, and the state of merges, rebases and branches, as it finds them in the repository's
        folder, and follows links there. Looks at the names of all files in it, also in folders that are only
        read where they are `named`.
        """
        marker = os.path.join(self.top, ".git")
        is_own = self.shared == marker and not os.path.islink(marker)
        if not is_own and not self._is_linked_from(marker):
            raise UnsafeRepository(f"{marker} leads to a repository elsewhere, which git would show")
        for number, entry in enumerate(self._list_state(_NOT_READ - named)):
            if number == _MOST_ENTRIES:
                raise UnsafeRepository(f"{self.shared} has too many files to look through")
            _require_own(entry)
            if entry.name == "commondir" and _find_shared_folder(os.path.dirname(entry.path)) != self.shared:
                raise UnsafeRepository(f"{entry.path} leads to a repository elsewhere, which git would show")
        alternates = os.path.join(self.shared, "objects", "info", "alternates")
        if os.path.lexists(alternates):
            raise UnsafeRepository(f"{alternates} names another repository, which git may show")

    def _list_state(self, passed_by: frozenset[str]) -> Iterator[os.DirEntry[str]]:
        """All that is in the repository's folder, as far as git reads it where it only looks."""
        folders = {self.shared, self.git_folder}
        while folders:
            folder = folders.pop()
            with os.scandir(folder) as entries:
                for entry in entries:
                    if folder == self.shared and entry.name in passed_by:
                        continue
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        folders.add(entry.path)

    def _is_linked_from(self, marker: str) -> bool:
        """Whether the repository knows the working tree as its own: no file in the tree can feign that."""
        if os.path.dirname(self.git_folder) != os.path.join(self.shared, "worktrees"):
            return False
        back = read_text(os.path.join(self.git_folder, "gitdir")).rstrip("\r\n")
        return os.path.realpath(os.path.join(self.git_folder, back)) == marker

    def require_no_linked_folders(self, files: Iterable[str]) -> None:
        """Raises UnsafeRepository where a folder of tracked files is now a link: git may follow it."""
        folders: set[str] = set()
        for file in files:
            while (file := file.rpartition("/")[0]) and file not in folders:
                folders.add(file)
        paths = (os.path.join(self.top, folder) for folder in sorted(folders))
        if linked := next((path for path in paths if os.path.islink(path)), None):
            raise UnsafeRepository(f"git may read files behind the symbolic link {linked}")

    def read_index(self) -> IndexSummary:
        """What its index names. Raises UnsafeRepository where that cannot be read."""
        path = os.path.join(self.git_folder, "index")
        try:
            return read_index(path)
        except FileNotFoundError:
            return IndexSummary((), ())
        except (OSError, ValueError) as error:
            raise UnsafeRepository(f"{path} cannot be read: {error}") from error


def list_named_folders(words: Iterable[str]) -> frozenset[str]:
    """The folders of a repository that words may name a file of: git takes any such file for a revision."""
    return frozenset(name for name in _NOT_READ if any(f"{name}/" in word.casefold() for word in words))


def find_repository(folder: str) -> Repository | None:
    """The repository that git would use in a folder, or None. Raises UnsafeRepository.

    Every repository on the way up is looked at, so that it does not matter which of them git takes.
    """
    found = None
    for place in _list_parents(folder):
        marker = os.path.join(place, ".git")
        if os.path.lexists(marker):
            git_folder = _find_git_folder(marker)
            shared = _find_shared_folder(git_folder)
            _require_harmless(git_folder, shared, place)
            if found is None:
                _require_whole(git_folder, shared)
                found = Repository(place, git_folder, shared)
        if _holds(place, "HEAD") and (_holds(place, "commondir") or _holds(place, "objects", "refs")):
            raise UnsafeRepository(f"{place} looks like a bare repository, or the inside of one")
    return found


def _list_parents(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _find_git_folder(marker: str) -> str:
    """The folder behind a `.git`, which for linked working trees is a file that names it."""
    if os.path.isdir(marker):
        return marker
    text = read_text(marker)
    if not text.startswith("gitdir: "):
        raise UnsafeRepository(f"{marker} is not a repository")
    return os.path.realpath(os.path.join(os.path.dirname(marker), text[len("gitdir: ") :].rstrip("\r\n")))


def _find_shared_folder(git_folder: str) -> str:
    common = os.path.join(git_folder, "commondir")
    if not os.path.lexists(common):
        return git_folder
    return os.path.realpath(os.path.join(git_folder, read_text(common).rstrip("\r\n")))


def _require_own(entry: os.DirEntry[str]) -> None:
    if entry.is_symlink():
        raise UnsafeRepository(f"{entry.path} is a symbolic link, by which git may show what lies elsewhere")
    is_plain = entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
    # Reading a pipe waits for whoever writes it; the socket of git's own monitor is not read.
    if not is_plain and entry.name != _MONITOR:
        raise UnsafeRepository(f"{entry.path} is not a regular file, and git may wait for it")


def _holds(folder: str, *names: str) -> bool:
    return all(os.path.lexists(os.path.join(folder, name)) for name in names)


def _require_whole(git_folder: str, shared: str) -> None:
    """Git passes over what it does not take for a repository, and uses one above it. This is no less strict."""
    head = os.path.join(git_folder, "HEAD")
    folders = [os.path.join(shared, name) for name in ("objects", "refs")]
    is_whole = all(os.path.isdir(folder) and os.access(folder, os.X_OK) for folder in folders)
    if not is_whole or os.path.islink(head) or not _HEAD.fullmatch(read_text(head)):
        raise UnsafeRepository(f"{git_folder} is not a whole repository, and git may use another one above it")


def _require_harmless(git_folder: str, shared: str, top: str) -> None:
    for path in {os.path.join(shared, "config"), os.path.join(git_folder, "config.worktree")}:
        if os.path.lexists(path):
            require_harmless_settings(path, top)
