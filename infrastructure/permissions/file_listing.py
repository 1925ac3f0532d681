"""A quick look at the files of the workspace, to show which of them a rule would cover."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from application.review.rule_book import FileListing

MOST_ENTRIES = 2_000
_SKIPPED = frozenset({".git", "node_modules", ".venv", "__pycache__"})


class RuleFileListing:
    """Lists the first files below some folders, in the order in which the system names them.

    It looks at no more than `most` names, folders included, which takes milliseconds.
    """

    def __init__(self, roots: Sequence[Path], most: int = MOST_ENTRIES) -> None:
        self._roots = roots
        self._most = most

    def __call__(self) -> FileListing:
        """The files; what cannot be read is left out. Links are not followed."""
        seen = list(islice(_entries(self._roots), self._most + 1))
        files = tuple(path for path, is_folder in seen[: self._most] if not is_folder)
        return FileListing(files, complete=len(seen) <= self._most)


def _entries(roots: Sequence[Path]) -> Iterator[tuple[str, bool]]:
    """Paths below the roots, the shallow ones first, and whether each is a folder."""
    waiting = [str(root) for root in roots]
    for folder in waiting:
        try:
            with os.scandir(folder) as found:
                for entry in found:
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if is_folder and entry.name not in _SKIPPED:
                        waiting.append(entry.path)
                    yield entry.path, is_folder
        except OSError:
            continue
