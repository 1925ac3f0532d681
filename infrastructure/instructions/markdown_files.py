"""The Markdown files in a folder of commands or agents, as many as are read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_SUFFIX = ".md"
_MOST_FILES = 500  # of one folder
_MOST_ENTRIES = 5_000  # that are looked at in it
_DEEPEST = 4


def list_markdown_files(folder: Path) -> Iterator[Path]:
    """The Markdown files below a folder, in order, as many as are read. Linked folders are not entered."""
    waiting, looked_at, given = [folder], 0, 0
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as listing:
                entries = sorted(
                    (entry for entry, _ in zip(listing, range(_MOST_ENTRIES), strict=False)), key=_derive_name
                )
        except OSError:
            continue
        looked_at += len(entries)
        deeper = []
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                deeper.append(here / entry.name)
            elif entry.name.endswith(_SUFFIX):
                if given == _MOST_FILES:
                    return
                given += 1
                yield here / entry.name
        if looked_at > _MOST_ENTRIES:
            return
        if len(here.relative_to(folder).parts) < _DEEPEST:
            waiting += reversed(deeper)


def _derive_name(entry: os.DirEntry[str]) -> str:
    return entry.name
