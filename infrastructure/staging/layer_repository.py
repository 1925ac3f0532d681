"""The repository of a workspace as a layer has it: its commits, carried over by git and not file by file.

Of the repository in the layer only objects, refs and the index are read, in a repository made for that, so that
none of its settings, hooks and filters decides anything.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from quorum.domain.errors import StagingError, ToolError
from quorum.domain.replacing import replace
from quorum.domain.staging.layer_effects import LayerCommit
from quorum.domain.text.git_head import is_commit, is_reference
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.changes.git_reader import GitReader
from quorum.infrastructure.git_worktrees import GitWriter
from quorum.infrastructure.staging.change_journal import RefMove, StepRefused
from quorum.infrastructure.staging.layer_folder import locate_git_lock
from quorum.infrastructure.staging.lower_files import LowerFiles, is_unchanged
from quorum.infrastructure.staging.upper_folder import is_opaque, is_whiteout, read_status

INDEX, HEAD = ".git/index", ".git/HEAD"
_MOST_SUBJECTS = 20
_STASH, _BISECT = "refs/stash", "refs/bisect/"
# Of a working tree alone, or of an operation that is not finished.
_OWN_REFS = (_BISECT, "refs/worktree/", "refs/rewritten/", _STASH)
_REFTABLE = "reftable"
# What git keeps besides: it is written with what is carried over, or is a note of the last command.
_BY_GIT = frozenset(
    {
        "objects",
        "refs",
        _REFTABLE,
        "logs",
        "packed-refs",
        "HEAD",
        "index",
        "COMMIT_EDITMSG",
        "ORIG_HEAD",
        "FETCH_HEAD",
    }
)
_PASSING = ("gc.log", "gc.pid", "shallow.lock", "index.lock", "HEAD.lock", "packed-refs.lock", "config.lock")
_SHARED_INDEX = "sharedindex."
_SUBMODULE = "160000"
_LONGEST_LINE = 4096
_MOST_NAMED = 5
_MOVED = "you moved it, too"
_ON_OTHER = (
    "you checked out something else since the layer began, which what it staged does not fit; check out again "
    "what you had, or leave this out"
)
_UNMERGED = "a merge {whose} is not finished, and you staged something meanwhile; finish it, or unstage yours"


class RepositoryEffects(Struct, frozen=True, kw_only=True):
    """What the layer has of a repository that the workspace does not. `has_index`: other files are staged."""

    commits: tuple[LayerCommit, ...] = ()
    has_index: bool = False
    not_captured: tuple[str, ...] = ()


def drop_stale_locks(workspace: str, refs: Sequence[RefMove], since_ns: int) -> None:
    """Drop the locks of a git that moved these refs and is gone: it was killed, or the machine went down.

    A lock that holds what that git writes is its own, and so is one of before this start of the machine. None
    that was there before `since_ns` is.
    """
    booted_ns = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    for place, written in _list_locks(workspace, refs):
        status = read_status(place)
        if status is None or not stat.S_ISREG(status.st_mode) or status.st_mtime_ns < since_ns:
            continue
        if status.st_mtime_ns < booted_ns or (status.st_size < _LONGEST_LINE and _read(place) in written):
            os.unlink(place)


def find_lock(workspace: str, refs: Sequence[RefMove]) -> str:
    """A lock that keeps git from moving refs; empty where there is none."""
    return next((place for place, _ in _list_locks(workspace, refs) if read_status(place) is not None), "")


def _list_locks(workspace: str, refs: Sequence[RefMove]) -> Iterator[tuple[str, frozenset[bytes]]]:
    """Where git locks refs, and what it then writes there that nobody else would."""
    for each in refs:
        written = frozenset(value.encode() + b"\n" for value in (each.old, each.new) if value)
        yield f"{workspace}/.git/{each.ref}.lock", written
    for name in ("HEAD", "packed-refs"):
        yield f"{workspace}/.git/{name}.lock", frozenset()


def _read(place: str) -> bytes:
    with open(place, "rb") as file:
        return file.read()


class LayerRepository:
    """`upper` and `lower` as of `UpperFolder`; `workspace` is the canonical path, where the layer may stand.

    All methods block, and raise StagingError where git fails.
    """

    def __init__(
        self, upper: str, lower: str, workspace: str, scratch: Path, environ: Mapping[str, str]
    ) -> None:
        self._upper = upper + "/.git"
        self._lower = lower + "/.git"
        # A git that we start has no descriptor of ours, and may not look at those that we have. For objects it
        # is the same whether the layer or the folder below stands there.
        self._objects = f"{workspace}/.git/objects"
        self._scratch = scratch
        self._environ = environ

    @property
    def is_there(self) -> bool:
        """Whether both have the repository, so that git carries over what differs."""
        below, above = read_status(self._lower), read_status(self._upper)
        both = (below, above)
        return all(each is not None and stat.S_ISDIR(each.st_mode) for each in both) and not is_opaque(
            self._upper
        )

    def covers(self, path: str) -> bool:
        """Whether a path of the workspace is none of its effects: git keeps it, or only noted something
        there."""
        if not path.startswith(".git/"):
            return False
        name, _, rest = path[len(".git/") :].partition("/")
        return name in _BY_GIT or (not rest and (name in _PASSING or name.startswith(_SHARED_INDEX)))

    def read(self, known: LowerFiles, began_ns: int) -> RepositoryEffects:
        """What differs. Where the workspace's refs stand is noted, once it is known that the person did not
        move them."""
        lines_below, lines_above = self._read_lines(merged=False), self._read_lines(merged=True)
        below, above = _select_commits(lines_below), _select_commits(lines_above)
        if not known.refs and self._are_old(began_ns):
            for ref, commit in below.items():
                known.note_ref(ref, commit)
        other = _list_other(lines_below, lines_above)
        unfit = [ref for ref in other if ref in lines_above and ref not in above]
        changed = [
            ref
            for ref in other
            if ref not in unfit
            and below.get(ref) != above.get(ref)
            and known.refs.get(ref, "-") != above.get(ref, "")
        ]
        head, stays = self._compare_head(known, began_ns)
        if read_status(f"{self._lower}/{_REFTABLE}") is not None:
            kept = "the refs of this repository are a reftable: commits, and what is staged, stay in the layer"
            return RepositoryEffects(not_captured=(kept,) if read_status(f"{self._upper}/{_REFTABLE}") else ())
        with self.open_merged() as git:
            commits = [self._describe(git, ref, below, above, known) for ref in changed]
            head = tuple(
                _describe_commits(git, each, below) if is_commit(each.after) else each for each in head
            )
            try:
                has_index = self._has_other_index(git)
            except _UnfitIndex as error:
                has_index, stays = False, (*stays, str(error))
        if lines_below.get(_STASH) != lines_above.get(_STASH):
            stays = (*stays, "what git stash put away or took out in the layer stays there")
        if any(ref.startswith(_BISECT) for ref, _ in lines_above.items() ^ lines_below.items()):
            stays = (
                *stays,
                "which commits git bisect has judged in the layer stays there: git bisect reset ends it",
            )
        return RepositoryEffects(
            commits=(*commits, *head),
            has_index=has_index,
            not_captured=(*name_unfit_refs(unfit), *stays),
        )

    def read_head_branch(self) -> str:
        """The ref that the workspace has checked out; empty for none."""
        return _read_symbolic(self._lower + "/HEAD")

    def carry_objects(self, commits: Sequence[str], index: Path | None, workspace: str) -> None:
        """Give the repository of the workspace the objects that these commits, and an index, need. Nothing
        names them yet."""
        with self.open_merged() as git:
            wanted = list(commits)
            real = self.open_real(workspace)
            if index is not None:
                wanted += (*self.list_missing(git, real, index), *self._list_missing_trees(git, real, index))
            self.carry(git, real, wanted)

    def _list_missing_trees(self, git: GitWriter, real: GitReader, index: Path) -> Iterator[str]:
        """The trees that an index names, to find changes faster, and the workspace's repository does not
        have."""
        copy, content = git.top / "index", index.read_bytes()
        shutil.copyfile(index, copy)
        try:
            tree = git.run_in_environment({"GIT_INDEX_FILE": str(copy)}, "write-tree").strip()
        except ToolError:  # of a merge that is not finished there is none
            return
        listed = git.run("ls-tree", "-r", "-d", "-z", tree.decode("ascii")).split(b"\0")
        below = (each.partition(b"\t")[0].rpartition(b" ")[2] for each in listed if each)
        for oid in _list_missing(real, {tree, *below}):
            if bytes.fromhex(oid) in content:
                yield oid

    def carry(self, git: GitReader, real: GitWriter, wanted: Sequence[str]) -> None:
        """Give `real` these objects of the repository that `open_merged` made, and all that they name."""
        if not wanted:
            return
        known = [f"^{commit}" for commit in self.read_refs(merged=False).values()]
        listed = "".join(f"{each}\n" for each in (*wanted, *known)).encode()
        folder = str(self._scratch / "packs")
        os.makedirs(folder, exist_ok=True)
        try:
            name = git.run("pack-objects", "--revs", "-q", f"{folder}/pack", given=listed).decode().split()
            for each in name:
                with open(f"{folder}/pack-{each}.pack", "rb") as file:
                    real.run("index-pack", "--stdin", given=file.read())
        except (ToolError, OSError) as error:
            raise StagingError(f"the commits of the layer cannot be carried over: {error}") from error
        finally:
            shutil.rmtree(folder)

    def make_index(self, target: Path, known: LowerFiles, began_ns: int) -> None:
        """Write the index that the workspace is to have: that of the layer, and what the person staged
        meanwhile.

        Raises StepRefused where both staged the same paths, and where the person is on another branch.
        """
        if read_status(self._upper + "/HEAD") is None and self._has_moved_head(known, began_ns):
            raise StepRefused(INDEX, _ON_OTHER)
        status, noted = read_status(self._lower + "/index"), known.get(INDEX)
        is_old = status is None or status.st_ctime_ns < began_ns
        if is_old or (status is not None and noted is not None and is_unchanged(noted, status)):
            self._write_whole_index(target)
            return
        with self.open_merged() as git:
            if self._stages_nothing_new(git, known):
                self._write_whole_index(target)
                return
            mine = target.with_suffix(".layer")
            shutil.copyfile(self._upper + "/index", mine)
            shutil.copyfile(self._lower + "/index", target)
            try:
                for each, whose in ((mine, "of the layer"), (target, "of yours")):
                    if git.run_in_environment({"GIT_INDEX_FILE": str(each)}, "ls-files", "--unmerged", "-z"):
                        raise StepRefused(INDEX, _UNMERGED.format(whose=whose))
                tree = git.run_in_environment({"GIT_INDEX_FILE": str(mine)}, "write-tree").decode().strip()
                head = self._find_head_commit() or git.find_empty_tree()
                git.run_in_environment({"GIT_INDEX_FILE": str(target)}, "read-tree", "-i", "-m", head, tree)
            except ToolError as error:
                raise StepRefused(
                    INDEX, f"you and the layer have staged the same files; unstage yours ({error})"
                ) from error
            finally:
                mine.unlink()

    def _stages_nothing_new(self, git: GitWriter, known: LowerFiles) -> bool:
        """Whether git only rewrote the index of the workspace, as it does on any look, or nothing is staged
        there."""
        place = git.top / "other-index"
        try:
            now = self.list_index(git, self._lower + "/index")
            if (base := known.read_base(INDEX)) is not None:
                place.write_bytes(base)
                if self.list_index(git, str(place)) == now:
                    return True
            if head := self._find_head_commit():
                git.run_in_environment({"GIT_INDEX_FILE": str(place)}, "read-tree", head)
                return self.list_index(git, str(place)) == now
        except ToolError:  # what git cannot read is not known to be the same
            pass
        return False

    def _write_whole_index(self, target: Path) -> None:
        """Write that of the layer as one file: the workspace may not have the part that several can share."""
        shutil.copyfile(self._upper + "/index", target)
        if any(self._list_shared_indexes()):
            with self.open_merged() as git:
                git.run_in_environment({"GIT_INDEX_FILE": str(target)}, "update-index", "--no-split-index")

    def _list_shared_indexes(self) -> Iterator[str]:
        for folder in (self._lower, self._upper):
            for name, status in _list_names(folder).items():
                if name.startswith(_SHARED_INDEX) and stat.S_ISREG(status.st_mode):
                    yield f"{folder}/{name}"

    def _list_shallow(self) -> Iterator[str]:
        """What says at which commits the history of the workspace is cut off, if it is."""
        status = read_status(f"{self._lower}/shallow")
        if status is not None and stat.S_ISREG(status.st_mode):
            yield f"{self._lower}/shallow"

    def describe_index(self, index: Path | None = None) -> str:
        """A hash of what an index stages, by default that of the workspace: git rewrites it on any look. Empty
        for what git cannot read as an index."""
        place = str(index) if index is not None else self._lower + "/index"
        with self.open_merged() as git:
            try:
                listed = self.list_index(git, place, "-v")
            except ToolError:
                return ""
            return hashlib.sha256(listed).hexdigest()

    def move_refs(self, refs: Sequence[RefMove], workspace: str, why: str = "staged: applied") -> None:
        """Move refs of the workspace, all or none. Raises StepRefused where one is not where it has to be."""
        real = self.open_real(workspace)
        moved = []
        for each in refs:
            current = _resolve(real, each.ref)
            if current == each.new:
                continue
            if current != each.old:
                raise StepRefused(each.ref, f"{each.ref} is kept where you moved it meanwhile")
            moved.append(each)
        first = [each for each in moved if not each.new and _is_in_the_way(each.ref, moved)]
        _update_refs(real, first, why)
        try:
            _update_refs(real, [each for each in moved if each not in first], why)
        except StepRefused:
            _update_refs(real, [RefMove(ref=each.ref, old="", new=each.old) for each in first], why)
            raise

    def open_real(self, workspace: str) -> GitWriter:
        try:
            real = GitWriter(Path(workspace), self._environ, locate_git_lock(self._scratch))
        except ToolError as error:
            raise StagingError(
                f"the repository of {workspace} cannot be read: {error}; mend its .git/config"
            ) from error
        if str(real.top) != workspace:
            raise StagingError(
                f"the settings of git lead from {workspace} to {real.top}; commit without a layer"
            )
        return real

    @contextmanager
    def open_merged(self) -> Iterator[GitWriter]:
        """A repository that has the objects of both, and nothing else of them."""
        with tempfile.TemporaryDirectory(dir=self._scratch, prefix="git-") as made:
            folder = Path(made)
            is_sha256 = any(len(each) == 64 for each in self.read_refs(merged=True).values())
            git = make_empty_repository(folder, is_sha256=is_sha256)
            above = folder / "layer"
            above.mkdir()
            if os.path.isdir(self._upper + "/objects"):
                for name in os.listdir(self._upper + "/objects"):
                    path = f"{self._upper}/objects/{name}"
                    if name != "info" and os.path.isdir(path) and not os.path.islink(path):
                        (above / name).symlink_to(path)
            for path in (*self._list_shared_indexes(), *self._list_shallow()):
                shutil.copyfile(path, git / os.path.basename(path))
            (folder / "workspace").symlink_to(self._objects)
            alternates = f"{folder / 'workspace'}\n{above}\n"
            (git / "objects" / "info" / "alternates").write_text(alternates, encoding="utf-8")
            try:
                yield GitWriter(folder, self._environ, locate_git_lock(self._scratch))
            except ToolError as error:
                raise StagingError(f"the commits of the layer cannot be read: {error}") from error

    def _describe(
        self,
        git: GitReader,
        ref: str,
        below: Mapping[str, str],
        above: Mapping[str, str],
        known: LowerFiles,
    ) -> LayerCommit:
        before, after = below.get(ref, ""), above.get(ref, "")
        conflict = self._find_conflict(git, ref, before, after, known)
        commit = LayerCommit(ref=ref, before=before, after=after, conflict=conflict)
        return _describe_commits(git, commit, below) if after else commit

    def _find_conflict(self, git: GitReader, ref: str, before: str, after: str, known: LowerFiles) -> str:
        if known.refs:
            return "" if known.refs.get(ref, "") == before else _MOVED
        # Nobody knows where it stood: what has all of the person's commits loses none.
        if not before or (after and git.is_ancestor(before, after)):
            return ""
        return _MOVED

    def _compare_head(
        self, known: LowerFiles, began_ns: int
    ) -> tuple[tuple[LayerCommit, ...], tuple[str, ...]]:
        """What is checked out, if that is another, and a sentence where nothing can be."""
        above = read_status(self._upper + "/HEAD")
        if above is None or is_whiteout(above):
            return (), ()
        before = _read_line(self._lower + "/HEAD").removeprefix("ref: ")
        after = read_head(self._upper + "/HEAD", above)
        if after is None:
            return (), ("what stands in .git/HEAD of the layer names no branch and no commit: it stays there",)
        if before == after:
            return (), ()
        conflict = "you checked out another branch, too" if self._has_moved_head(known, began_ns) else ""
        return (LayerCommit(ref="HEAD", before=before, after=after, conflict=conflict),), ()

    def note_head(self, known: LowerFiles, began_ns: int) -> None:
        """Take note of what is checked out in the workspace, once it is known that the person did not change
        that. Raises OSError."""
        status = read_status(self._lower + "/HEAD")
        if HEAD not in known and status is not None and status.st_ctime_ns < began_ns:
            known.renew(HEAD, self._lower + "/HEAD")

    def _has_moved_head(self, known: LowerFiles, began_ns: int) -> bool:
        """Whether the person has checked out something else since the layer began, as far as is known."""
        status, noted = read_status(self._lower + "/HEAD"), known.get(HEAD)
        if status is None or noted is None:
            return status is None or status.st_ctime_ns >= began_ns
        if is_unchanged(noted, status):
            return False
        return known.read_base(HEAD) != _read(self._lower + "/HEAD")

    def _has_other_index(self, git: GitWriter) -> bool:
        above = read_status(self._upper + "/index")
        if above is None or is_whiteout(above):
            return False
        below = self.list_index(git, self._lower + "/index")
        try:
            if stat.S_ISREG(above.st_mode):
                return below != self.list_index(git, self._upper + "/index")
        except ToolError:
            pass
        raise _UnfitIndex("git cannot read the index of the layer: what is staged there stays there")

    def list_index(self, git: GitWriter, path: str, *options: str) -> bytes:
        """What an index stages, as git prints it. Raises ToolError where git cannot read it."""
        copy = git.top / "index"
        if os.path.isfile(path):
            shutil.copyfile(path, copy)
        else:
            copy.unlink(missing_ok=True)
        return git.run_in_environment({"GIT_INDEX_FILE": str(copy)}, "ls-files", "--stage", "-z", *options)

    def list_missing(self, git: GitWriter, real: GitReader, index: Path) -> Iterator[str]:
        """The objects of an index that the workspace's repository does not have."""
        entries = git.run_in_environment({"GIT_INDEX_FILE": str(index)}, "ls-files", "--stage", "-z").split(
            b"\0"
        )
        fields = [entry.split(b" ", 2) for entry in entries if entry]
        return _list_missing(real, {each[1] for each in fields if each[0] != _SUBMODULE.encode()})

    def _find_head_commit(self) -> str:
        head = _read_line(self._lower + "/HEAD")
        ref = head.removeprefix("ref: ")
        return head if ref == head else self.read_refs(merged=False).get(ref, "")

    def _are_old(self, began_ns: int) -> bool:
        """Whether no ref of the workspace was moved since the layer began, as the times of files have it."""
        for folder, _, names in os.walk(self._lower + "/refs"):
            for path in (folder, *(f"{folder}/{name}" for name in names)):
                status = read_status(path)
                if status is None or status.st_ctime_ns >= began_ns:
                    return False
        packed = read_status(self._lower + "/packed-refs")
        return packed is None or packed.st_ctime_ns < began_ns

    def read_refs(self, *, merged: bool) -> dict[str, str]:
        """The refs of the workspace, or those that the layer shows, with their commits; symbolic ones left
        out."""
        return _select_commits(self._read_lines(merged=merged))

    def list_unfit_refs(self) -> list[str]:
        """What the layer has in the place of refs, and that can be none."""
        above = self._read_lines(merged=True)
        fit = _select_commits(above)
        other = _list_other(self._read_lines(merged=False), above)
        return [ref for ref in other if ref in above and ref not in fit]

    def _read_lines(self, *, merged: bool) -> dict[str, str]:
        """What stands in the files of refs, by the names that these would have."""
        upper = self._upper if merged else None
        lines = dict(_parse_packed(_find_shown(upper, self._lower, "packed-refs")))
        for name, path in _list_shown(upper, self._lower, "refs", hidden=False):
            if line := _read_line(path):
                lines[name] = line
        return lines


