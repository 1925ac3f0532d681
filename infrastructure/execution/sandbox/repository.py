"""The repository that a root of the workspace belongs to, where parts of it lie outside that root."""

from __future__ import annotations

import os

_MOST_BYTES = 4096


def repository_places(root: str) -> tuple[str, ...]:
    """What of its repository a root needs to be readable: its top above the root, its git folder elsewhere.

    A `.git` file is believed only where what it names looks like a repository's own folder, and that repository
    lies around it or knows it as a working tree, lest a file in the workspace open any folder of the machine.
    """
    top = _top(root)
    if top is None:
        return ()
    places = [top] if top != root else []
    marker = os.path.join(top, ".git")
    if os.path.isfile(marker):
        git_folder = _named_in(marker, prefix="gitdir: ", base=top)
        common = _common_folder(git_folder)
        if git_folder and common and (_lies_around(common, top) or _names_back(git_folder, marker)):
            places.append(common)
    return tuple(places)


def _top(folder: str) -> str | None:
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def _lies_around(common: str, top: str) -> bool:
    """Whether the repository's own working tree holds the folder, as it holds its submodules."""
    return top.startswith(os.path.dirname(common).rstrip("/") + "/")


def _names_back(git_folder: str, marker: str) -> bool:
    """Whether it is the git folder of a linked working tree, and of that one."""
    return _named_in(os.path.join(git_folder, "gitdir"), prefix="", base=git_folder) == os.path.realpath(marker)


def _named_in(file: str, *, prefix: str, base: str) -> str | None:
    try:
        with open(file, "rb") as opened:
            line = os.fsdecode(opened.read(_MOST_BYTES)).rstrip("\n")
    except OSError:  # unreadable: git cannot use it either
        return None
    if not line.startswith(prefix) or "\0" in line or "\n" in line:
        return None
    return os.path.realpath(os.path.join(base, line.removeprefix(prefix)))


def _common_folder(git_folder: str | None) -> str | None:
    """The folder with all of a repository, of which a worktree or submodule has its own git folder inside."""
    if git_folder is None or not os.path.isfile(os.path.join(git_folder, "HEAD")):
        return None
    names = git_folder.split("/")
    inner = next((place for place, name in enumerate(names) if name.endswith(".git")), None)
    if inner is None:
        return None
    common = "/".join(names[: inner + 1])
    is_repository = all(os.path.exists(os.path.join(common, name)) for name in ("HEAD", "objects", "refs"))
    return common if is_repository else None
