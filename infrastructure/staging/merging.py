"""Carries what was changed in the layer of a subagent over into that of its session.

First all is planned and kept on the disk, then it is done: after a process that was killed meanwhile the next
does the rest, or plans it anew. Who merges later gives way: where both changed the same, its version lies
beside the other's, under its name.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from quorum.application.whole_file import write_synced_file
from quorum.infrastructure.staging.change_journal import PlaceMark, RefMove, mark_status
from quorum.infrastructure.staging.layer_repository import HEAD, INDEX
from quorum.infrastructure.staging.merged_content import NotMerged, merge_texts
from quorum.infrastructure.staging.merged_repository import RepositoryMerger
from quorum.infrastructure.staging.renaming import open_folder, open_root
from quorum.infrastructure.staging.upper_folder import (
    UpperChange,
    UpperFolder,
    has_same_content,
    is_same_file,
    read_attributes,
    read_status,
)

_LARGEST_MERGED = 1_000_000
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class MergeStep(Struct, frozen=True, kw_only=True):
    """What becomes of one path. `content` numbers what is put there, and `target` is that of a link. `seen` is
    what stood there when it was planned; None: nothing."""

    kind: Literal["remove", "drop_folder", "make_folder", "put", "link", "dress_folder"]
    path: str
    content: int = 0
    target: str = ""
    mode: int = 0
    seen: PlaceMark | None = None


class MergePlan(Struct, frozen=True, kw_only=True):
    """All of it, in order: files, where refs go, and then the files of git, which may be settings with which it
    moves none. `remarks` are sentences about what both sides changed, and what cannot be merged."""

    steps: tuple[MergeStep, ...] = ()
    refs: tuple[RefMove, ...] = ()
    of_git: tuple[MergeStep, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Those of files: what was committed is not taken back with them."""
        return tuple(step.path for step in (*self.steps, *self.of_git) if step.path not in (HEAD, INDEX))