def _is_in_the_way(ref: str, moved: Sequence[RefMove]) -> bool:
    """Whether git can have none of these others beside a ref, as `x/y` beside `x`: nor in one transaction."""
    made = (each.ref for each in moved if each.new)
    return any(each.startswith(f"{ref}/") or ref.startswith(f"{each}/") for each in made)


def _update_refs(git: GitWriter, moved: Sequence[RefMove], why: str) -> None:
    """In one transaction. Raises StepRefused."""
    if not moved:
        return
    lines = []
    for each in moved:
        nothing = "0" * len(each.new or each.old)
        step = f"update {each.ref} {each.new}" if each.new else f"delete {each.ref}"
        lines.append(f"{step} {each.old or nothing}\n")
    given = "".join(("start\n", *lines, "prepare\n", "commit\n")).encode()
    try:
        git.run("update-ref", "--create-reflog", "-m", why, "--stdin", given=given)
    except ToolError as error:
        raise StepRefused(moved[0].ref, f"git does not move it: {error}") from error


def _list_missing(git: GitReader, oids: Collection[bytes]) -> Iterator[str]:
    """Those of these objects that a repository does not have."""
    given = b"".join(oid + b"\n" for oid in sorted(oids))
    for line in git.run("cat-file", "--batch-check=%(objectname)", given=given).split(b"\n"):
        oid, _, rest = line.partition(b" ")
        if rest == b"missing":
            yield oid.decode("ascii")


