"""Files that were dropped into the terminal, or pasted as paths: in the prompt they become mentions."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LONGEST = 16_384
_BEGINNINGS = ("/", "~/", "./", "../", "file://")


def mention_dropped(pasted: str, cwd: Path) -> str:
    """The mentions of what was dropped, and a blank after each; empty where it is not all below `cwd`.

    Terminals drop a path in quotes, with backslashes before its blanks, or as a `file:` address, and several in
    a row.
    """
    text = pasted.strip()
    if not text or "\n" in text or len(text) > _LONGEST:
        return ""
    for paths in ([text], _split_words(text)):
        found = [_make_relative(path, cwd) for path in paths]
        if found and all(found):
            from quorum.domain.text.mention import format_mention

            return "".join(f"{format_mention(path)} " for path in found)
    return ""


def _split_words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an apostrophe, in what is no path then
        return []


def _make_relative(path: str, cwd: Path) -> str:
    """The path from `cwd` of something that is there; that of a folder ends with a slash. Else empty."""
    if not path.startswith(_BEGINNINGS) and "/" not in path:
        return ""  # a word that happens to be the name of a file
    if path.startswith("file://"):
        path = unquote(urlsplit(path).path, errors="surrogateescape")
    try:
        here = os.path.realpath(cwd)
        whole = os.path.join(here, os.path.expanduser(path))
        place = os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))
        if os.path.isdir(place):
            place = os.path.join(os.path.realpath(place), "")
        elif not os.path.isfile(place):
            return ""
    except (OSError, ValueError):  # a name too long, a NUL
        return ""
    inside = os.path.join(here, "")
    return place.removeprefix(inside) if place.startswith(inside) else ""
