"""Names of what a command touches, as a person may write them."""

from __future__ import annotations

import re

_COMMON = frozenset(
    {
        *("file", "files", "folder", "folders", "directory", "all", "the", "src", "tests", "test", "json"),
        *("txt", "home", "user", "users", "lib", "usr", "var", "com", "org"),
    }
)
"""Parts of many names, which tell nothing about one."""
_SHORTEST = 3
_SPELLINGS = {
    ".": ("current", "this", "here"),
    ".venv": ("virtual", "virtualenv", "venv"),
    "venv": ("virtual", "virtualenv"),
    "/tmp": ("temp", "tmp", "temporary"),
    "*~": ("~",),
    "*.txt": ("text",),
}


def normalize_name(name: str) -> str:
    """A name as names are compared: in small letters, without `./` in front and a slash behind."""
    return name.removeprefix("./").rstrip("/").casefold() or name


def list_spellings(name: str) -> frozenset[str]:
    """The words by which a person may name it as a whole."""
    normal = normalize_name(name)
    found = {normal, *_SPELLINGS.get(normal, ())}
    if ending := re.fullmatch(r"\*\.(\w+)", normal):
        found |= {ending[1], f".{ending[1]}"}
    if variable := re.fullmatch(r"\$\{?(\w+)\}?", normal):
        found.add(f"${variable[1]}")
    if "/systemd/" in f"{normal}/":
        found.add("service")
    return frozenset(found)


def split_name(name: str) -> frozenset[str]:
    """The parts of a name that tell something about it."""
    parts = re.split(r"[/._:@=-]+", name.casefold())
    return frozenset(part for part in parts if len(part) >= _SHORTEST) - _COMMON


def is_open(name: str) -> bool:
    """Whether it stands for whatever is there: a pattern, or the folder that the command runs in."""
    return name in (".", "./") or re.search(r"[*?\[]", name) is not None
