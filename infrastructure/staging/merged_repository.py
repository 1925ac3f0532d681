"""Carries what a subagent committed and staged over into the repository of its session's layer, by git.

A branch that somebody else moved meanwhile gets a merge of both where git makes one by itself; otherwise the
earlier commits stay, and the others have a branch beside it, under the subagent's name.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from quorum.domain.errors import ToolError
from quorum.domain.text.git_head import is_commit
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.git_worktrees import GitWriter
from quorum.infrastructure.staging.change_journal import RefMove
from quorum.infrastructure.staging.layer_repository import (
    HEAD,
    INDEX,
    LayerRepository,
    name_unfit_refs,
    read_head,
)
from quorum.infrastructure.staging.upper_folder import is_whiteout, read_status

_GIT = ".git"
_HEADS, _STASH = "refs/heads/", "refs/stash"
_OF_ONE_TREE = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
# What else may lie in a repository is a state of git at work, or leads out of the layer.
_MERGED_AS_FILES = frozenset({"config", "description", "hooks", "info"})
_MOST_NAMED = 5
_SHORT = 10


class RepositoryPlan(NamedTuple):
    """Where refs go, and what the files of git then hold that are put anew. `remarks` are sentences."""

    refs: tuple[RefMove, ...] = ()
    files: Mapping[str, bytes] = MappingProxyType({})
    remarks: tuple[str, ...] = ()


class RepositoryMerger:
    """Plans it for what `upper` has over the folder `base`, for the workspace `target` that began as that, too.

    `name` is the subagent's, and `scratch` the folder of the layer in which git may work. All methods block.
    """

    def __init__(
        self, upper: str, base: str, target: str, name: str, scratch: Path, environ: Mapping[str, str]
    ) -> None:
        self._upper = f"{upper}/{_GIT}"
        self._base = f"{base}/{_GIT}"
        self._target = target
        self._name = name.replace("..", ".")
        self._apart = LayerRepository(upper, base, target, scratch, environ)
        self._session = LayerRepository(upper, target, target, scratch, environ)
        self._is_there = self._apart.is_there and self._session.is_there
        self._is_new = read_status(self._base) is None and read_status(f"{target}/{_GIT}") is None
        self._beside: dict[str, str] = {}
        self._refs: dict[str, str] = {}
        self._broken: frozenset[str] = frozenset()
        self._left_out: set[str] = set()
        self._remarks: list[str] = []

    def covers(self, path: str) -> bool:
        """Whether a path of the workspace is none that is merged as a file."""
        if path.rstrip("/") != _GIT and not path.startswith(f"{_GIT}/"):
            return False
        if not self._is_there:
            return not self._is_new and os.path.isdir(f"{self._target}/{_GIT}")
        name = path[len(_GIT) + 1 :].partition("/")[0]
        return bool(name) and name not in _MERGED_AS_FILES

    def plan(self, covered: Sequence[str]) -> RepositoryPlan:
        """Plan it, and give the repository of the session the objects; nothing names them yet. `covered` are
        the changed paths that are no files here. Raises StagingError."""
        if not self._is_there:
            lost = ("it removed .git, or made another: the one of the session stays",) if covered else ()
            return RepositoryPlan(remarks=lost)
        self._name_left_out(covered)
        self._remarks += name_unfit_refs(self._apart.list_unfit_refs())
        before, after = self._apart.read_refs(merged=False), self._apart.read_refs(merged=True)
        self._refs = self._session.read_refs(merged=False)
        changed = [ref for ref in sorted(before.keys() | after.keys()) if before.get(ref) != after.get(ref)]
        is_looked_at = any((read_status(f"{self._upper}/{name}") is not None) for name in ("HEAD", "index"))
        if not changed and not is_looked_at:
            return RepositoryPlan(remarks=tuple(self._remarks))
        with self._session.open_merged() as git:
            old = dict(self._refs)
            heads = _Heads.of(self._base, self._upper, f"{self._target}/{_GIT}")
            stash = self._list_stash()
            named = {after[ref] for ref in changed if ref in after} | {*stash}
            self._broken = self._find_broken(git, named | ({heads.after} if is_commit(heads.after) else set()))
            for ref in changed:
                if not ref.startswith((*_OF_ONE_TREE, _STASH)):
                    self._place(git, ref, before.get(ref, ""), after.get(ref, ""))
            self._keep_stash(stash)
            head = self._place_head(heads, before, old)
            index = self._merge_index(git, heads, head, after, old)
            moved = [
                RefMove(ref=ref, old=old.get(ref, ""), new=self._refs.get(ref, ""))
                for ref in sorted(old.keys() | self._refs.keys())
                if old.get(ref) != self._refs.get(ref)
            ]
            wanted = [each.new for each in moved if each.new]
            if is_commit(heads.after) and heads.after not in self._broken:
                wanted.append(heads.after)
            if wanted or index is not None:
                real = self._session.open_real(self._target)
                if index is not None:
                    missing = [*self._session.list_missing(git, real, index)]
                    if self._find_broken(git, missing):
                        self._remarks.append("what it staged is left out: git cannot read all of it")
                        index, missing = None, []
                    wanted += missing
                self._session.carry(git, real, wanted)
            files = {HEAD: _write_head(head)} if head != heads.now else {}
            if index is not None:
                files[INDEX] = index.read_bytes()
            return RepositoryPlan(
                refs=tuple(moved),
                files=files,
                remarks=tuple(self._remarks),
            )

    def _name_left_out(self, covered: Sequence[str]) -> None:
        lost = [path for path in covered if not self._apart.covers(path)]
        if lost:
            more = f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
            shown = ", ".join(make_printable(each, newlines=False) for each in lost[:_MOST_NAMED])
            self._remarks.append(f"{shown}{more}, of git at work or of other folders, is left out")

    def _place(self, git: GitWriter, ref: str, before: str, after: str) -> None:
        """Have a ref that was moved be where it is to be."""
        now = self._refs.get(ref, "")
        if now == after:
            return
        if after in self._broken:
            self._left_out.add(ref)
            self._remarks.append(f"git cannot read all of what it committed on {ref}: that is left out")
        elif not after:
            if now == before:
                del self._refs[ref]
            else:
                self._remarks.append(f"it deleted {ref}, which somebody else moved meanwhile: that stays")
        elif now == before and not self._is_in_the_way(ref):
            self._refs[ref] = after
        elif not now and not self._is_in_the_way(ref):
            self._refs[ref] = after
            self._remarks.append(f"{ref}, which somebody else deleted meanwhile, is there again")
        elif now and ref.startswith(_HEADS) and (merged := self._merge(git, ref, now, after)):
            self._refs[ref] = merged
        else:
            self._put_beside(ref, after)

    def _merge(self, git: GitWriter, ref: str, now: str, after: str) -> str:
        """A commit that has both, made where neither has the other; empty where git makes none by itself."""
        if git.is_ancestor(after, now):
            return now
        if git.is_ancestor(now, after):
            return after
        try:
            tree = git.run("merge-tree", "--write-tree", "--no-messages", now, after).decode("ascii").strip()
            who = git.run("log", "-1", "--format=%cn%x00%ce", after).decode("utf-8", "replace").strip()
            name, _, address = who.partition("\0")
            people = {f"GIT_{part}_NAME": name for part in ("AUTHOR", "COMMITTER")}
            people |= {f"GIT_{part}_EMAIL": address for part in ("AUTHOR", "COMMITTER")}
            text = f"Merge commits of {self._name} into {ref.removeprefix(_HEADS)}"
            made = git.run_in_environment(people, "commit-tree", tree, "-p", now, "-p", after, "-m", text)
        except ToolError:  # both changed the same lines, the histories have nothing in common, an older git
            return ""
        merged = made.decode("ascii").strip()
        self._remarks.append(
            f"{ref.removeprefix(_HEADS)} was moved by somebody else meanwhile, too: {merged[:_SHORT]} merges "
            f"both, and its last commit is still {after[:_SHORT]}"
        )
        return merged

    def _put_beside(self, ref: str, after: str) -> None:
        beside = self._find_name_beside(ref, after)
        self._beside[ref] = self._beside[beside] = beside
        if self._refs.get(beside) != after:
            self._refs[beside] = after
        uncommitted = (
            ", and in the workspace as changes that are not committed" if ref.startswith(_HEADS) else ""
        )
        self._remarks.append(
            f"{ref.removeprefix(_HEADS)} was moved by somebody else meanwhile, and git cannot merge both by "
            f"itself: that stays, and what it committed is on {beside.removeprefix(_HEADS)}{uncommitted}"
        )

    def _find_name_beside(self, ref: str, after: str) -> str:
        """A free name, or one that has this commit: a merge before this one failed halfway."""
        parts = ref.split("/")
        above = next((end for end in range(1, len(parts)) if "/".join(parts[:end]) in self._refs), len(parts))
        rest = "".join(f"/{part}" for part in parts[above:])
        number = 1
        while True:
            name = f"{'/'.join(parts[:above])}.{self._name}" + (f"-{number}" if number > 1 else "") + rest
            if self._refs.get(name) == after or (name not in self._refs and not self._is_in_the_way(name)):
                return name
            number += 1

    def _is_in_the_way(self, ref: str) -> bool:
        """Whether a ref is there that git cannot have beside this one."""
        parts = ref.split("/")
        return any("/".join(parts[:end]) in self._refs for end in range(1, len(parts))) or any(
            each.startswith(f"{ref}/") for each in self._refs
        )

    def _find_broken(self, git: GitWriter, commits: Collection[str]) -> frozenset[str]:
        """Those of which something is missing: any program can write what looks like a commit."""
        known = "".join(f"^{commit}\n" for commit in self._refs.values())

        def is_whole(wanted: Collection[str]) -> bool:
            given = "".join(f"{each}\n" for each in sorted(wanted)) + known
            try:
                git.run("rev-list", "--objects", "--quiet", "--stdin", given=given.encode())
            except ToolError:
                return False
            return True

        if not commits or is_whole(commits):
            return frozenset()
        return frozenset(each for each in commits if not is_whole((each,)))

    def _list_stash(self) -> list[str]:
        """What it put away."""
        known = set(_read_stash(self._base)) | set(_read_stash(f"{self._target}/{_GIT}"))
        return [commit for commit in _read_stash(self._upper) if commit not in known]

    def _keep_stash(self, stash: Sequence[str]) -> None:
        """Each has a branch: of a list of several nothing else can be merged."""
        for commit in stash:
            if commit in self._broken:
                self._remarks.append("git cannot read all of what git stash put away: that is left out")
            elif commit not in self._refs.values():
                beside = self._find_name_beside(f"{_HEADS}stash", commit)
                self._refs[beside] = commit
                self._remarks.append(
                    f"what git stash put away is on {beside.removeprefix(_HEADS)}: git stash apply takes it"
                )

    def _place_head(self, heads: _Heads, before: Mapping[str, str], old: Mapping[str, str]) -> str:
        """What is checked out in the end, a ref or a commit: another where nobody committed there meanwhile."""
        wanted = self._beside.get(heads.after, heads.after)
        if heads.after == heads.before or wanted == heads.now:
            return heads.now
        if heads.after in self._left_out or heads.after in self._broken:
            self._left_out.add(heads.after)
            return heads.now
        if heads.now == heads.before and old.get(heads.now) == before.get(heads.now):
            return wanted
        self._remarks.append(
            f"it had {wanted.removeprefix(_HEADS)} checked out at its end, and the workspace has "
            f"{heads.now.removeprefix(_HEADS)}, where somebody else committed meanwhile: that stays, and what "
            "it committed is there as changes that are not committed"
        )
        return heads.now

    def _merge_index(
        self, git: GitWriter, heads: _Heads, head: str, after: Mapping[str, str], old: Mapping[str, str]
    ) -> Path | None:
        """What is staged in the end, as a file; None where that is as it was."""
        above = read_status(f"{self._upper}/index")
        if above is None or not stat.S_ISREG(above.st_mode):
            return None
        places = f"{self._base}/index", f"{self._upper}/index", f"{self._target}/{INDEX}"
        try:
            before, theirs, now = (_parse_index(self._session.list_index(git, each)) for each in places)
        except (ToolError, _Unmerged):
            self._remarks.append("what it staged is left out: a merge of git is not finished there")
            return None
        # Whose commits are elsewhere has its changes in the working tree alone.
        if (
            before == theirs
            or heads.after in self._beside
            or heads.after in self._left_out
            or self._beside.get(heads.after, heads.after) != head
        ):
            return None
        lines = list(
            self._choose_entries(
                git,
                (before, theirs, now),
                (
                    after.get(heads.after, heads.after),
                    old.get(heads.now, heads.now),
                    self._refs.get(head, head),
                ),
            )
        )
        if not lines:
            return None
        made = git.top / "merged-index"
        if os.path.isfile(places[2]):
            shutil.copyfile(places[2], made)
        is_gone = [b"0 " in line[:2] for line in lines]
        ordered = [line for _, line in sorted(zip(is_gone, lines, strict=True), reverse=True)]
        git.run_in_environment(
            {"GIT_INDEX_FILE": str(made)},
            *("update-index", "--no-split-index", "-z", "--index-info"),
            given=b"".join(ordered),
        )
        return made

    def _choose_entries(
        self,
        git: GitWriter,
        indexes: tuple[Mapping[bytes, bytes], Mapping[bytes, bytes], Mapping[bytes, bytes]],
        commits: tuple[str, str, str],
    ) -> Iterator[bytes]:
        """What is to be staged otherwise: what it staged alone, and what both committed as it was merged."""
        before, theirs, now = indexes
        trees: list[Mapping[bytes, bytes]] = []
        for path in sorted(before.keys() | theirs.keys()):
            was, wanted, staged = before.get(path), theirs.get(path), now.get(path)
            if wanted in (was, staged):
                continue
            if staged != was:
                trees = trees or [_read_tree(git, each) for each in commits]
                if (wanted, staged) != (trees[0].get(path), trees[1].get(path)):
                    shown = make_printable(os.fsdecode(path), newlines=False)
                    self._remarks.append(f"of {shown} what somebody else staged meanwhile stays staged")
                    continue
                wanted = trees[2].get(path)
            if wanted is None:
                yield b"0 " + b"0" * len((was or staged or b" ").split(b" ")[1]) + b"\t" + path + b"\0"
            else:
                mode, oid = wanted.split(b" ")
                yield mode + b" " + oid + b" 0\t" + path + b"\0"


class _Heads(NamedTuple):
    """What was checked out when the subagent began, at its end, and what is now: a ref, or a commit."""

    before: str
    after: str
    now: str

    @classmethod
    def of(cls, base: str, upper: str, target: str) -> _Heads:
        before, now = (_read_checked_out(place) or "" for place in (base, target))
        return cls(before, _read_checked_out(upper) or before, now)


def _read_checked_out(git: str) -> str | None:
    status = read_status(f"{git}/HEAD")
    return None if status is None or is_whiteout(status) else read_head(f"{git}/HEAD", status)


def _write_head(head: str) -> bytes:
    return (f"{head}\n" if is_commit(head) else f"ref: {head}\n").encode("utf-8", "surrogateescape")


def _read_stash(git: str) -> list[str]:
    """The commits that git stash put away, as it lists them."""
    try:
        with open(f"{git}/logs/{_STASH}", encoding="utf-8", errors="surrogateescape") as file:
            found = [line.split(" ", 2)[1] for line in file if line.count(" ") > 1]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [each for each in found if is_commit(each)]


class _Unmerged(Exception):
    """An index has more than one version of a file."""


def _parse_index(listed: bytes) -> dict[bytes, bytes]:
    """The mode and the object of each path."""
    found = {}
    for entry in filter(None, listed.split(b"\0")):
        head, _, path = entry.partition(b"\t")
        mode, oid, stage = head.split(b" ")
        if stage != b"0":
            raise _Unmerged
        found[path] = mode + b" " + oid
    return found


def _read_tree(git: GitWriter, commit: str) -> dict[bytes, bytes]:
    """The same of a commit; nothing where there is none."""
    if not is_commit(commit):
        return {}
    found = {}
    for entry in filter(None, git.run("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")):
        head, _, path = entry.partition(b"\t")
        mode, _, oid = head.split(b" ")
        found[path] = mode + b" " + oid
    return found
