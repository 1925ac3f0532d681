"""Makes, shows, merges and drops the git worktrees of tabs.

No program that the repository names is started. Folders that git ignores, such as `.venv` and `node_modules`,
can be linked from a worktree to the main working tree.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from quorum.domain.errors import ToolError, WorktreeRefused
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.text.paths import is_below_any
from quorum.domain.text.printable import make_printable
from quorum.domain.worktree import (
    BRANCH_PREFIX,
    OpenedWorktree,
    Worktree,
    WorktreeChange,
    WorktreeLoss,
    explain_unfit_link,
    is_worktree_name,
)
from quorum.infrastructure.changes.git_reader import GitReader
from quorum.infrastructure.execution.sandbox.repository_places import explain_unfit_target, find_main_folder

_MOST_NAMED = 5
_MOST_EXCLUDED_BYTES = 1 << 20
_INSTALLED = frozenset({".venv", "venv", "node_modules", "bower_components", "vendor", "Pods", "deps", "_opam"})
"""Folders of what installers bring: builds read them, and behind a link the sandbox has nothing written."""


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
        self.main = main
        """The top of the main working tree."""
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

    def has_source(self, name: str) -> bool:
        """Whether the main working tree has something of this name."""
        return os.path.lexists(os.path.join(self.main, name))

    def find_installed(self) -> tuple[str, ...]:
        """The folders of what installers bring that the main working tree has and this one lacks, and that can
        be linked."""
        return tuple(filter(self._is_installed, self._find_missing()))

    def describe_missing(self) -> str:
        """What git ignores at the top of the main working tree and is not in this one: folders, and sensitive
        files. Caches are left out, which programs make anew. Empty where nothing is missing."""
        missing = self._find_missing()
        if not missing:
            return ""
        names = [make_printable(name, newlines=False) for name in missing]
        lacks = ", ".join(names[:_MOST_NAMED])
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        links = ", ".join(f'"{name}"' for name in missing if self._is_installed(name))
        remedy = f"links = [{links}] links folders, " if links else ""
        return (
            f"this worktree lacks what git ignores: {lacks}{more}; in quorum.toml, below [worktrees], {remedy}"
            'setup = "COMMAND" makes what is needed'
        )

    def _is_installed(self, name: str) -> bool:
        return name in _INSTALLED and self._explain_unfit_ends(*self._locate(name)) is None

    def _locate(self, name: str) -> tuple[str, str]:
        """Where a link of this name leads, and where it is made."""
        return os.path.join(self.main, name), os.path.join(self._worktree, name)

    def _find_missing(self) -> list[str]:
        listed = self._run("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
        missing = []
        for entry in os.fsdecode(listed).split("\0"):
            name = entry.rstrip("/")
            is_wanted = entry.endswith("/") or self._policy.is_sensitive(os.path.join(self._worktree, name))
            if not name or "/" in name or "cache" in name or not is_wanted:
                continue
            if not os.path.lexists(os.path.join(self._worktree, name)):
                missing.append(name)
        return missing

    def _link(self, name: str) -> str | None:
        """Link one folder; why it cannot be, if so. What is there already stays."""
        if (flaw := explain_unfit_link(name)) is not None:
            return flaw
        target, place = self._locate(name)
        if os.path.islink(place) and os.readlink(place) == target:
            return None
        if os.path.lexists(place):
            return "something else leads to it here" if os.path.islink(place) else None
        if (flaw := self._explain_unfit_ends(target, place)) is not None:
            return flaw
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

    def _explain_unfit_ends(self, target: str, place: str) -> str | None:
        """Why no link at this place may lead to this folder; None where one may."""
        if self._policy.is_protected(place):
            return "it is protected"
        if (why := explain_unfit_target(target, self._policy)) is not None:
            return f"of {make_printable(target)}, {why}"
        return "the worktree lies in it" if is_below_any(self._worktree, (target,)) else None

    def _exclude(self, pattern: str) -> None:
        """Have git ignore the link: a pattern with a slash at its end, as `.venv/`, does not cover links.

        Raises OSError, also where a link stands in the file's place.
        """
        info = os.path.join(self.main, ".git", "info")
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


_MOST_FILES = 100
_INCLUDED = re.compile(r"include(?:if\..+)?\.path", re.DOTALL)
_PREFIX = "%(prefix)/"


def list_possible_keys(run: Callable[..., bytes], folder: str) -> frozenset[str]:
    """The keys of all of them, as git lists them in a folder. Raises ToolError where they cannot be known.

    `run` runs a command of git there.
    """
    keys: set[str] = set()
    waiting, seen = [""], {""}
    while waiting:
        file = waiting.pop()
        listed = _list_settings(run, file)
        for origin, key, value in listed:
            keys.add(key)
            if not _INCLUDED.fullmatch(key):
                continue
            included = _locate(value, os.path.join(folder, origin))
            if included not in seen:
                seen.add(included)
                waiting.append(included)
        if len(seen) > _MOST_FILES:
            raise ToolError(f"the settings of git include more than {_MOST_FILES} files")
    return frozenset(keys)


def _list_settings(run: Callable[..., bytes], file: str) -> list[tuple[str, str, str]]:
    """The origin, key and value of each setting of a file; of all that hold now where none is given."""
    if file and not os.path.lexists(file):
        return []
    source = ("--no-includes", "--file", file) if file else ()
    fields = os.fsdecode(run("config", "-z", "--show-origin", *source, "--list")).split("\0")
    settings = []
    for origin, setting in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = setting.partition("\n")
        settings.append((origin.removeprefix("file:"), key, value))
    return settings


def _locate(value: str, origin: str) -> str:
    """Where an included file lies, as named in a file."""
    if value.startswith(_PREFIX):
        raise ToolError(f"it is not known where git finds {value}, which its settings include")
    return os.path.normpath(os.path.join(os.path.dirname(origin), os.path.expanduser(value)))


_LONGEST_REASON = 300
_NAMED = re.compile(r"(?P<kind>filter|merge|branch)\.(?P<name>.+)\.[^.]+", re.DOTALL | re.IGNORECASE)
# An empty filter changes nothing. A merge driver that fails leaves a conflict, which is said and taken back.
# The options of merges could name a strategy, which is a program.
_OVERRIDDEN = {
    "filter": {"smudge": "", "clean": "", "process": "", "required": "false"},
    "merge": {"driver": "false", "recursive": "binary"},
    "branch": {"mergeOptions": ""},
}
_STRATEGY = "recursive"
_FIXED = {
    "commit.gpgSign": "false",
    "core.editor": "false",
    # Without it a ref may be empty after a loss of power, which what is recorded of it is not.
    "core.fsync": "committed,reference",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "merge.autoStash": "false",
    "merge.verifySignatures": "false",
    "pull.octopus": _STRATEGY,
    "pull.twohead": _STRATEGY,
    "rerere.enabled": "false",
    "tag.gpgSign": "false",
}


class GitWriter(GitReader):
    """As `GitReader`, for commands that also write. All methods block, and raise ToolError where git fails."""

    def __init__(self, root: Path, environ: Mapping[str, str], held: Path | None = None) -> None:
        super().__init__(root, environ, held=held)
        keys = list_possible_keys(self.run, str(self.top))
        settings = (*_FIXED.items(), *_override_named(keys))
        first = int(self._environment["GIT_CONFIG_COUNT"])
        self._environment["GIT_CONFIG_COUNT"] = str(first + len(settings))
        for place, (key, value) in enumerate(settings, first):
            self._environment[f"GIT_CONFIG_KEY_{place}"] = key
            self._environment[f"GIT_CONFIG_VALUE_{place}"] = value
        self._environment.pop("GIT_NO_REPLACE_OBJECTS", None)

    def run_in_environment(self, more: Mapping[str, str], *arguments: str, given: bytes = b"") -> bytes:
        """What a command prints that has these variables in its environment as well."""
        output, code, errors = self._run(arguments, given, self.top, more)
        if code != 0:
            said = make_printable(errors.decode("utf-8", "replace").strip(), newlines=False)[:_LONGEST_REASON]
            raise ToolError(f"git {arguments[0]} failed: {said or f'exit code {code}'}")
        return output


def _override_named(keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What has no filter, merge driver and merge strategy of these settings run."""
    found = {(match["kind"].lower(), match["name"]) for key in keys if (match := _NAMED.fullmatch(key))}
    for kind, name in sorted(found):
        for setting, value in _OVERRIDDEN[kind].items():
            yield f"{kind}.{name}.{setting}", value


