"""Which settings git may come to have: those of every file that one of its files includes, on any condition.

A condition names a folder, a branch or an address, and may hold in a worktree that is only about to be made.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from quorum.domain.errors import ToolError

_MOST_FILES = 100
_INCLUDED = re.compile(r"include(?:if\..+)?\.path", re.DOTALL)
_PREFIX = "%(prefix)/"


def list_possible_keys(run: Callable[..., bytes], folder: str) -> frozenset[str]:
    """The keys of all of them, as git lists them in a folder. Raises ToolError where they cannot be known.

    `run` runs a command of git there.
    """
    keys: set[str] = set()
    waiting, seen = [""], {""}
    while waiting:
        file = waiting.pop()
        listed = _list_settings(run, file)
        for origin, key, value in listed:
            keys.add(key)
            if not _INCLUDED.fullmatch(key):
                continue
            included = _locate(value, os.path.join(folder, origin))
            if included not in seen:
                seen.add(included)
                waiting.append(included)
        if len(seen) > _MOST_FILES:
            raise ToolError(f"the settings of git include more than {_MOST_FILES} files")
    return frozenset(keys)


def _list_settings(run: Callable[..., bytes], file: str) -> list[tuple[str, str, str]]:
    """The origin, key and value of each setting of a file; of all that hold now where none is given."""
    if file and not os.path.lexists(file):
        return []
    source = ("--no-includes", "--file", file) if file else ()
    fields = os.fsdecode(run("config", "-z", "--show-origin", *source, "--list")).split("\0")
    settings = []
    for origin, setting in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = setting.partition("\n")
        settings.append((origin.removeprefix("file:"), key, value))
    return settings


def _locate(value: str, origin: str) -> str:
    """Where an included file lies, as named in a file."""
    if value.startswith(_PREFIX):
        raise ToolError(f"it is not known where git finds {value}, which its settings include")
    return os.path.normpath(os.path.join(os.path.dirname(origin), os.path.expanduser(value)))
