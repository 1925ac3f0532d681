"""Finding what must not be written, and what must not be read, in the workspace as it is now."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from domain.review.path_policy import PathPolicy, is_git_folder_name, last_names

MOST_ENTRIES = 50_000
MOST_FOUND = 300
# Not looked into: installed packages, which hold thousands of files and the certificates of authorities, but no
# secret of the person. Of repositories in them, only those at the top of a package are found.
_PACKAGES = frozenset({"node_modules", "site-packages", "dist-packages", ".tox", ".nox", "__pycache__"})
_GLOB = re.compile(r"[*?\[]")


@dataclass(slots=True)
class GuardedFiles:
    """What was found: canonical paths. `complete` is False where there was more than could be looked at.

    `absent` are protected names that the roots do not have, and that nothing keeps a command from making.
    """

    protected: list[str] = field(default_factory=list)
    sensitive: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    complete: bool = True


def find_guarded(
    folders: Iterable[str], policy: PathPolicy, *, entries: int = MOST_ENTRIES, most: int = MOST_FOUND
) -> GuardedFiles:
    """Look through folders for paths of the policy, breadth first: what lies near the top comes first.

    Neither sensitive folders nor `.git` are looked into, and links are not followed. Bounded by the number of
    `entries` looked at and of paths found of either kind; what the policy names at the top of a folder is found
    whatever else there is. Reads folders; call it off the event loop.
    """
    tops = tuple(dict.fromkeys(folders))
    return _Search(policy, entries, most).through(tops)


class _Search:
    def __init__(self, policy: PathPolicy, entries: int, most: int) -> None:
        self._policy = policy
        self._left = entries
        self._most = most
        self._is_protected = last_names(policy.protected)
        self._is_sensitive = last_names(policy.sensitive)
        self._is_either = last_names((*policy.protected, *policy.sensitive))
        self._found = GuardedFiles()
        self._met: set[str] = set()

    def through(self, tops: Sequence[str]) -> GuardedFiles:
        # Names that anybody could hide among thousands of others are asked for, not waited for.
        for top in tops:
            for path in _named(top, (*self._policy.protected, *self._policy.sensitive)):
                if os.path.lexists(path):
                    self._judge(path, os.path.basename(path), bound=False)
        self._found.absent += _absent(self._policy)
        waiting = deque(tops)
        while waiting and self._found.complete:
            waiting += self._folders_in(waiting.popleft())
        return self._found

    def _folders_in(self, folder: str) -> Iterator[str]:
        """Judges all that is in a folder, and yields the folders in it that are to be looked into."""
        is_packages = os.path.basename(folder) in _PACKAGES
        for entry in _entries(folder):
            if self._left == 0:
                self._found.complete = False
            if not self._found.complete:
                return
            self._left -= 1
            if is_packages:
                yield from self._scope(entry)
            elif not self._judge(entry.path, entry.name) and entry.is_dir(follow_symlinks=False):
                yield entry.path

    def _judge(self, path: str, name: str, *, bound: bool = True) -> bool:
        """Takes note of a path that is guarded; whether there is nothing more to look for below it."""
        if not self._is_either.match(name):
            return name == ".git"
        if self._is_sensitive.match(name) and self._policy.is_sensitive(path):
            self._note(path, self._found.sensitive, bound=bound)
            return True
        if self._is_protected.match(name) and self._policy.is_protected(path):
            self._note(path, self._found.protected, bound=bound)
        return is_git_folder_name(name)

    def _scope(self, package: os.DirEntry[str]) -> Iterator[str]:
        """A package: its repository counts, and in `@scope` are more of them."""
        if not package.is_dir(follow_symlinks=False):
            return
        repository = os.path.join(package.path, ".git")
        if os.path.lexists(repository):
            self._judge(repository, ".git")
        if package.name.startswith("@"):
            for inner in _entries(package.path):
                yield from self._scope(inner)

    def _note(self, path: str, found: list[str], *, bound: bool) -> None:
        real = os.path.realpath(path)
        if real in self._met:
            return
        if bound and len(found) >= self._most:
            self._found.complete = False
            return
        self._met.add(real)
        found.append(real)


def _entries(folder: str) -> Sequence[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as opened:
            return sorted(opened, key=lambda entry: entry.name)
    except OSError:  # gone meanwhile, or closed to us and so to the command
        return ()


def _named(folder: str, patterns: Iterable[str]) -> Iterator[str]:
    """The paths in a folder that patterns name without wildcards."""
    plain = (pattern.strip("/") for pattern in patterns if not _GLOB.search(pattern))
    return (os.path.join(folder, name) for name in plain if name)


def _absent(policy: PathPolicy) -> list[str]:
    paths = (path for root in policy.roots for path in _named(root, policy.protected))
    return [path for path in paths if not os.path.lexists(path)]
