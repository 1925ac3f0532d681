"""Patterns of paths as permission rules write them: `src/**`, `*.md`, `/etc/hosts`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache


def matches_path(pattern: str, path: str, roots: Sequence[str], *, strict: bool) -> bool:
    """Whether a canonical path fits a pattern.

    `*` and `?` stay within one name, `**` crosses folders. A pattern that begins with a slash is a whole path;
    any other begins at a root of the workspace. Strict matching is for rules that allow: exactly this path.
    Other matching is for rules that forbid: without regard to case, at any depth where the pattern is a single
    name, and with all that lies below.
    """
    if not path.startswith("/"):
        return False
    if pattern.startswith("/"):
        return bool(_compiled(pattern.strip("/"), strict).fullmatch(path.strip("/")))
    inner = pattern.strip("/").removeprefix("./")
    below = [path[len(root.rstrip("/")) + 1 :] for root in roots if path.startswith(root.rstrip("/") + "/")]
    if any(_compiled(inner, strict).fullmatch(name) for name in below):
        return True
    return not strict and "/" not in inner and bool(_compiled(f"**/{inner}", strict).fullmatch(path.strip("/")))


@lru_cache(maxsize=1024)
def _compiled(pattern: str, strict: bool) -> re.Pattern[str]:
    written = []
    for name in pattern.split("/"):
        if name == "**":
            written.append("(?:[^/]+/)*")
        else:
            written.append("".join(_of_character(character) for character in name) + "/")
    text = "".join(written)
    text = text[:-1] if text.endswith("/") else f"{text}[^/]+"
    return re.compile(text if strict else f"{text}(?:/.*)?", re.DOTALL if strict else re.DOTALL | re.IGNORECASE)


def _of_character(character: str) -> str:
    return {"*": "[^/]*", "?": "[^/]"}.get(character) or re.escape(character)
