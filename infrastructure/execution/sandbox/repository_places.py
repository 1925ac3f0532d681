"""What git runs or obeys though it lies outside of a repository's own folder: where a `.git` file leads, what
hooks are links to, and what its settings name.

What such a program starts in turn is not looked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from quorum.infrastructure.execution.sandbox.repository_folders import find_git_folders
from quorum.infrastructure.execution.shell.git_index import read_regular

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
_SECTION = re.compile(r"\s*\[\s*(?P<name>[A-Za-z0-9.-]+)")
_SETTING = re.compile(r"\s*(?P<key>[A-Za-z][A-Za-z0-9-]*)\s*=(?P<value>.*)")
# A word of a command line that may be a path, and not a program that is looked up by its name.
_PATH = re.compile(r"[^\s\"'`;|&<>()=!$]*[./][^\s\"'`;|&<>()=!$]*")


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
                words = (each[0] for each in zip(_PATH.finditer(value), range(_MOST_WORDS), strict=False))
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
        if head := _SECTION.match(line):
            section = head["name"].lower()
            line = line[line.find("]") + 1 :]
        if setting := _SETTING.match(line):
            yield section, setting["key"].lower(), setting["value"]