def _describe_commits(git: GitReader, moved: LayerCommit, below: Mapping[str, str]) -> LayerCommit:
    """With the commits that it has and no ref `below`."""
    count, conflict = 0, moved.conflict
    given = "".join(f"{each}\n" for each in (moved.after, *(f"^{each}" for each in below.values()))).encode()
    few = ("-n", str(_MOST_SUBJECTS))
    try:
        count = int(git.run("rev-list", "--count", "--ignore-missing", "--stdin", given=given))
        listed = git.run("log", "-z", "--format=%s", "--ignore-missing", *few, "--stdin", given=given)
    except ToolError:
        listed = b""
    if not count and not git.find_commit(moved.after):  # any program can write what looks like one
        conflict = "git can read no commit of it in the layer"
    subjects = tuple(line for line in listed.decode("utf-8", "replace").split("\0") if line)
    return replace(moved, count=count, subjects=subjects, conflict=conflict)


class _UnfitIndex(Exception):
    """Git cannot read the index of the layer; the text says what becomes of it."""


def _select_commits(lines: Mapping[str, str]) -> dict[str, str]:
    return {ref: line for ref, line in lines.items() if is_reference(ref) and is_commit(line)}


def _list_other(below: Mapping[str, str], above: Mapping[str, str]) -> list[str]:
    """Where the lines of refs differ."""
    return [
        ref
        for ref in sorted(below.keys() | above.keys())
        if below.get(ref) != above.get(ref) and not ref.startswith(_OWN_REFS)
    ]


