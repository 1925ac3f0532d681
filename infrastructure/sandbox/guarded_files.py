"""Finding what must not be written, and what must not be read, in the workspace as it is now."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import translate

from domain.path_policy import PathPolicy

MOST_ENTRIES = 30_000
MOST_FOUND = 400
# Not looked into: a repository's own store, and installed packages, which hold thousands of files and the
# certificates of authorities, but no secret of the person.
_SKIPPED = frozenset({".git", "node_modules", "site-packages", "dist-packages", ".tox", ".nox", "__pycache__"})
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
    `entries` looked at and of paths found. Reads folders; call it off the event loop.
    """
    found = GuardedFiles(absent=_absent(policy))
    is_protected, is_sensitive = _ends(policy.protected), _ends(policy.sensitive)
    waiting = deque(dict.fromkeys(folders))
    while waiting and found.complete:
        for entry in _entries(waiting.popleft()):
            if entries == 0 or len(found.protected) + len(found.sensitive) == most:
                found.complete = False
                break
            entries -= 1
            name = entry.name.casefold()
            if is_sensitive.match(name) and policy.is_sensitive(entry.path):
                found.sensitive.append(os.path.realpath(entry.path))
                continue
            if is_protected.match(name) and policy.is_protected(entry.path):
                found.protected.append(os.path.realpath(entry.path))
            if entry.name not in _SKIPPED and entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
    return found


def _entries(folder: str) -> Sequence[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as opened:
            return sorted(opened, key=lambda entry: entry.name)
    except OSError:  # gone meanwhile, or closed to us and so to the command
        return ()


def _ends(patterns: Iterable[str]) -> re.Pattern[str]:
    """Fits the last names of patterns: one test for most entries, which fit none."""
    ends = [pattern.strip("/").rpartition("/")[2].casefold() for pattern in patterns]
    return re.compile("|".join(translate(end) for end in ends if end) or r"(?!)")


def _absent(policy: PathPolicy) -> list[str]:
    plain = [pattern.strip("/") for pattern in policy.protected if not _GLOB.search(pattern)]
    paths = (os.path.join(root, name) for root in policy.roots for name in plain if name)
    return [path for path in paths if not os.path.lexists(path)]
