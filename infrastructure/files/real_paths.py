"""Where many paths lead that lie in the same few folders."""

from __future__ import annotations

import os


class RealPaths:
    """Resolves paths as at one moment: each folder is looked up once."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def resolve(self, path: str) -> str:
        """What `os.path.realpath` makes of an absolute path without dots in it."""
        folder, name = os.path.split(path)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        place = os.path.join(self._folders[folder], name)
        return os.path.realpath(place) if os.path.islink(place) else place
