"""Patterns of paths as permission rules write them: `src/**`, `*.md`, `/etc/hosts`, `~/notes/**`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from os.path import expanduser, realpath


def matches_path(pattern: str, path: str, roots: Sequence[str], *, strict: bool) -> bool:
    """Whether a canonical path fits a pattern.

    `*` and `?` stay within one name, `**` crosses folders. A pattern that begins with a slash is a whole path,
    one that begins with `~/` lies in the home folder of the person, and any other begins at a root of the
    workspace. Strict matching is for rules that allow: exactly this path, and below the first root only, since
    such a rule was made before others were added. Other matching is for rules that forbid: without regard to
    case, at any depth where the pattern is a single name, and with all that lies below. `folder/**` is then the
    folder, too: a search of it reads all that.
    """
    if not path.startswith("/"):
        return False
    if pattern.startswith("/"):
        return bool(_compile(pattern.strip("/"), strict).fullmatch(path.strip("/")))
    if is_at_home(pattern):
        return _matches_at_home(pattern[2:].strip("/"), path, expanduser("~"), strict=strict)
    inner = pattern.strip("/").removeprefix("./")
    counting = roots[:1] if strict else roots
    below = [path[len(root.rstrip("/")) + 1 :] for root in counting if path.startswith(root.rstrip("/") + "/")]
    if any(_compile(inner, strict).fullmatch(name) for name in below):
        return True
    return not strict and "/" not in inner and bool(_compile(f"**/{inner}", strict).fullmatch(path.strip("/")))


def _matches_at_home(inner: str, path: str, home: str, *, strict: bool) -> bool:
    if not home.startswith("/"):  # it is not known: what forbids binds everywhere
        return not strict and bool(_compile(f"**/{inner or '**'}", strict).fullmatch(path.strip("/")))
    folder = _resolve(home).rstrip("/")
    is_below = path.startswith(f"{folder}/") or (
        not strict and f"{path}/".casefold().startswith(f"{folder}/".casefold())
    )
    if not is_below:
        return False
    rest = path[len(folder) :].strip("/")
    return bool(_compile(inner, strict).fullmatch(rest)) or (not strict and inner in ("", "**"))


@lru_cache(maxsize=8)
def _resolve(folder: str) -> str:
    return realpath(folder)


@lru_cache(maxsize=1024)
def _compile(pattern: str, strict: bool) -> re.Pattern[str]:
    if not strict:
        pattern = pattern.removesuffix("/**")
    first, *others = _build_expressions_between_folders(pattern.split("/"))
    text = first
    if others:
        # Where a part is found first is as good as anywhere later, and so nothing is tried twice: a strange
        # folder may bring both the rule and the name.
        text += "".join(f"(?>{_FOLDERS}?{part})" for part in others[:-1] if part) + _FOLDERS + others[-1]
    text = text[:-1] if text.endswith("/") else f"{text}[^/]+"
    return re.compile(text if strict else f"{text}(?:/.*)?", re.DOTALL if strict else re.DOTALL | re.IGNORECASE)


_FOLDERS = "(?:[^/]+/)*"


def _build_expressions_between_folders(names: Sequence[str]) -> list[str]:
    """The expressions for what stands before, between and behind each `**`."""
    parts = [""]
    for name in names:
        if name == "**":
            parts.append("")
        else:
            parts[-1] += _translate_name(name) + "/"
    return parts


def _translate_name(name: str) -> str:
    first, *others = ("".join(map(_translate_character, piece)) for piece in name.split("*"))
    if not others:
        return first
    return first + "".join(f"(?>[^/]*?{piece})" for piece in others[:-1] if piece) + "[^/]*" + others[-1]


def never_matches(pattern: str) -> bool:
    """Whether a pattern is written in a way that fits no canonical path: with `.` and `..`."""
    return bool({".", ".."} & set(pattern.removeprefix("./").split("/")))


def expand_home(path: str) -> str:
    """The path with the home folder in place of `~`, where that is known."""
    home = expanduser("~")
    return _resolve(home) + path[1:] if is_at_home(path) and home.startswith("/") else path


def is_at_home(pattern: str) -> bool:
    """Whether a pattern lies in the home folder."""
    return pattern == "~" or pattern.startswith("~/")


def _translate_character(character: str) -> str:
    return "[^/]" if character == "?" else re.escape(character)
