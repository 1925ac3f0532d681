"""Where git keeps the settings of the person, for all repositories."""

from __future__ import annotations

import os


def person_folders() -> tuple[str, ...]:
    """The folders of the person's settings that may count; git takes one, ripgrep another."""
    folders = (os.environ.get("XDG_CONFIG_HOME", ""), os.path.join(os.path.expanduser("~"), ".config"))
    return tuple(os.path.join(folder, "git") for folder in dict.fromkeys(folders) if folder)


def person_settings() -> tuple[str, ...]:
    """The files of git's settings for the person and the machine; some of them may not exist."""
    return (
        "/etc/gitconfig",
        os.path.join(os.path.expanduser("~"), ".gitconfig"),
        *(os.path.join(folder, "config") for folder in person_folders()),
    )
