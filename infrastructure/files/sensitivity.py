"""Which files met during a search are sensitive, decided quickly for thousands of them."""

from __future__ import annotations

import os
import stat
from collections import deque

from quorum.domain.review.path_policy import NO_PLACES, PathPolicy, extract_last_names
from quorum.infrastructure.files.workspace import Location

_MOST_ENTRIES = 100_000


class Sensitivity:
    """The policy's answers below one folder.

    Whoever was let into a sensitive folder was asked about all that is in it: nothing below counts then.
    """

    def __init__(self, policy: PathPolicy, base: Location) -> None:
        self._policy = policy
        self._base = base.path
        self._asked = policy.is_sensitive(base.path)
        self._folders: dict[tuple[str, ...], bool] = {(): False}
        # The policy is only asked about names at which one of its patterns can end: one test instead of many.
        self._candidate = extract_last_names(policy.sensitive, copies=True)
        self._own = frozenset(policy.own)

    def covers(self, names: tuple[str, ...]) -> bool:
        """Whether the file with these names from the folder is sensitive and was not asked about."""
        return not self._asked and (self._covers_folder(names[:-1]) or self._is_sensitive(names))

    def _covers_folder(self, names: tuple[str, ...]) -> bool:
        known = self._folders.get(names)
        if known is None:
            known = self._covers_folder(names[:-1]) or self._is_sensitive(names)
            self._folders[names] = known
        return known

    def _is_sensitive(self, names: tuple[str, ...]) -> bool:
        path = os.path.join(self._base, *names) if self._own else ""
        if path in self._own:
            return True
        if self._policy.places is not NO_PLACES and self._policy.places.is_sensitive(
            path or os.path.join(self._base, *names)
        ):
            return True
        if not self._candidate.covers(names[-1]):
            return False
        return self._policy.is_sensitive(path or os.path.join(self._base, *names))


class SensitiveLinks:
    """Which files are sensitive by another of their names in the workspace.

    The workspace is looked through once, at the first file with several names, from the top downwards and up to
    100,000 entries.
    """

    def __init__(self, policy: PathPolicy) -> None:
        self._policy = policy
        self._found: dict[tuple[int, int], str] | None = None

    def find_name(self, status: os.stat_result) -> str | None:
        """The sensitive name of such a file."""
        if status.st_nlink == 1 or not stat.S_ISREG(status.st_mode):
            return None
        if self._found is None:
            self._found = {}
            for root in self._policy.roots:
                self._look_through(root, self._found)
        return self._found.get((status.st_dev, status.st_ino))

    def _look_through(self, root: str, found: dict[tuple[int, int], str]) -> None:
        sensitivity = Sensitivity(self._policy, Location(root, (), root))
        waiting, left = deque[tuple[str, ...]]([()]), _MOST_ENTRIES
        while waiting and left > 0:
            above = waiting.popleft()
            try:
                with os.scandir(os.path.join(root, *above)) as entries:
                    for entry in entries:
                        left -= 1
                        names = (*above, entry.name)
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(names)
                        elif sensitivity.covers(names):
                            status = entry.stat(follow_symlinks=False)
                            found[(status.st_dev, status.st_ino)] = entry.path
            except OSError:  # gone meanwhile, or closed to us
                continue
