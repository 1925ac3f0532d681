"""A file or folder that was searched for by a part of its path."""

from __future__ import annotations

from msgspec import Struct


class FoundFile(Struct, frozen=True):
    """A path from the working directory; that of a folder ends with a slash. Surrogates stand for bytes.

    `hits` are the places of the letters that the query hit.
    """

    path: str
    hits: tuple[int, ...] = ()

    @property
    def is_folder(self) -> bool:
        """Whether it holds others."""
        return self.path.endswith("/")
