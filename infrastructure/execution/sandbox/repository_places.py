"""Where the repository of a workspace keeps itself, and what git obeys outside of that.

What git obeys is where a `.git` file leads, what hooks link to, and what the settings name. What such a program
starts in turn is not looked for.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence

from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.execution.shell.git_index import read_regular
from quorum.infrastructure.files.workspace import escape_path

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
        if git_folder and common:
            is_around = common.endswith(".git") and _lies_around(common, top)
            if is_around or _names_back(git_folder, marker) or _list_working_trees(git_folder) == {top}:
                places.append(common)
    return tuple(places)


def find_written_folders(root: str) -> tuple[str, ...]:
    """The folders that git writes to when it commits in a root, outermost first; none where there is no
    repository, and where a link or a file names one that does not know the root as its working tree.

    A linked working tree has one of its own inside of the one that it shares; a submodule only its own. A
    folder put elsewhere (`--separate-git-dir`) lies in one that holds the root, or its settings name the root.
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
    if (shared := _find_shared_folder(git_folder)) is not None:
        return (shared, git_folder) if _is_repository(shared) and _names_back(git_folder, marker) else ()
    if not _is_repository(git_folder):
        return ()
    if git_folder.startswith(os.path.join(common, "modules") + "/"):
        return (git_folder,) if _lies_around(common, top) else ()
    is_own = git_folder == common and os.path.basename(common) != ".git" and not _is_bare(common)
    trees = _list_working_trees(git_folder)
    is_known = trees == {top} or (not trees and common.endswith(".git") and _lies_around(common, top))
    return (git_folder,) if is_own and is_known else ()


def explain_unknown_tree(root: str) -> str | None:
    """Where the `.git` of a root names a repository that does not know it as its working tree: what to do, for
    whoever trusts it. None where that is not the matter."""
    top = _find_top(root)
    marker = os.path.join(top, ".git") if top is not None else ""
    if top is None or os.path.islink(marker) or not os.path.isfile(marker) or find_written_folders(root):
        return None
    git_folder = _read_named_folder(marker, prefix="gitdir: ", base=top)
    if git_folder is None or not _is_repository(_find_shared_folder(git_folder) or git_folder):
        return None
    name = escape_path(git_folder)
    if _find_shared_folder(git_folder) is not None:
        named = escape_path(top)
        return f"{name} does not name {named} as its worktree: if it is, run `git worktree repair` there"
    if git_folder != _find_common_folder(git_folder) or os.path.basename(git_folder) == ".git":
        return None
    if _is_bare(git_folder):
        return f"{name} is a bare repository, which has no working tree"
    command = shlex.join(["git", "-C", top, "config", "core.worktree", top])
    return f"{name} does not name {escape_path(top)} as its working tree: if it is, run `{command}`"


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


def _find_shared_folder(git_folder: str) -> str | None:
    """The git folder that one of a linked working tree lies in and shares; None where it is not such a one."""
    shared = _read_named_folder(os.path.join(git_folder, "commondir"), prefix="", base=git_folder)
    is_linked = shared is not None and os.path.dirname(git_folder) == os.path.join(shared, "worktrees")
    return shared if is_linked else None


def _list_working_trees(git_folder: str) -> set[str]:
    """The working trees that the settings of a repository name as its own."""
    settings = _read_settings(os.path.join(git_folder, "config"))
    return {
        os.path.realpath(os.path.join(git_folder, value.strip().strip('"')))
        for section, key, value in settings
        if (section, key) == ("core", "worktree")
    }


def _is_bare(git_folder: str) -> bool:
    """Whether a repository has no working tree, as far as its settings do not deny that."""
    settings = _read_settings(os.path.join(git_folder, "config"))
    said = {value.strip().lower() for section, key, value in settings if (section, key) == ("core", "bare")}
    return said != {"false"}


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
    common = (
        "/".join(names[: inner + 1]) if inner is not None else _find_shared_folder(git_folder) or git_folder
    )
    return common if _is_repository(common) else None


def _is_repository(folder: str) -> bool:
    return all(os.path.exists(os.path.join(folder, name)) for name in _REPOSITORY)


