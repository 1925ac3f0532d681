"""The environment of a command: ours without secrets and without what bends the programs it runs."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

from infrastructure.commands.strays import MARKER_PREFIX

_SECRETS = (
    "*API_KEY",
    "*APIKEY",
    "*ACCESS_KEY",
    "*ACCESS_KEY_ID",
    "*PRIVATE_KEY",
    "*SECRET_KEY",
    "*SECRET",
    "*TOKEN",
    "*PASSWORD",
    "*PASSWD",
    "*PASSPHRASE",
    "*CREDENTIALS",
)
_HAZARDS = (
    "LD_*",
    "DYLD_*",
    "BASH_ENV",
    "BASH_FUNC_*",
    "BASHOPTS",
    "SHELLOPTS",
    "ENV",
    "CDPATH",
    "GLOBIGNORE",
    "PROMPT_COMMAND",
    "PS4",
    "GIT_*",
    # They change which words of a command are options.
    "POSIXLY_CORRECT",
    "_POSIX2_VERSION",
    "GREP_OPTIONS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
)
_OURS = "QUORUM_*"
_KEPT = ("GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_SSL_CA*", MARKER_PREFIX + "*")
_ADDED = {
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "cat",
    "TERM": "dumb",
}


def command_environment(inherited: Mapping[str, str], secret_names: Collection[str]) -> dict[str, str]:
    """The environment a command gets.

    Left out: the given names, names that look like a secret's, our own settings (QUORUM_*, which may hold
    headers with keys), and names that change what the loader, the shell or git run, or which words of a
    command are options (git's author, committer and certificates stay). Added: what keeps programs from
    paging, prompting and opening editors. PATH loses its relative entries, so that a folder cannot bring its
    own `ls`. CI is left alone: tools change their results by it, while a null standard input and a dumb
    terminal already keep them from asking.
    """
    kept = {
        name: value
        for name, value in inherited.items()
        if name not in secret_names and (_matches(name, _KEPT) or not _is_withheld(name))
    }
    path = kept.get("PATH", os.defpath)
    kept["PATH"] = os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))
    return {**kept, **_ADDED}


def environment_delta(inherited: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str | None]:
    """What a command's environment adds to the inherited one, or takes away (None)."""
    names = sorted({*inherited, *given})
    return {name: given.get(name) for name in names if inherited.get(name) != given.get(name)}


def _is_withheld(name: str) -> bool:
    return _matches(name, _HAZARDS) or _matches(name.upper(), (*_SECRETS, _OURS))


def _matches(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