_NAME_RULE = "a worktree's name is at most 40 letters, digits, _ and -, and not diff, merge or drop"


class _Checkout(NamedTuple):
    """A folder into which a commit is checked out; `branch` is empty where HEAD is on none."""

    folder: str
    branch: str


class GitWorktrees:
    """The worktrees that quorum made of the repository around `root`, each in a folder below `places`.

    Where each began is in the settings of its branch, so that another process finds it. All methods block, and
    raise WorktreeRefused with what to do.
    """

    def __init__(self, root: Path, environ: Mapping[str, str], places: Path) -> None:
        self._environ = environ
        self._root = Path(os.path.realpath(root))
        try:
            self._git = GitWriter(root, environ)
        except ToolError as error:
            raise WorktreeRefused(
                f"{make_printable(str(root))} is in no git repository with a working tree, so it has no "
                f"worktrees; git init makes one ({error})"
            ) from error
        if not self._root.is_relative_to(self._git.top):
            raise WorktreeRefused(
                f"the files of this repository lie in {make_printable(str(self._git.top))}, by its "
                "core.worktree; worktrees are made from there"
            )
        common = os.fsdecode(self._read_line("rev-parse", "--git-common-dir"))
        self._common = Path(os.path.realpath(self._git.top / common))
        name = hashlib.sha256(os.fsencode(self._common)).hexdigest()[:12]
        self._places = Path(os.path.realpath(places)) / name

    def find_repository(self) -> Path | None:
        """The folder whose files the worktrees are copies of, if the folder that was opened lies in it or in
        one of them. Nothing that the repository's settings say decides it."""
        folder = self._common.parent
        is_inside = any(self._root.is_relative_to(each) for each in (folder, self._places))
        return folder if is_inside and self._common.name == ".git" else None

    def open(self, name: str) -> OpenedWorktree:
        """The worktree of this name; where there is none, a new one at the last commit of the branch that is
        checked out. One whose folder is gone gets it back, at the last commit of its branch."""
        if not is_worktree_name(name):
            raise WorktreeRefused(_NAME_RULE)
        found = next((each for each in self.list() if each.name == name), None)
        if found is not None and os.path.isdir(found.folder):
            return self._describe_opened(found, is_new=False)
        branch, folder = f"{BRANCH_PREFIX}{name}", self._places / name
        has_branch = bool(self._git.find_commit(f"refs/heads/{branch}"))
        onto, base = self._read_setting(branch, "quorumOnto"), self._read_setting(branch, "quorumBase")
        self._check_place(folder)
        if has_branch and onto and base:
            self._run("worktree", "prune")
            self._check_out(folder, str(folder), branch)
            known = Worktree(name=name, folder=str(folder), branch=branch, base=base, onto=onto)
            return self._describe_opened(known, is_new=False, is_checked_out=True)
        if has_branch:
            raise WorktreeRefused(f"the branch {branch} exists already; choose another name, or remove it")
        return self._describe_opened(self._create(name, branch, folder), is_new=True, is_checked_out=True)

    def _check_place(self, folder: Path) -> None:
        if self._git.top.is_relative_to(self._places):
            raise WorktreeRefused(
                "this tab works in a worktree already; open another from a tab of the repository"
            )
        if above := os.fsdecode(self._read_line("rev-parse", "--show-superproject-working-tree")):
            raise WorktreeRefused(
                f"this is a submodule of {make_printable(above)}, whose commits name it; start quorum there, "
                "and open the worktree of that repository"
            )
        if os.path.lexists(folder):
            raise WorktreeRefused(
                f"{make_printable(str(folder))} exists already; choose another name, or remove it"
            )

    def _create(self, name: str, branch: str, folder: Path) -> Worktree:
        onto = self._git.run("symbolic-ref", "--quiet", "--short", "HEAD", fine=(0, 1)).decode().strip()
        if not onto:
            raise WorktreeRefused("HEAD is on no branch; check one out first, as with git switch BRANCH")
        base = self._git.find_commit("HEAD")
        if not base:
            raise WorktreeRefused("the repository has no commit yet; make the first, and then a worktree")
        self._make_folder(folder.parent)
        # Before the branch is there: whoever finds it knows where it began, also after a crash in between.
        self._run("config", f"branch.{branch}.quorumOnto", onto)
        self._run("config", f"branch.{branch}.quorumBase", base)
        self._check_out(folder, "-b", branch, str(folder), base)
        return Worktree(name=name, folder=str(folder), branch=branch, base=base, onto=onto)

    def _check_out(self, folder: Path, *arguments: str) -> None:
        """Add a worktree, its files under the settings that hold in it: what git copies for it may include
        other files than in the repository."""
        self._run("worktree", "add", "--quiet", "--no-checkout", *arguments)
        try:
            GitWriter(folder, self._environ).run("reset", "--hard", "--quiet", "--no-recurse-submodules")
        except (ToolError, OSError) as error:
            self._run("worktree", "remove", "--force", str(folder))
            raise WorktreeRefused(f"the files cannot be checked out: {error}") from error

    def _make_folder(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise WorktreeRefused(
                f"{make_printable(str(folder))} cannot be made ({error.strerror}); set XDG_DATA_HOME to a "
                "folder that can be written to"
            ) from error

    def _describe_opened(
        self, worktree: Worktree, *, is_new: bool, is_checked_out: bool = False
    ) -> OpenedWorktree:
        inside = Path(worktree.folder)
        notices = []
        if self._root.is_relative_to(self._git.top):
            inside = inside / self._root.relative_to(self._git.top)
        if not inside.is_dir():
            notices.append(f"{make_printable(inside.name)} is in no commit, so the tab works at the top")
            inside = Path(worktree.folder)
        if is_new and (inside / ".gitmodules").exists():
            notices.append("submodules are not checked out in a worktree")
        return OpenedWorktree(
            worktree=worktree,
            folder=inside,
            is_new=is_new,
            is_checked_out=is_checked_out,
            notices=tuple(notices),
        )

    def list(self) -> tuple[Worktree, ...]:
        """Those that there are, also those that a process left behind."""
        found = []
        for place in (Path(each.folder) for each in self._list_checkouts()):
            branch = f"{BRANCH_PREFIX}{place.name}"
            if place.parent != self._places:
                continue
            onto, base = self._read_setting(branch, "quorumOnto"), self._read_setting(branch, "quorumBase")
            if onto and base:
                found.append(Worktree(name=place.name, folder=str(place), branch=branch, base=base, onto=onto))
        return tuple(found)

    def find(self, folder: Path) -> Worktree | None:
        """The worktree that a folder lies in."""
        here = Path(os.path.realpath(folder))
        return next((each for each in self.list() if here.is_relative_to(each.folder)), None)

    def read_change(self, worktree: Worktree) -> WorktreeChange:
        """What a merge would bring: all that differs from where both part, files included that are in no
        commit."""
        git = self._open(worktree)
        head, onto = self._find_head(worktree), self._git.find_commit(f"refs/heads/{worktree.onto}")
        base = (self._git.find_merge_base(onto, head) if onto else "") or self._git.find_commit(worktree.base)
        if not base:
            raise WorktreeRefused(f"the commit at which {worktree.branch} began is not in this repository")
        with tempfile.TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
            try:
                git.run_in_environment(index, "read-tree", "HEAD")
                git.run_in_environment(index, "add", "--all")
                found = git.run_in_environment(
                    index, "diff", "--cached", "--no-ext-diff", "--no-textconv", "--no-color", base
                )
            except ToolError as error:
                raise WorktreeRefused(f"the worktree {worktree.name} cannot be compared: {error}") from error
        target = next((each.folder for each in self._list_checkouts() if each.branch == worktree.onto), "")
        return WorktreeChange(
            worktree=worktree,
            target=target,
            diff=found.decode("utf-8", "surrogateescape"),
            brings=self.find_loss(worktree),
            obstacle=self._find_obstacle(worktree, target),
        )

    def find_loss(self, worktree: Worktree) -> WorktreeLoss:
        """What is in no other place, and would be lost if the worktree were dropped."""
        self._find_head(worktree)
        onto = f"refs/heads/{worktree.onto}"
        if not self._git.find_commit(onto):
            onto = self._git.find_commit(worktree.base)
        without = (f"^{onto}",) if onto else ()
        count = self._read_line("rev-list", "--count", f"refs/heads/{worktree.branch}", *without, "--")
        files = _list_dirty(self._open(worktree)) if os.path.isdir(worktree.folder) else ()
        return WorktreeLoss(commits=int(count.decode("ascii")), files=files)

    def merge(self, change: WorktreeChange, message: str) -> None:
        """Commit what is not committed in the worktree, and merge its branch into the one it began at.

        It is merged if it still is what the change says. On conflicts nothing is merged; the commit in the
        worktree stays.
        """
        worktree = change.worktree
        target = self._open_target(worktree, change.target)
        if self.read_change(worktree).digest != change.digest:
            raise WorktreeRefused(f"{worktree.name} has changed since it was shown; look at it once more")
        git = self._open(worktree)
        if _list_dirty(git):
            self._run("add", "--all", git=git)
            self._run("commit", "--quiet", "--no-verify", "-m", message, git=git)
        try:
            target.run(
                "merge", "--quiet", "--no-edit", "--no-verify", "--no-stat", "-m", message, worktree.branch
            )
        except ToolError as error:
            unmerged = os.fsdecode(target.run("diff", "--name-only", "--diff-filter=U", "-z")).split("\0")
            if target.find_commit("MERGE_HEAD"):
                self._run("merge", "--abort", git=target)
            names = [make_printable(each, newlines=False) for each in unmerged if each]
            why = f"conflicts in {_name_some(names)}" if names else str(error)
            raise WorktreeRefused(
                f"{worktree.branch} cannot be merged into {worktree.onto}: {why}. Nothing is merged; merge "
                f"{worktree.onto} in the worktree, and try again"
            ) from error

    def _find_obstacle(self, worktree: Worktree, target: str) -> str:
        try:
            self._open_target(worktree, target)
        except WorktreeRefused as refusal:
            return str(refusal)
        return ""

    def _open_target(self, worktree: Worktree, folder: str) -> GitWriter:
        onto = worktree.onto
        if not folder:
            raise WorktreeRefused(f"check out {onto} first: the worktree {worktree.name} began there")
        try:
            target = GitWriter(Path(folder), self._environ)
        except (ToolError, OSError) as error:
            raise WorktreeRefused(f"{make_printable(folder)} cannot be read: {error}") from error
        dirty = [each[_STATUS_LETTERS:] for each in _list_dirty(target) if not each.startswith("?? ")]
        if dirty:
            raise WorktreeRefused(
                f"{onto} has changes that are not committed ({_name_some(dirty)}); commit or stash them first"
            )
        return target

    def drop(self, worktree: Worktree, loss: WorktreeLoss) -> None:
        """Remove the worktree and its branch, with all that is in them alone, if that still is this loss."""
        if self.find_loss(worktree) != loss:
            raise WorktreeRefused(f"{worktree.name} has changed since you were asked; nothing is dropped")
        self._run("worktree", "remove", "--force", worktree.folder)
        self._run("branch", "--quiet", "-D", worktree.branch)

    def _find_head(self, worktree: Worktree) -> str:
        head = self._git.find_commit(f"refs/heads/{worktree.branch}")
        if not head:
            raise WorktreeRefused(f"the branch {worktree.branch} is gone; git worktree remove removes the rest")
        return head

    def _list_checkouts(self) -> tuple[_Checkout, ...]:
        entries = os.fsdecode(self._run("worktree", "list", "--porcelain")).split("\n\n")
        fields = [dict(line.partition(" ")[::2] for line in entry.split("\n") if line) for entry in entries]
        return tuple(
            _Checkout(each["worktree"], each.get("branch", "").removeprefix("refs/heads/"))
            for each in fields
            if "worktree" in each
        )

    def _open(self, worktree: Worktree) -> GitWriter:
        try:
            git = GitWriter(Path(worktree.folder), self._environ)
        except (ToolError, OSError) as error:
            raise WorktreeRefused(
                f"the files of the worktree {worktree.name} cannot be read ({error}); /worktree "
                f"{worktree.name} checks them out again if they are gone"
            ) from error
        if str(git.top) != os.path.realpath(worktree.folder):
            raise WorktreeRefused(
                f"{make_printable(worktree.folder)} leads git to {make_printable(str(git.top))}; git worktree "
                "repair mends that"
            )
        head = git.run("symbolic-ref", "--quiet", "HEAD", fine=(0, 1)).decode().strip()
        if head != f"refs/heads/{worktree.branch}":
            raise WorktreeRefused(
                f"another branch than {worktree.branch} is checked out in {make_printable(worktree.folder)}; "
                "check that one out there again"
            )
        return git

    def _read_setting(self, branch: str, name: str) -> str:
        return self._git.run("config", "--get", f"branch.{branch}.{name}", fine=(0, 1)).decode().strip()

    def _read_line(self, *arguments: str) -> bytes:
        return self._run(*arguments).removesuffix(b"\n")

    def _run(self, *arguments: str, git: GitWriter | None = None) -> bytes:
        try:
            return (git or self._git).run(*arguments)
        except ToolError as error:
            raise WorktreeRefused(str(error)) from error


def _list_dirty(git: GitWriter) -> tuple[str, ...]:
    status = os.fsdecode(git.run("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all"))
    return tuple(make_printable(entry, newlines=False) for entry in status.split("\0") if entry)


_STATUS_LETTERS = 3


def _name_some(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