_LARGEST_SETTINGS = 1 << 20
_MOST_INCLUDED = 20
_MOST_WORDS = 5_000
_MOST_LINKS = 1_000
_SETTINGS = ("config", "config.worktree")
# Folders of a repository in which links to scripts of the working tree are usual, and its own folder.
_LINKING = ("", "hooks", "info")
_HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit"),
    *(
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "pre-rebase",
        "post-checkout",
        "post-merge",
        "pre-push",
    ),
    *("pre-receive", "update", "proc-receive", "post-receive", "post-update", "reference-transaction"),
    *("push-to-checkout", "pre-auto-gc", "post-rewrite", "sendemail-validate", "fsmonitor-watchman"),
    *("p4-changelist", "p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit", "post-index-change"),
)
_SECTION = r"\s*\[\s*(?P<name>[A-Za-z0-9.-]+)"
_SETTING = r"\s*(?P<key>[A-Za-z][A-Za-z0-9-]*)\s*=(?P<value>.*)"
# A word of a command line that may be a path, and not a program that is looked up by its name.
_PATH = r"[^\s\"'`;|&<>()=!$]*[./][^\s\"'`;|&<>()=!$]*"


def list_obeyed_places(marker: str) -> Iterator[str]:
    """Such places of the repository whose `.git` stands at this canonical path, some of which may not exist.

    Each is named as git reaches it, and as it is behind links. Reads files; call it off the event loop.
    """
    folders = find_git_folders(marker)
    for folder in folders:
        if folder != marker:
            yield folder
        for name in _LINKING:
            yield from list_link_targets(os.path.join(folder, name))
    settings = [os.path.join(folder, name) for folder in folders for name in _SETTINGS]
    yield from _list_named(settings, os.path.dirname(marker))


def list_link_targets(folder: str) -> Iterator[str]:
    """What the links in a folder lead to."""
    try:
        with os.scandir(folder) as listing:
            links = [
                entry.path for _, entry in zip(range(_MOST_LINKS), listing, strict=False) if entry.is_symlink()
            ]
    except OSError:  # there is none, or it is closed to us and so to git
        return
    for link in links:
        yield from _follow(os.path.join(os.path.realpath(folder), os.readlink(link)))


def _follow(path: str) -> Iterator[str]:
    """A path by its canonical folder, and what it is behind a link."""
    above, name = os.path.split(path.rstrip("/"))
    if name not in ("", ".", ".."):
        yield os.path.join(os.path.realpath(above), name)
    if os.path.islink(path) or name in (".", ".."):
        yield os.path.realpath(path)


def _list_named(files: list[str], top: str) -> Iterator[str]:
    """What files of settings name: further ones, folders of hooks, and files in command lines."""
    seen: set[str] = set()
    while files and len(seen) < _MOST_INCLUDED:
        file = files.pop(0)
        if file in seen:
            continue
        seen.add(file)
        for section, key, value in _read_settings(file):
            whole = os.path.expanduser(value.strip().strip('"'))
            if section in ("include", "includeif") and key == "path":
                included = os.path.join(os.path.dirname(file), whole)
                files.append(included)
                yield from _follow(included)
            elif section == "core" and key == "hookspath":
                hooks = os.path.join(top, whole)
                yield from _follow(hooks)
                yield from list_link_targets(hooks)
                # Should the folder be the workspace itself, where much else is written.
                yield from (os.path.join(os.path.realpath(hooks), hook) for hook in _HOOKS)
            else:
                words = (
                    each[0]
                    for each in zip(compile_once(_PATH).finditer(value), range(_MOST_WORDS), strict=False)
                )
                paths = (os.path.join(top, os.path.expanduser(word[0])) for word in words)
                for path in paths:
                    if os.path.isfile(path):
                        yield from _follow(path)


def _read_settings(file: str) -> Iterator[tuple[str, str, str]]:
    """Section, key and value of each setting, as far as git would read them."""
    try:
        text = read_regular(file, _LARGEST_SETTINGS).decode("utf-8", "replace")
    except (OSError, ValueError):  # git cannot read it either
        return
    section = ""
    for line in re.sub(r"\\\r?\n", "", text).split("\n"):
        if head := compile_once(_SECTION).match(line):
            section = head["name"].lower()
            line = line[line.find("]") + 1 :]
        if setting := compile_once(_SETTING).match(line):
            yield section, setting["key"].lower(), setting["value"]
