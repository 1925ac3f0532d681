"""A `.git` folder that commands may write to: what in it stays closed, and what they must not leave in it.

Git follows links in its folder when it writes: a link that a command leaves in the place of the index would
have the next `git add` of the person overwrite any file of theirs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from quorum.infrastructure.execution.sandbox.guarded_files import PathIdentity, identify

_MOST_ENTRIES = 100_000
_LOOSE_OBJECTS = re.compile(r"[0-9a-f]{2}")


class OpenedRepository:
    """Compares such a `folder` before and after a command. `closed` are names in it that stay as they are."""

    def __init__(self, folder: str, closed: Sequence[str]) -> None:
        self.folder = folder
        self._closed = tuple(os.path.join(folder, name) for name in closed)
        self._parts = self._read_identities()
        self._links, self._is_complete = self._find_links()

    def find_made(self) -> tuple[list[str], bool]:
        """Closed names that have come or changed and links that are new, and whether all were found."""
        changed = [
            path
            for path, now in self._read_identities().items()
            if (before := self._parts.get(path)) is None or (before.link and before != now)
        ]
        links, is_complete = self._find_links()
        changed += [path for path, text in links.items() if self._links.get(path) != text]
        return list(dict.fromkeys(changed)), is_complete and self._is_complete

    def _read_identities(self) -> dict[str, PathIdentity]:
        found = ((path, identify(path)) for path in self._closed)
        return {path: identity for path, identity in found if identity is not None}

    def _find_links(self) -> tuple[dict[str, str], bool]:
        """All links but those among loose objects, which git only reads; whether everything was looked at."""
        links: dict[str, str] = {}
        for number, entry in enumerate(self._list_entries(self.folder)):
            if number >= _MOST_ENTRIES:
                return links, False
            if entry.is_symlink():
                links[entry.path] = os.readlink(entry.path)
        return links, True

    def _list_entries(self, top: str) -> Iterator[os.DirEntry[str]]:
        waiting = [top]
        objects = os.path.join(top, "objects")
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(folder) as opened:
                    listed = list(opened)
            except OSError:  # gone meanwhile, or closed to us and so to git
                continue
            for entry in listed:
                yield entry
                is_loose = folder == objects and _LOOSE_OBJECTS.fullmatch(entry.name)
                if entry.is_dir(follow_symlinks=False) and not is_loose and entry.path not in self._closed:
                    waiting.append(entry.path)