def name_unfit_refs(refs: Sequence[str]) -> Iterator[str]:
    for ref in refs[:_MOST_NAMED]:
        yield f"{make_printable(ref, newlines=False)} names no commit, or is no name for a ref: it stays there"
    if (more := len(refs) - _MOST_NAMED) > 0:
        yield f"and so do {more:,} more"


def make_empty_repository(folder: Path, *, is_sha256: bool = False) -> Path:
    """Make the least that git takes for a repository, without a template; returns its folder. Raises
    OSError."""
    git = folder / ".git"
    (git / "objects" / "info").mkdir(parents=True)
    (git / "refs").mkdir()
    (git / "HEAD").write_text("ref: refs/heads/layer\n", encoding="ascii")
    version = "1\n[extensions]\n\tobjectFormat = sha256" if is_sha256 else "0"
    (git / "config").write_text(f"[core]\n\trepositoryformatversion = {version}\n", encoding="ascii")
    return git


def _find_shown(upper: str | None, lower: str, name: str) -> str | None:
    """The path of a file that the layer shows."""
    if upper is not None and (status := read_status(f"{upper}/{name}")) is not None:
        return None if is_whiteout(status) else f"{upper}/{name}"
    return f"{lower}/{name}"


def _list_shown(upper: str | None, lower: str, folder: str, *, hidden: bool) -> Iterator[tuple[str, str]]:
    """The files in a folder that the layer shows, each with where it lies; `hidden`: the lower folder is
    not."""
    above = _list_names(f"{upper}/{folder}") if upper is not None else {}
    hidden = hidden or (bool(above) and is_opaque(f"{upper}/{folder}"))
    below = {} if hidden else _list_names(f"{lower}/{folder}")
    for name in sorted(above.keys() | below.keys()):
        path = f"{folder}/{name}"
        status = above.get(name)
        if status is None:
            status, place, covering = below[name], f"{lower}/{path}", None
        elif is_whiteout(status):
            continue
        else:
            place, covering = f"{upper}/{path}", upper
        if stat.S_ISDIR(status.st_mode):
            covered = covering is not None and name not in below
            yield from _list_shown(covering, lower, path, hidden=hidden or covered)
        elif stat.S_ISREG(status.st_mode):
            yield path, place


