"""Which files met during a search are sensitive, decided quickly for thousands of them."""

from __future__ import annotations

import os

from domain.review.path_policy import PathPolicy, extract_last_names
from infrastructure.files.workspace import Location


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
        self._candidate = extract_last_names(policy.sensitive)
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
        if not self._candidate.covers(names[-1]):
            return False
        return self._policy.is_sensitive(path or os.path.join(self._base, *names))
