"""A git worktree in which a tab works, what it changed, and what would be lost with it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from quorum.domain.review.path_policy import is_git_folder_name
from quorum.domain.text.amounts import format_amount

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_LINK = re.compile(r"[A-Za-z0-9._@+-]{1,80}(?:/[A-Za-z0-9._@+-]{1,80}){0,9}")
BRANCH_PREFIX = "quorum/"
RESERVED_WORDS = ("diff", "merge", "drop")
"""What `/worktree` takes for something to do, so that no worktree can be called so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A worktree that quorum made: `folder` is its place, `branch` its own branch, which began at the commit
    `base` of the branch `onto`."""

    name: str
    folder: str
    branch: str
    base: str
    onto: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedWorktree:
    """A worktree to work in. `folder` is the one in it that stands for the folder it was opened from; `is_new`:
    it was not there before; `is_checked_out`: its files were written just now, so that none that git ignores
    are there; `notices` are sentences about what it lacks."""

    worktree: Worktree
    folder: Path
    is_new: bool
    is_checked_out: bool = False
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorktreeSetup:
    """What a worktree was given of what git ignores: sentences about the links in it, and the `command` that is
    still to run in it; empty where there is none."""

    notices: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorktreeLoss:
    """What of a worktree is in no other place: `commits` that the branch it began at does not have, and `files`
    that are not committed."""

    commits: int = 0
    files: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """How much that is, in words; empty where it is nothing."""
        parts = []
        if self.commits:
            parts.append(format_amount(self.commits, "commit"))
        if self.files:
            parts.append(f"{format_amount(len(self.files), 'file')} not committed")
        return " and ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorktreeChange:
    """What a merge of a worktree would bring to the branch it began at, whose files lie in `target`.

    `diff` is against the commit at which both part, `files` that are not committed included.
    """

    worktree: Worktree
    target: str
    diff: str
    brings: WorktreeLoss

    @property
    def digest(self) -> str:
        """The SHA-256 of the diff and of where it goes: an approval of one is none of another."""
        text = "\0".join((self.worktree.branch, self.worktree.onto, self.target, self.diff))
        return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def explain_unfit_link(name: str) -> str | None:
    """Why no link in a worktree can have this name, the path of a folder from the top; None where one can."""
    parts = name.split("/")
    if name.startswith(("/", "~")):
        return f"{name!a} must be a path from the top of the repository, for example .venv"
    if ".." in parts:
        return f"{name!a} leads out of the repository; name a folder in it"
    if _LINK.fullmatch(name) is None or "." in parts or any(map(is_git_folder_name, parts)):
        return f"{name!a} cannot be linked; name a folder by letters, digits and ._@+- such as .venv"
    return None


def is_worktree_name(name: str) -> bool:
    """Whether a name is of letters, digits, `_` and `-`, at most 40 characters, and no word of `/worktree`."""
    return _NAME.fullmatch(name) is not None and name not in RESERVED_WORDS
