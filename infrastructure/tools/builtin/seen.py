"""What the model has seen of files, so that an edit made from an outdated view can be refused."""

from __future__ import annotations

import hashlib
import os


class SeenFiles:
    """The SHA-256 of each file when the model last read or wrote it. Safe to use from any thread."""

    def __init__(self) -> None:
        self._hashes: dict[str, str] = {}
        self._folders: set[str] = set()

    def note(self, path: str, sha256: str) -> None:
        """The model now knows the file at this canonical path with this content."""
        self._hashes[path] = sha256
        self._folders.add(os.path.dirname(path))

    @property
    def folders(self) -> frozenset[str]:
        """The folders of all these files."""
        return frozenset(self._folders)

    def last(self, path: str) -> str | None:
        """The content the model last saw, or None if it never saw the file."""
        return self._hashes.get(path)


def sha256_of(content: bytes | None) -> str | None:
    """The hash in hexadecimal; None for a file that does not exist."""
    return None if content is None else hashlib.sha256(content).hexdigest()
