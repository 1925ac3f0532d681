"""Links in a worktree to folders of the main working tree that git ignores, such as `.venv` and `node_modules`.

Which folders they are only the settings say, never a link: what a link leads to may have been changed since.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from quorum.domain.errors import ToolError, WorktreeRefused
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.text.paths import is_below_any
from quorum.domain.text.printable import make_printable
from quorum.domain.worktree import explain_unfit_link
from quorum.infrastructure.changes.git_reader import GitReader
from quorum.infrastructure.execution.sandbox.repository_folders import explain_unfit_target, find_main_folder

_MOST_NAMED = 5
_MOST_EXCLUDED_BYTES = 1 << 20
_REMEDY = "name what it needs in [worktrees] of quorum.toml: docs/worktrees.md"


class FolderLinks:
    """Makes the links of one worktree. All methods block, and raise WorktreeRefused where git fails.

    `worktree` is the top of a linked working tree; `policy` says what in it is protected and sensitive.
    """

    def __init__(self, worktree: str, environ: Mapping[str, str], policy: PathPolicy) -> None:
        self._worktree = os.path.realpath(worktree)
        self._policy = policy
        main = find_main_folder(self._worktree)
        if main is None:
            raise WorktreeRefused(f"{make_printable(worktree)} is no worktree of another folder")
        self._main = main
        try:
            self._git = GitReader(Path(main), environ)
        except ToolError as error:
            raise WorktreeRefused(f"{make_printable(main)} cannot be read: {error}") from error
        if os.path.realpath(self._git.top) != main:
            raise WorktreeRefused(f"the settings of git lead from {make_printable(main)} to another folder")

    def make(self, names: Sequence[str]) -> Iterator[str]:
        """Link these folders; yields a sentence about each that cannot be."""
        for name in names:
            if (why := self._link(name)) is not None:
                yield f"{name} is not linked: {why}"

    def describe_missing(self) -> str:
        """What git ignores at the top of the main working tree and is not in this one: folders, and sensitive
        files. Caches are left out, which programs make anew. Empty where nothing is missing."""
        listed = self._run("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
        names = []
        for entry in os.fsdecode(listed).split("\0"):
            name = entry.rstrip("/")
            is_wanted = entry.endswith("/") or self._policy.is_sensitive(os.path.join(self._worktree, name))
            if not name or "/" in name or "cache" in name or not is_wanted:
                continue
            if not os.path.lexists(os.path.join(self._worktree, name)):
                names.append(make_printable(name, newlines=False))
        if not names:
            return ""
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        return f"not in this worktree, as git ignores it: {', '.join(names[:_MOST_NAMED])}{more}; {_REMEDY}"

    def _link(self, name: str) -> str | None:
        """Link one folder; why it cannot be, if so. What is there already stays."""
        if (flaw := explain_unfit_link(name)) is not None:
            return flaw
        target, place = os.path.join(self._main, name), os.path.join(self._worktree, name)
        if os.path.islink(place) and os.readlink(place) == target:
            return None
        if os.path.lexists(place):
            return "something else leads to it here" if os.path.islink(place) else None
        if self._policy.is_protected(place):
            return "it is protected"
        if (why := explain_unfit_target(target, self._policy)) is not None:
            return f"of {make_printable(target)}, {why}"
        if is_below_any(self._worktree, (target,)):
            return "the worktree lies in it"
        if not self._run("check-ignore", "--", name, fine=(0, 1)):
            return "git does not ignore it in the main working tree; add it to .gitignore"
        parent = os.path.dirname(place)
        if os.path.realpath(parent) != parent or not os.path.isdir(parent):
            return f"{make_printable(os.path.dirname(name))} is no folder of the worktree"
        try:
            self._exclude(f"/{name}")
            os.symlink(target, place)
        except OSError as error:
            return f"{error.strerror or error}"
        return None

    def _exclude(self, pattern: str) -> None:
        """Have git ignore the link: a pattern with a slash at its end, as `.venv/`, does not cover links.

        Raises OSError, also where a link stands in the file's place.
        """
        info = os.path.join(self._main, ".git", "info")
        if os.path.islink(info):
            raise OSError(f"{make_printable(info)} is a link, so nothing is written there")
        os.makedirs(info, exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(os.path.join(info, "exclude"), flags, 0o644), "r+b") as file:
            file.seek(0)
            known = file.read(_MOST_EXCLUDED_BYTES)
            if pattern.encode() in known.splitlines():
                return
            start = b"" if not known or known.endswith(b"\n") else b"\n"
            file.write(start + pattern.encode() + b"\n")

    def _run(self, *arguments: str, fine: Sequence[int] = (0,)) -> bytes:
        try:
            return self._git.run(*arguments, fine=fine)
        except ToolError as error:
            raise WorktreeRefused(str(error)) from error
