"""Which files a branch changes since it parted from another, and which sessions may have changed them."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import Struct

from quorum.domain.errors import ToolError
from quorum.infrastructure.changes.git_reader import GitReader

_BASES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_TREE_DIFF = ("-r", "--name-only", "-z", "--no-renames", "--no-ext-diff")


class BranchFiles(Struct, frozen=True, kw_only=True):
    """The files that a branch changes, committed or staged, with the working tree `top`. `since_ms` is when the
    commit was made from which it parted, in milliseconds since 1970, UTC."""

    top: str
    paths: frozenset[str]
    since_ms: int

    def may_hold(self, cwd: str) -> bool:
        """Whether a session of this folder worked in the working tree."""
        real = os.path.realpath(cwd)
        return real == self.top or real.startswith(f"{self.top}{os.sep}")

    def touches(self, changed: Collection[str]) -> bool:
        """Whether one of these files, by their whole paths, is one that the branch changes."""
        return not self.paths.isdisjoint(map(os.path.realpath, changed))


def read_branch_files(root: Path, environ: Mapping[str, str], base: str) -> BranchFiles:
    """Blocks. Raises ToolError outside of a repository, and where the base of the branch is not found."""
    git = GitReader(root, environ)
    head = git.resolve("HEAD")
    parted = git.find_merge_base(git.resolve(base), head) if base else _find_base(git, head)
    if not parted:
        raise ToolError(
            "what the branch parted from is not found; name it with --base, such as --base origin/develop"
        )
    committed = git.run("diff-tree", *_TREE_DIFF, parted, head)
    staged = git.run("diff-index", "--cached", *_TREE_DIFF[1:], head)
    top = os.path.realpath(git.top)
    names = {os.fsdecode(name) for name in (*committed.split(b"\0"), *staged.split(b"\0")) if name}
    seconds = git.run("rev-list", "-1", "--timestamp", parted).split()[0]
    return BranchFiles(
        top=top,
        paths=frozenset(os.path.realpath(os.path.join(top, name)) for name in names),
        since_ms=int(seconds) * 1000,
    )


def _find_base(git: GitReader, head: str) -> str:
    """Where the branch parted from the first of the usual bases that is there; empty where none is."""
    commits = (git.find_commit(name) for name in _BASES)
    return next((found for each in commits if each and (found := git.find_merge_base(each, head))), "")