class MergePlanner:
    """Plans what `upper` changed over the folder `base`, for a folder `target` that began as that, too.

    `name` is appended to the names of files that lie beside others; `contents` gets what is put anywhere, and
    `scratch` is the folder of the layer in which git may work.
    """

    def __init__(
        self,
        upper: str,
        base: str,
        target: str,
        name: str,
        contents: Path,
        scratch: Path,
        environ: Mapping[str, str],
    ) -> None:
        self._upper = upper
        self._base = base
        self._target = target
        self._name = name
        self._contents = contents
        self._scratch = scratch
        self._environ = environ
        self._repository = RepositoryMerger(upper, base, target, name, scratch, environ)
        self._number = 0
        self._taken: set[str] = set()
        self._removed: set[str] = set()
        self._remarks: list[str] = []

    def plan(self) -> MergePlan:
        """Raises OSError, StagingError."""
        listed, folders = UpperFolder(self._upper, self._base).list_changes()
        covers = self._repository.covers
        changes = [each for each in listed if not covers(each.path)]
        gone = [each for each in changes if each.after is None and not each.is_folder]
        steps = [step for each in gone for step in self._plan_removal(each)]
        for path in reversed(folders.gone):
            if not covers(path):
                steps += self._plan_dropping(path.rstrip("/"))
        made = [path for path in folders.made if not covers(path)]
        steps += [self._make_folder(path) for path in made if self._needs_folder(path.rstrip("/"))]
        for each in changes:
            if each.after is not None and not each.is_folder:
                steps += self._plan_file(each, each.after)
            elif each.after is not None and each.before is not None:
                steps += self._plan_dress(each, each.before, each.after)
        found = self._repository.plan([each.path for each in listed if covers(each.path)])
        of_git = [
            *(each for each in steps if _is_of_git(each.path)),
            *(
                self._put_content(path, content, 0o644, self._look(path))
                for path, content in found.files.items()
            ),
        ]
        return MergePlan(
            steps=tuple(each for each in steps if not _is_of_git(each.path)),
            refs=found.refs,
            of_git=tuple(of_git),
            remarks=(*self._remarks, *found.remarks),
        )

    def _plan_removal(self, change: UpperChange) -> Iterator[MergeStep]:
        path = change.path
        now = self._look(path)
        if now is None:
            return
        if change.before is not None and self._is_same(self._base, change.before, self._target, now, path):
            self._removed.add(path)
            yield MergeStep(kind="remove", path=path, seen=mark_status(now))
        else:
            self._remarks.append(f"it removed {path}, which somebody else changed meanwhile: that stays")

    def _plan_dropping(self, path: str) -> Iterator[MergeStep]:
        """A folder goes if nothing is left in it."""
        now = self._look(path)
        if now is not None and stat.S_ISDIR(now.st_mode):
            with open_root(f"{self._target}/{path}") as folder:
                left = [name for name in os.listdir(folder) if f"{path}/{name}" not in self._removed]
            if not left:
                self._removed.add(path)
                yield MergeStep(kind="drop_folder", path=path)

    def _needs_folder(self, path: str) -> bool:
        is_free = path in self._removed or self._look(path) is None
        return is_free and not self._find_obstacle(path, is_folder=True)

    def _make_folder(self, path: str) -> MergeStep:
        mode = stat.S_IMODE(os.lstat(f"{self._upper}/{path}").st_mode)
        return MergeStep(kind="make_folder", path=path.rstrip("/"), mode=mode)

    def _plan_dress(
        self, change: UpperChange, before: os.stat_result, after: os.stat_result
    ) -> Iterator[MergeStep]:
        path, now = change.path.rstrip("/"), self._look(change.path.rstrip("/"))
        if now is not None and stat.S_ISDIR(now.st_mode) and now.st_mode == before.st_mode != after.st_mode:
            yield MergeStep(kind="dress_folder", path=path, mode=stat.S_IMODE(after.st_mode))

    def _plan_file(self, change: UpperChange, after: os.stat_result) -> Iterator[MergeStep]:
        path = change.path
        if not (stat.S_ISREG(after.st_mode) or stat.S_ISLNK(after.st_mode)):
            self._remarks.append(f"{path} is no file that can be merged: it is left out")
            return
        if obstacle := self._find_obstacle(path, is_folder=False):
            yield from self._put_beside(path, after, obstacle)
            return
        before, now = change.before, self._look(path)
        if path in self._removed:
            now = None
        if now is not None and self._is_same(self._upper, after, self._target, now, path):
            return
        is_as_before = (
            now is None
            if before is None or not _is_file(before)
            else now is not None and self._is_same(self._base, before, self._target, now, path)
        )
        if is_as_before:
            yield self._put(path, after, now)
        elif (merged := self._merge(path, before, after, now)) is not None and now is not None:
            content, mode = merged
            yield self._put_content(path, content, mode, now)
        else:
            yield from self._put_beside(path, after, path)

    def _put_beside(self, path: str, after: os.stat_result, obstacle: str) -> Iterator[MergeStep]:
        """Its version, under another name at the first place where it cannot stand as it would."""
        rest = path[len(obstacle) :]
        beside, is_there = self._find_name_beside(obstacle, rest)
        self._remarks.append(
            f"{path} was changed by somebody else meanwhile, too: that stays, and what it made of it is in "
            f"{beside}{rest}"
        )
        self._taken.add(beside)
        if not is_there:
            yield self._put(f"{beside}{rest}", after, None, path)

    def _find_name_beside(self, path: str, rest: str) -> tuple[str, bool]:
        """A free name, or the one at which its version is already: a merge before this one failed halfway."""
        name, number = f"{path}.{self._name}", 1
        while self._is_taken(name, is_whole=not rest):
            if self._look(f"{name}{rest}") is not None and is_same_file(
                f"{self._upper}/{path}{rest}", f"{self._target}/{name}{rest}"
            ):
                return name, True
            number += 1
            name = f"{path}.{self._name}-{number}"
        return name, False

    def _is_taken(self, name: str, *, is_whole: bool) -> bool:
        """A folder that was made for others of its files takes more of them."""
        if name in self._taken:
            return is_whole
        return read_status(f"{self._upper}/{name}") is not None or self._look(name) is not None

    def _find_obstacle(self, path: str, *, is_folder: bool) -> str:
        """The first place on the way to a path where something stands that does not let it be there."""
        names = path.split("/")
        for end in range(1, len(names) + 1):
            place = "/".join(names[:end])
            if place in self._removed or (now := self._look(place)) is None:
                continue
            needs_folder = end < len(names) or is_folder
            if stat.S_ISDIR(now.st_mode) != needs_folder:
                return place
        return ""

    def _merge(
        self, path: str, before: os.stat_result | None, after: os.stat_result, now: os.stat_result | None
    ) -> tuple[bytes, int] | None:
        """What both sides make of a text, and its mode; None where that cannot be."""
        sides = (before, after, now)
        if any(
            each is None or not stat.S_ISREG(each.st_mode) or each.st_size > _LARGEST_MERGED for each in sides
        ):
            return None
        assert before is not None
        assert now is not None
        base, mine, theirs = (_read(f"{place}/{path}") for place in (self._base, self._target, self._upper))
        mode = after.st_mode if after.st_mode != before.st_mode else now.st_mode
        if theirs in (base, mine):
            return mine, stat.S_IMODE(mode)
        if mine == base:
            return theirs, stat.S_IMODE(mode)
        try:
            return merge_texts(mine, base, theirs, self._scratch, self._environ), stat.S_IMODE(mode)
        except NotMerged:
            return None

    def _put(self, path: str, after: os.stat_result, now: os.stat_result | None, source: str = "") -> MergeStep:
        place = f"{self._upper}/{source or path}"
        seen = mark_status(now) if now is not None else None
        if stat.S_ISLNK(after.st_mode):
            return MergeStep(kind="link", path=path, target=os.readlink(place), seen=seen)
        self._number += 1
        content = self._contents / str(self._number)
        try:
            os.link(place, content)
        except OSError:  # more names than the file system gives one file
            shutil.copy2(place, content)
        return MergeStep(
            kind="put", path=path, content=self._number, mode=stat.S_IMODE(after.st_mode), seen=seen
        )

    def _put_content(self, path: str, content: bytes, mode: int, now: os.stat_result | None) -> MergeStep:
        self._number += 1
        (self._contents / str(self._number)).write_bytes(content)
        seen = mark_status(now) if now is not None else None
        return MergeStep(kind="put", path=path, content=self._number, mode=mode, seen=seen)

    def _look(self, path: str) -> os.stat_result | None:
        """What stands at a path of the target, no link on the way."""
        folder, _, name = path.rpartition("/")
        try:
            with open_root(self._target) as root, open_folder(root, folder) as opened:
                return os.stat(name, dir_fd=opened, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            if read_status(f"{self._target}/{folder}") is None:
                return None
            raise

    def _is_same(self, one: str, status: os.stat_result, other: str, second: os.stat_result, path: str) -> bool:
        first_place, second_place = f"{one}/{path}", f"{other}/{path}"
        if status.st_mode != second.st_mode:
            return False
        if stat.S_ISLNK(status.st_mode):
            return os.readlink(first_place) == os.readlink(second_place)
        if not stat.S_ISREG(status.st_mode):
            return True
        return (
            status.st_size == second.st_size
            and has_same_content(first_place, second_place)
            and read_attributes(first_place) == read_attributes(second_place)
        )


def _is_of_git(path: str) -> bool:
    return path == ".git" or path.startswith(".git/")


def store_plan(plan: MergePlan, file: Path) -> None:
    """Have the plan be found by whoever comes after this process. Raises OSError."""
    # Not by msgspec alone, which refuses names that are no UTF-8.
    write_synced_file(file, json.dumps(msgspec.to_builtins(plan)).encode("ascii"))


def load_plan(file: Path) -> MergePlan | None:
    """None where there is none: nothing of it is done then. Raises OSError, ValueError."""
    try:
        return msgspec.convert(json.loads(file.read_bytes()), MergePlan)
    except FileNotFoundError:
        return None


class ChangedMeanwhile(Exception):
    """Something else stands there than when the merge was planned: it is to be planned anew."""


def carry_out(
    plan: MergePlan,
    contents: Path,
    target: str,
    move_refs: Callable[[Sequence[RefMove]], None],
    *,
    is_again: bool = False,
) -> None:
    """Do all steps in a folder. `is_again`: a process may have done some before. Raises ChangedMeanwhile, and
    OSError, as `move_refs` may; nothing unfinished is left in the folder then."""
    with open_root(target) as root:
        if is_again:
            _drop_unfinished(plan, root)
        _carry_out_steps(plan.steps, contents, root, is_again=is_again)
        if plan.refs:
            move_refs(plan.refs)
        _carry_out_steps(plan.of_git, contents, root, is_again=is_again)


def _carry_out_steps(steps: Sequence[MergeStep], contents: Path, root: int, *, is_again: bool) -> None:
    for number, step in enumerate(steps):
        folder, _, name = step.path.rpartition("/")
        needs_folder = step.kind not in ("remove", "drop_folder")
        try:
            with _open_made(root, folder) if needs_folder else open_folder(root, folder) as opened:
                if is_again and _is_done(step, name, opened, contents):
                    continue
                if step.kind in ("remove", "put", "link"):
                    _require(step, name, opened)
                _do(step, name, opened, contents, _name_unfinished(number, step))
        except (FileNotFoundError, NotADirectoryError):
            if needs_folder:
                raise


def _name_unfinished(number: int, step: MergeStep) -> str:
    """Of git's own files it is the name by which git keeps others from them, too."""
    if step.path in (INDEX, HEAD):
        return f"{step.path.rpartition('/')[2]}.lock"
    return f".quorum-merge-{number}"


def _drop_unfinished(plan: MergePlan, root: int) -> None:
    """Remove what a process that was killed had not put in its place yet."""
    for number, step in (*enumerate(plan.steps), *enumerate(plan.of_git)):
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            open_folder(root, step.path.rpartition("/")[0]) as folder,
        ):
            os.unlink(_name_unfinished(number, step), dir_fd=folder)