def _list_names(folder: str) -> dict[str, os.stat_result]:
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.stat(follow_symlinks=False) for entry in entries}
    except (FileNotFoundError, NotADirectoryError):
        return {}


def _parse_packed(path: str | None) -> Iterator[tuple[str, str]]:
    if path is None or not os.path.isfile(path):
        return
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            oid, _, ref = line.rstrip("\n").partition(" ")
            if ref and not line.startswith(("#", "^")):
                yield ref, oid


def _read_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(_LONGEST_LINE).strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""


def read_head(path: str, status: os.stat_result) -> str | None:
    """The ref or commit that a HEAD names, and nothing else; None where it does not."""
    if not stat.S_ISREG(status.st_mode) or status.st_size > _LONGEST_LINE:
        return None
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read().removesuffix("\n")
    is_fit = is_reference(text[5:]) if text.startswith("ref: ") else is_commit(text)
    return text.removeprefix("ref: ") if is_fit else None


def _read_symbolic(path: str) -> str:
    line = _read_line(path)
    return line.removeprefix("ref: ") if line.startswith("ref: ") else ""


def _resolve(git: GitReader, ref: str) -> str:
    found = git.run("for-each-ref", "--format=%(objectname) %(refname)", ref).decode("utf-8", "surrogateescape")
    lines = (line.split(" ", 1) for line in found.splitlines())
    return next((oid for oid, name in lines if name == ref), "")
