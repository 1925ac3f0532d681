"""Which folders hold what programs make anew: their files are watched, their contents are not kept."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence

from quorum.domain.calls.effects import FileMark
from quorum.infrastructure.files.searching import IgnoreRules

# Made anew by their programs, also where no ignore file says so.
_MADE_ANEW = frozenset(
    {"node_modules", ".venv", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".nox"}
)
RULE_FILES = ("/.gitignore", "/.ignore", "/.git/info/exclude")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class IgnoredFolders:
    """Tells ignored folders from others, reading each folder's ignore file once until one of them changes.

    A single ignored file is none of them: settings and notes are often kept out of a repository, and nothing
    else could give them back.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        """`roots` may grow, see `WorkspaceRoots`."""
        self._roots = roots
        self._bases: dict[str, str] = {}
        self._rules: dict[str, IgnoreRules | None] = {}
        self._ignored: dict[str, bool] = {}
        self._seen: dict[str, FileMark] = {}

    def refresh(self, marks: Mapping[str, FileMark]) -> None:
        """Take note of the files of the whole workspace, and of ignore files that are not what they were."""
        seen = {path: mark for path, mark in marks.items() if path.endswith(RULE_FILES)}
        if seen != self._seen:
            self._seen = seen
            self._rules.clear()
            self._ignored.clear()

    def contains(self, path: str) -> bool:
        """Whether a file lies in an ignored folder."""
        folder = path.rpartition("/")[0]
        if (is_ignored := self._ignored.get(folder)) is None:  # hundreds of thousands may lie in some folders
            if (root := self._find_root(path)) is None:
                return False
            is_ignored = self._ignored[folder] = self._read_rules(os.path.dirname(path), root) is None
        return is_ignored

    def covers(self, path: str, changed_rules: Collection[str] = ()) -> bool:
        """Whether a file lies in an ignored folder or is ignored itself.

        What the ignore files in `changed_rules` say does not count: whoever changes a file could hide that.
        """
        root = self._find_root(path)
        if root is None or any(path.startswith(_find_ruled_folder(rules)) for rules in changed_rules):
            return False
        rules = self._read_rules(os.path.dirname(path), root)
        return rules is None or rules.ignore(_list_names(self._find_base(root), path), is_folder=False)

    def is_made_anew(self, path: str) -> bool:
        """Whether a file lies in a folder that a program fills, whatever ignore files say."""
        root = self._find_root(path)
        return root is not None and not _MADE_ANEW.isdisjoint(path[len(root) :].split("/")[:-1])

    def _find_root(self, path: str) -> str | None:
        holding = (root for root in self._roots if path.startswith(root.rstrip("/") + "/"))
        return max(holding, key=len, default=None)

    def _read_rules(self, folder: str, root: str) -> IgnoreRules | None:
        """The rules inside a folder at or below the root; None where it is ignored."""
        if folder not in self._rules:
            self._rules[folder] = (
                self._read_rules_at_root(root) if folder == root else self._enter(folder, root)
            )
        return self._rules[folder]

    def _enter(self, folder: str, root: str) -> IgnoreRules | None:
        above, name = os.path.split(folder)
        rules = self._read_rules(above, root)
        if rules is None or name == ".git":
            return rules
        names = _list_names(self._find_base(root), folder)
        if name in _MADE_ANEW or rules.ignore(names, is_folder=True):
            return None
        return _enter_folder(rules, folder, len(names))

    def _find_base(self, root: str) -> str:
        if root not in self._bases:
            self._bases[root] = _find_repository(root)
        return self._bases[root]

    def _read_rules_at_root(self, root: str) -> IgnoreRules:
        """The rules from the repository that holds the root.

        Whoever works in an ignored folder means what is in it.
        """
        base, rules = self._find_base(root), IgnoreRules()
        names = _list_names(base, root)
        for depth in range(len(names) + 1):
            rules = _enter_folder(rules, os.path.join(base, *names[:depth]), depth)
            if depth < len(names) and rules.ignore(names[: depth + 1], is_folder=True):
                rules = IgnoreRules()
        return rules


def _find_repository(root: str) -> str:
    """The folder of the repository that the root lies in; the root itself where there is none."""
    folder = root
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return root
        folder = above
    return folder


def _find_ruled_folder(rules: str) -> str:
    """The folder, with its slash, in which an ignore file rules."""
    return next(rules.removesuffix(end) for end in RULE_FILES if rules.endswith(end)) + "/"


def _list_names(base: str, path: str) -> tuple[str, ...]:
    return () if path == base else tuple(path.removeprefix(base.rstrip("/") + "/").split("/"))


def _enter_folder(rules: IgnoreRules, folder: str, depth: int) -> IgnoreRules:
    try:
        opened = os.open(folder, _FOLDER)
    except OSError:
        return rules
    try:
        return rules.enter(opened, os.listdir(opened), depth)
    finally:
        os.close(opened)
