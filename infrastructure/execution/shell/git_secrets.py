"""Settings of git repositories, in which tokens stand: in addresses, in headers, in options of helpers."""

from __future__ import annotations

import os
import re

from quorum.domain.review.path_policy import is_git_folder_name
from quorum.infrastructure.execution.shell.git_index import read_regular
from quorum.infrastructure.execution.shell.repository import Repository
from quorum.infrastructure.execution.shell.repository_settings import (
    UnsafeRepository,
    require_harmless_settings,
)

_LARGEST = 1 << 20
# Copies and linked working trees have theirs: config.worktree, config.lock, config~.
_SETTINGS = "config"
_OF_PERSON = ".gitconfig"
_NAMES = (_SETTINGS, _OF_PERSON)
_INCLUDES = re.compile(rb"^\s*\[\s*include", re.IGNORECASE | re.MULTILINE)
# A name or a token in front of the host, or a query behind it. With ssh a name alone is no secret.
_SIGNS_IN = re.compile(rb'(?<!ssh)://[^/\s"]*@|://[^/\s"@]*:[^/\s"@]*@|://\S*\?')


def may_be_git_settings(name: str) -> bool:
    """Whether a file of this name may hold settings of git. Quick: every file of a search is asked about."""
    return name.casefold().startswith(_NAMES)


def is_git_settings(path: str) -> bool:
    """Whether a file is called, and lies, like one that holds settings of git."""
    folder, name = os.path.split(path)
    name = name.casefold()
    if name.startswith(_OF_PERSON):
        return True
    if not name.startswith(_SETTINGS):
        return False
    above = folder.split(os.sep)
    if above[-2:] == [".config", "git"] or any(_is_repository_name(each) for each in above):
        return True
    return all(os.path.lexists(os.path.join(folder, each)) for each in ("HEAD", "objects"))


def may_hold_secret(settings: str) -> bool:
    """Whether a file of settings holds more than what is known to sign in nowhere.

    Raises OSError and ValueError where it cannot be read.
    """
    if _SIGNS_IN.search(read_regular(settings, _LARGEST)):
        return True
    try:
        require_harmless_settings(settings, is_shown=True)
    except UnsafeRepository:
        return True
    return False


def is_secret_settings(path: str) -> bool:
    """Whether a file is settings of git in which a token may stand; what cannot be read may hold anything."""
    if not (may_be_git_settings(os.path.basename(path)) and is_git_settings(path) and os.path.isfile(path)):
        return False
    try:
        return may_hold_secret(path)
    except (OSError, ValueError):
        return True


def read_sign_in_settings(repository: Repository) -> str | None:
    """The settings by which addresses of remotes may hold a token, as git shows them; None where none do.

    Raises OSError and ValueError where they cannot be read.
    """
    own = (
        os.path.join(repository.shared, "config"),
        os.path.join(repository.git_folder, "config.worktree"),
    )
    for settings in filter(os.path.lexists, (*own, *list_person_settings())):
        text = read_regular(settings, _LARGEST)
        # An included file may rewrite addresses, and is not looked for.
        if _SIGNS_IN.search(text) or _INCLUDES.search(text):
            return settings
    return None


def _is_repository_name(name: str) -> bool:
    return is_git_folder_name(name) or name.casefold().endswith(".git")


def list_person_folders() -> tuple[str, ...]:
    """The folders of the person's settings that may count; git takes one, ripgrep another."""
    folders = (os.environ.get("XDG_CONFIG_HOME", ""), os.path.join(os.path.expanduser("~"), ".config"))
    return tuple(os.path.join(folder, "git") for folder in dict.fromkeys(folders) if folder)


def list_person_settings() -> tuple[str, ...]:
    """The files of git's settings for the person and the machine; some of them may not exist."""
    return (
        "/etc/gitconfig",
        os.path.join(os.path.expanduser("~"), ".gitconfig"),
        *(os.path.join(folder, "config") for folder in list_person_folders()),
    )
