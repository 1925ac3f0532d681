"""Where the repository of a workspace keeps itself: what is to be read of it, and what git writes to."""

from __future__ import annotations

import os
from collections.abc import Sequence

from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.execution.shell.git_index import read_regular

_MOST_POINTER_BYTES = 4096
_REPOSITORY = ("HEAD", "objects", "refs")


def list_repository_places(root: str) -> tuple[str, ...]:
    """What of its repository a root needs to be readable: its top above the root, its git folder elsewhere.

    A `.git` file is believed only where what it names looks like a repository's own folder, and that repository
    lies around it or knows it as a working tree, lest a file in the workspace open any folder of the machine.
    """
    top = _find_top(root)
    if top is None:
        return ()
    places = [top] if top != root else []
    marker = os.path.join(top, ".git")
    if os.path.isfile(marker):
        git_folder = _read_named_folder(marker, prefix="gitdir: ", base=top)
        common = _find_common_folder(git_folder)
        if git_folder and common and (_lies_around(common, top) or _names_back(git_folder, marker)):
            places.append(common)
    return tuple(places)


def find_written_folders(root: str) -> tuple[str, ...]:
    """The folders that git writes to when it commits in a root, outermost first; none where there is no
    repository, and where a link or a file names one that does not know the root as its working tree.

    A linked working tree has one of its own inside of the one that it shares; a submodule only its own.
    """
    top = _find_top(root)
    if top is None:
        return ()
    marker = os.path.join(top, ".git")
    if os.path.islink(marker):
        return ()
    if os.path.isdir(marker):
        return (marker,) if top == root or _is_repository(marker) else ()
    git_folder = _read_named_folder(marker, prefix="gitdir: ", base=top)
    common = _find_common_folder(git_folder)
    if git_folder is None or common is None:
        return ()
    if os.path.dirname(git_folder) == os.path.join(common, "worktrees") and _names_back(git_folder, marker):
        return (common, git_folder)
    is_submodule = git_folder.startswith(os.path.join(common, "modules") + "/") and _lies_around(common, top)
    return (git_folder,) if is_submodule and _is_repository(git_folder) else ()


def find_main_folder(worktree: str) -> str | None:
    """The main working tree of the repository of which a folder is a linked one, as both say; else None."""
    match find_written_folders(worktree):
        case (common, git_folder) if os.path.basename(common) == ".git" and git_folder != common:
            return os.path.dirname(common)
    return None


def list_linked_folders(root: str, names: Sequence[str]) -> tuple[str, ...]:
    """Where the folders of these names lie in the main working tree, if `root` is or lies in another one of its
    repository. What is there is looked at by whoever opens them."""
    top = _find_top(root) if names else None
    main = find_main_folder(top) if top is not None else None
    return tuple(os.path.join(main, name) for name in names) if main is not None else ()


def explain_unfit_target(target: str, policy: PathPolicy) -> str | None:
    """Why commands may not read this folder through a link; None where they may. It is a folder itself, reached
    through no link, so that it is what its name says."""
    if os.path.realpath(target) != target:
        return "it is reached through a link, and could lead anywhere"
    if not os.path.lexists(target):
        return "it is not there"
    if not os.path.isdir(target):
        return "it is no folder"
    return "it is sensitive" if policy.is_sensitive(target) else None


def find_marker(folder: str) -> str | None:
    """The `.git` of the repository that a folder lies in."""
    top = _find_top(folder)
    return os.path.join(top, ".git") if top is not None else None


def find_git_folders(marker: str) -> tuple[str, ...]:
    """The folders in which the repository of a `.git` keeps itself: its own, and that which worktrees share."""
    if os.path.isdir(marker):
        own: str | None = marker
    else:
        own = _read_named_folder(marker, prefix="gitdir: ", base=os.path.dirname(marker))
    if own is None:
        return ()
    shared = _read_named_folder(os.path.join(own, "commondir"), prefix="", base=own)
    return tuple(dict.fromkeys((own, shared or own)))


def _find_top(folder: str) -> str | None:
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
    return _read_named_folder(
        os.path.join(git_folder, "gitdir"), prefix="", base=git_folder
    ) == os.path.realpath(marker)


def _read_named_folder(file: str, *, prefix: str, base: str) -> str | None:
    try:
        line = os.fsdecode(read_regular(file, _MOST_POINTER_BYTES)).rstrip("\r\n")
    except (OSError, ValueError):  # unreadable: git cannot use it either
        return None
    if not line.startswith(prefix) or "\0" in line or "\n" in line:
        return None
    return os.path.realpath(os.path.join(base, line.removeprefix(prefix)))


def _find_common_folder(git_folder: str | None) -> str | None:
    """The folder with all of a repository, of which a worktree or submodule has its own git folder inside."""
    if git_folder is None or not os.path.isfile(os.path.join(git_folder, "HEAD")):
        return None
    names = git_folder.split("/")
    inner = next((place for place, name in enumerate(names) if name.endswith(".git")), None)
    if inner is None:
        return None
    common = "/".join(names[: inner + 1])
    return common if _is_repository(common) else None


def _is_repository(folder: str) -> bool:
    return all(os.path.exists(os.path.join(folder, name)) for name in _REPOSITORY)
