"""The files by which git knows its place. Strangers may have written them: only what has their shape counts."""

from __future__ import annotations

import re

from quorum.domain.text.pattern import compile_once

READ_BYTES = 1_000
"""How much of such a file is read: what it may say is shorter."""

_LONGEST_NAME = 120
_REFERENCE = r"ref:\s*(refs/\S+)\s*"
_COMMIT = r"([0-9a-f]{40}|[0-9a-f]{64})\s*"
# What `git check-ref-format` refuses.
_REFUSED = r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|[./]$|^[./]"
_BRANCHES = "refs/heads/"


def parse_head(text: str, commit_chars: int) -> str | None:
    """The branch that the content of a HEAD names, or the beginning of the commit's hash.

    None where it is neither, or the name is no reference's or too long.
    """
    if commit := compile_once(_COMMIT).fullmatch(text):
        return commit[1][:commit_chars]
    found = compile_once(_REFERENCE).fullmatch(text)
    return None if found is None else _shorten_reference(found[1])


def is_reference(name: str) -> bool:
    """Whether git takes this for the whole name of a reference, and a person can read it."""
    return name.startswith("refs/") and name.isprintable() and not compile_once(_REFUSED).search(name)


def is_commit(text: str) -> bool:
    """Whether this is the whole hash of a commit, as git writes it."""
    return compile_once(_COMMIT).fullmatch(text) is not None and text == text.rstrip()


def parse_git_file(text: str) -> str | None:
    """The folder that a `.git` file names; None where it names none."""
    found = re.fullmatch(r"gitdir:[ \t]*([^\0\r\n]+)\s*", text)
    return None if found is None else found[1]


def _shorten_reference(name: str) -> str | None:
    if len(name) > _LONGEST_NAME or not name.isprintable() or compile_once(_REFUSED).search(name):
        return None
    return name.removeprefix(_BRANCHES)