@contextmanager
def _open_made(root: int, path: str) -> Iterator[int]:
    """A folder that somebody else may have removed meanwhile."""
    made = ""
    for name in filter(None, path.split("/")):
        with open_folder(root, made) as above, suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=above)
        made = f"{made}/{name}"
    with open_folder(root, path) as folder:
        yield folder


def _require(step: MergeStep, name: str, folder: int) -> None:
    try:
        now = mark_status(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        now = None
    if now != step.seen:
        raise ChangedMeanwhile


def _is_done(step: MergeStep, name: str, folder: int, contents: Path) -> bool:
    """Whether what a step leads to is there: then it is not what stood there before that counts."""
    place = f"/proc/self/fd/{folder}/{name}"
    status = read_status(place)
    match step.kind:
        case "remove":
            return status is None
        case "link":
            return status is not None and stat.S_ISLNK(status.st_mode) and os.readlink(place) == step.target
        case "put":
            return (
                status is not None
                and stat.S_ISREG(status.st_mode)
                and stat.S_IMODE(status.st_mode) == step.mode
                and has_same_content(place, str(contents / str(step.content)))
            )
        case "drop_folder" | "make_folder" | "dress_folder":
            return False


def _do(step: MergeStep, name: str, folder: int, contents: Path, temporary: str) -> None:
    match step.kind:
        case "remove":
            os.unlink(name, dir_fd=folder)
        case "drop_folder":
            with suppress(OSError):  # somebody else put something there
                os.rmdir(name, dir_fd=folder)
        case "make_folder":
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=folder)
            os.chmod(name, step.mode, dir_fd=folder)
        case "dress_folder":
            os.chmod(name, step.mode, dir_fd=folder)
        case "link" | "put":
            try:
                if step.kind == "link":
                    os.symlink(step.target, temporary, dir_fd=folder)
                else:
                    _copy(str(contents / str(step.content)), temporary, folder, step.mode)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
                raise


def _copy(place: str, name: str, folder: int, mode: int) -> None:
    with open(place, "rb") as source, open(os.open(name, _NEW, 0o600, dir_fd=folder), "wb") as made:
        shutil.copyfileobj(source, made, 1 << 20)
        made.flush()
        for attribute, value in read_attributes(place).items():
            os.setxattr(made.fileno(), attribute, value)
        os.fchmod(made.fileno(), mode)
        status = os.fstat(source.fileno())
        os.utime(made.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))


def _is_file(status: os.stat_result) -> bool:
    return not stat.S_ISDIR(status.st_mode)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(_LARGEST_MERGED + 1)
