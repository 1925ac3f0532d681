"""What of quorum's own code a command could write, and how it is kept from that."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence

from quorum.domain.review.path_policy import OwnCode
from quorum.domain.text.paths import is_below_any


def list_code(code: OwnCode, folders: Sequence[str]) -> list[str]:
    """The code in these canonical folders that is there now, and the folders that lie in such code."""
    found = [folder for folder in folders if is_below_any(folder, code.places)]
    found += [place for place in code.places if is_below_any(place, folders) and os.path.lexists(place)]
    for folder in code.import_folders:
        if is_below_any(folder, folders):
            found += (path for path in _list_modules(folder) if code.covers(path))
    return list(dict.fromkeys(found))


def _list_modules(folder: str) -> Iterator[str]:
    """What a folder of the import path holds: files, and what makes its folders packages."""
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError:  # gone meanwhile, or closed to us and so to the import
        return
    for entry in listed:
        yield entry.path
        if entry.is_dir() and os.path.lexists(init := os.path.join(entry.path, "__init__.py")):
            yield init


def lock_code(code: OwnCode, writable: Sequence[str], roots: Sequence[str]) -> list[str]:
    """What of the code in the writable folders and the roots is to be mounted read-only.

    What the person opened by its own name stays open, but not what lies in a folder that they opened.
    """
    found = (path for path in list_code(code, (*roots, *writable)) if not os.path.islink(path))
    return [path for path in found if os.path.exists(path) and path not in writable]


def list_folders_around(code: Iterable[str], folders: Collection[str]) -> list[str]:
    """The folders between these folders and the code in them, which could be renamed with the code in them."""
    found: list[str] = []
    for path in code:
        while path not in folders and is_below_any(path := os.path.dirname(path), folders):
            found += [path] if path not in folders else []
    return list(dict.fromkeys(found))
