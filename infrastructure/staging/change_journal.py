"""Changes many files of a workspace together: all of it or nothing holds, also for a process that is killed.

Everything is prepared beside the journal first, and is on the disk; then names are exchanged one by one; then
the journal is renamed, which is the one moment from which the change holds. Whoever finds a journal later takes
back what it says. Which steps were carried out shows by the inodes alone, so this can be killed, and repeated.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct, field

from quorum.domain.errors import StagingError
from quorum.domain.replacing import replace
from quorum.infrastructure.files.replacing import read_file_status
from quorum.infrastructure.staging.renaming import (
    exchange,
    move,
    open_below,
    open_folder,
    open_root,
    sync_file_system,
)
from quorum.infrastructure.staging.upper_folder import read_attributes

_MOST_SYNCED = 200
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class StepKind(StrEnum):
    """What one step does: a new file or link gets its name, two files take each other's place, a file goes, a
    folder is made, is dressed as another, or goes if it is empty."""

    PUT = "put"
    SWAP = "swap"
    TAKE = "take"
    MAKE_FOLDER = "make folder"
    DRESS_FOLDER = "dress folder"
    DROP_FOLDER = "drop folder"


class PlaceMark(Struct, frozen=True, kw_only=True):
    """What tells a file from another, and from itself after it was written. `mode` is with its kind."""

    inode: int
    modified_ns: int
    size: int
    mode: int


class FolderDress(Struct, frozen=True, kw_only=True):
    """What a folder has besides its files; attributes are in hexadecimal."""

    mode: int
    owner: int
    group: int
    attributes: Mapping[str, str]


class JournalStep(Struct, frozen=True, kw_only=True):
    """A step at a path of the workspace. `number` is the name of its file in the stage.

    `old` is what has to stand there before, with its hash where it is a regular file; `new` is put there.
    """

    kind: StepKind
    path: str
    number: int
    old: PlaceMark | None = None
    old_sha256: str | None = None
    new: PlaceMark | None = None
    old_dress: FolderDress | None = None
    new_dress: FolderDress | None = None


class RefMove(Struct, frozen=True, kw_only=True):
    """A ref of the repository from one commit to another, in hexadecimal; empty: no ref."""

    ref: str
    old: str
    new: str


class ChangePlan(Struct, frozen=True, kw_only=True):
    """What is changed together. `cleared` are paths that the layer need not hold afterwards, `still_gone` those
    that stay deleted in it; `is_all`: nothing stays in it. `is_repository_cleared`: nor does what git keeps.
    `staged` describes the index that is put there, `indexes` those of other repositories, by path."""

    steps: tuple[JournalStep, ...]
    refs: tuple[RefMove, ...] = ()
    cleared: tuple[str, ...] = ()
    still_gone: tuple[str, ...] = ()
    is_all: bool = False
    is_repository_cleared: bool = False
    staged: str = ""
    indexes: Mapping[str, str] = field(default_factory=dict)

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths of what is changed, without the folders that are made or go because of what is in them."""
        above = {str(parent) for step in self.steps for parent in PurePosixPath(step.path).parents}
        passing = (StepKind.MAKE_FOLDER, StepKind.DROP_FOLDER)
        made = {step.path for step in self.steps if step.kind is StepKind.MAKE_FOLDER}
        return tuple(
            sorted(
                {
                    step.path
                    for step in self.steps
                    if not (step.kind in passing or step.path in made) or step.path.rstrip("/") not in above
                }
            )
        )


class StepRefused(Exception):
    """A step is not carried out. `path` is where, the text says why."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(why)
        self.path = path


MoveRefs = Callable[[Sequence[RefMove]], None]
"""Moves refs, all or none. Raises StepRefused."""

Note = Callable[[], object]
"""Takes note, before all is over, of what stands in the workspace. Can be repeated."""


class ChangeJournal:
    """The journal of one change of a workspace, in a folder of its own on the workspace's file system.

    All methods block. `workspace` is the path of the real folder.
    """

    def __init__(self, place: Path, workspace: str) -> None:
        self.place = place
        self.stage = place / "stage"
        self.workspace = workspace

    @property
    def state(self) -> str:
        """`journal`: it was begun, `done`: it holds, `settled`: the layer knows, `undoing`, `undone`, and
        `refused`: it never held; empty: it was only prepared."""
        names = ("journal", "done", "settled", "undoing", "undone", "refused")
        return next((name for name in names if (self.place / name).exists()), "")

    def read(self) -> ChangePlan:
        """What it says. Raises StagingError."""
        path = self.place / self.state
        try:
            return msgspec.convert(json.loads(path.read_bytes()), ChangePlan)
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            raise StagingError(f"the journal {path} cannot be read: {error}; nothing is changed") from error

    def begin(self, plan: ChangePlan) -> None:
        """Have the plan, and all that lies in the stage, on the disk. Raises OSError."""
        with open_root(str(self.stage)) as stage:
            self._sync([(stage, name) for name in os.listdir(stage)])
            os.fsync(stage)
        unfinished = self.place / "journal.new"
        with open(unfinished, "w", encoding="ascii") as file:
            json.dump(msgspec.to_builtins(plan), file)
            file.flush()
            os.fsync(file.fileno())
        self._rename("journal.new", "journal")

    def carry_out(self, plan: ChangePlan, move_refs: MoveRefs, note: Note) -> None:
        """Change all of it. Raises StepRefused: then nothing is changed, but what the error names."""
        try:
            with open_root(self.workspace) as root, open_root(str(self.stage)) as stage:
                for step in plan.steps:
                    _Step(step, root, stage, self.stage).forward()
            if plan.refs:
                move_refs(plan.refs)
            self._sync_places(plan)
        except (OSError, StepRefused, StagingError) as error:
            why = _explain(error) if isinstance(error, OSError) else str(error)
            refusal = error if isinstance(error, StepRefused) else StepRefused(".", why)
            said = dict.fromkeys((str(refusal), *self.take_back(plan, move_refs, note)))
            raise StepRefused(refusal.path, "; ".join(said)) from error
        self._rename("journal", "done")

    def take_back(self, plan: ChangePlan, move_refs: MoveRefs, note: Note) -> tuple[str, ...]:
        """Have the workspace as it was, and `note` that; sentences about what the person changed meanwhile,
        which stays. Whoever is killed before that was noted leaves it all to be done again."""
        kept = [*_move_refs_back(plan.refs, move_refs)]
        with open_root(self.workspace) as root, open_root(str(self.stage)) as stage:
            kept += filter(None, (_Step(step, root, stage, self.stage).back() for step in reversed(plan.steps)))
        self._sync_places(plan)
        note()
        self._rename("journal", "undone" if (self.place / "undone").exists() else "refused")
        return tuple(kept)

    def plan_again(self) -> ChangePlan:
        """What would have hold again what was undone. Nothing of it is in the layer any more. Raises
        StagingError, OSError."""
        plan = self.read()
        put = (StepKind.PUT, StepKind.SWAP)
        steps = tuple(
            # What was taken back may be more than what was put there, such as an index that git has rewritten.
            replace(step, new=mark_status(os.lstat(self.stage / str(step.number))))
            if step.kind in put
            else step
            for step in plan.steps
        )
        return ChangePlan(steps=steps, refs=plan.refs, staged=plan.staged, indexes=plan.indexes)

    def undo(self, plan: ChangePlan, move_refs: MoveRefs, note: Note) -> None:
        """Take back what held. Raises StepRefused: then all of it still holds."""
        self._require_unchanged(plan)
        self._rename(self.state, "undoing")
        if plan.refs:
            try:
                move_refs(_turn(plan.refs))
            except StepRefused:
                self._rename("undoing", "settled")
                raise
        with open_root(self.workspace) as root, open_root(str(self.stage)) as stage:
            kept = [_Step(step, root, stage, self.stage).back() for step in reversed(plan.steps)]
        self._sync_places(plan)
        note()
        self._rename("undoing", "undone")
        if lost := [each for each in kept if each]:
            raise StepRefused(".", f"all is taken back but for this: {'; '.join(lost)}")

    def finish_undo(self, plan: ChangePlan, move_refs: MoveRefs, note: Note) -> tuple[str, ...]:
        """Take back the rest of what a killed process began to take back; sentences as of `take_back`."""
        kept = [*_move_refs_back(plan.refs, move_refs)]
        with open_root(self.workspace) as root, open_root(str(self.stage)) as stage:
            kept += filter(None, (_Step(step, root, stage, self.stage).back() for step in reversed(plan.steps)))
        self._sync_places(plan)
        note()
        self._rename("undoing", "undone")
        return tuple(kept)

    def note_settled(self) -> None:
        """The layer holds what it should hold after the change."""
        self._rename("done", "settled")

    def _require_unchanged(self, plan: ChangePlan) -> None:
        with open_root(self.workspace) as root, open_root(str(self.stage)) as stage:
            dropped = {step.path for step in plan.steps if step.kind is StepKind.DROP_FOLDER}
            made = {step.path.rstrip("/") for step in plan.steps if step.kind is StepKind.MAKE_FOLDER}
            for step in plan.steps:
                if step.path.rstrip("/").rpartition("/")[0] + "/" not in dropped:
                    _Step(step, root, stage, self.stage).require_undoable(is_folder_now=step.path in made)

    def _sync_places(self, plan: ChangePlan) -> None:
        """Have the names of the folders that were changed on the disk, and those of what was taken out.

        git has refs and objects on the disk before it names them, but not their names: with the next file that
        is synced these are there on some file systems, and on btrfs perhaps half a minute later.
        """
        if plan.refs:
            sync_file_system(self.workspace)
        folders = {step.path.rstrip("/").rpartition("/")[0] for step in plan.steps}
        with open_root(self.workspace) as root, open_root(str(self.stage)) as stage:
            self._sync([*((root, folder or ".") for folder in folders), (stage, ".")])

    def _sync(self, places: Sequence[tuple[int, str]]) -> None:
        """Some files and folders one by one, which costs by them; many with all else on the file system. Links
        are written with their folder."""
        if len(places) > _MOST_SYNCED:
            sync_file_system(str(self.stage))
            return
        for folder, name in places:
            try:
                with open_below(folder, name) as file:
                    os.fsync(file)
            except (FileNotFoundError, NotADirectoryError):  # a folder that is gone is there with the one above
                continue

    def _rename(self, name: str, new_name: str) -> None:
        os.rename(self.place / name, self.place / new_name)
        with open_root(str(self.place)) as folder:
            os.fsync(folder)


def _turn(refs: Sequence[RefMove]) -> tuple[RefMove, ...]:
    return tuple(RefMove(ref=each.ref, old=each.new, new=each.old) for each in refs)


def _move_refs_back(refs: Sequence[RefMove], move_refs: MoveRefs) -> list[str]:
    """Each by itself: some may have been moved, and the person may have moved others. Those that go are first:
    they may be in the way of others."""
    kept = []
    for each in sorted(_turn(refs), key=lambda each: bool(each.new)):
        try:
            move_refs((each,))
        except (StepRefused, StagingError) as error:
            kept.append(str(error))
    return kept


class _Step:
    """A step between a workspace and a stage, given by their descriptors."""

    def __init__(self, step: JournalStep, root: int, stage: int, stage_path: Path) -> None:
        self._step = step
        self._root = root
        self._stage = stage
        self._kept_at = stage_path / str(step.number)
        folder, _, self._name = step.path.rstrip("/").rpartition("/")
        self._folder = folder
        self._number = str(step.number)

    def forward(self) -> None:
        """Raises StepRefused; then this step is not carried out, or `back` takes it back."""
        step = self._step
        try:
            with open_folder(self._root, self._folder) as folder:
                match step.kind:
                    case StepKind.PUT:
                        move(self._number, self._stage, self._name, folder)
                    case StepKind.SWAP:
                        self._require(folder)
                        exchange(self._number, self._stage, self._name, folder)
                        self._require_taken()
                    case StepKind.TAKE:
                        self._require(folder)
                        move(self._name, folder, self._number, self._stage)
                        self._require_taken()
                    case StepKind.MAKE_FOLDER:
                        self._make_folder(folder, step.new_dress)
                    case StepKind.DRESS_FOLDER:
                        self._dress(folder, step.old_dress, step.new_dress)
                    case StepKind.DROP_FOLDER:
                        self._drop_folder(folder)
        except OSError as error:
            raise StepRefused(step.path, self._explain(error)) from error

    def back(self) -> str | None:
        """Take the step back, if it was carried out; a sentence where the person changed what it made."""
        step = self._step
        try:
            with open_folder(self._root, self._folder) as folder:
                match step.kind:
                    case StepKind.PUT:
                        return self._take_away(folder)
                    case StepKind.SWAP:
                        return self._swap_back(folder)
                    case StepKind.TAKE:
                        if read_file_status(self._number, self._stage) is not None:
                            move(self._number, self._stage, self._name, folder)
                    case StepKind.MAKE_FOLDER:
                        self._drop_folder(folder)
                    case StepKind.DRESS_FOLDER:
                        self._dress(folder, step.new_dress, step.old_dress)
                    case StepKind.DROP_FOLDER:
                        if read_file_status(self._name, folder) is None:
                            self._make_folder(folder, step.old_dress)
        except StepRefused as refused:
            return f"{step.path}: {refused}"
        except OSError as error:
            if step.kind in (StepKind.PUT, StepKind.MAKE_FOLDER) and error.errno == errno.ENOENT:
                return None
            return f"{step.path}: {self._explain(error)}; {self._say_where()}"
        return None

    def require_undoable(self, *, is_folder_now: bool) -> None:
        """Raises StepRefused where the person changed what the step made. `is_folder_now`: another step put a
        folder in the place of what this one took."""
        step = self._step
        try:
            with open_folder(self._root, self._folder) as folder:
                status = read_file_status(self._name, folder)
        except OSError as error:
            raise StepRefused(step.path, self._explain(error)) from error
        match step.kind:
            case StepKind.PUT | StepKind.SWAP:
                if not _fits(status, step.new):
                    raise StepRefused(step.path, "it was changed since it was applied")
            case StepKind.TAKE:
                if status is not None and not (is_folder_now and stat.S_ISDIR(status.st_mode)):
                    raise StepRefused(step.path, "something stands there again")
            case StepKind.MAKE_FOLDER | StepKind.DRESS_FOLDER | StepKind.DROP_FOLDER:
                return

    def _require(self, folder: int) -> None:
        if not _fits(read_file_status(self._name, folder), self._step.old):
            raise StepRefused(self._step.path, "it was changed since the review")

    def _require_taken(self) -> None:
        """What came out has to be what was reviewed: the person may have written in it just then."""
        step = self._step
        fits = _fits(read_file_status(self._number, self._stage), step.old)
        if not fits or (step.old_sha256 is not None and self._hash() != step.old_sha256):
            raise StepRefused(step.path, "it was changed since the review")

    def _hash(self) -> str:
        with os.fdopen(os.open(self._number, _READ, dir_fd=self._stage), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _take_away(self, folder: int) -> str | None:
        step = self._step
        status = read_file_status(self._name, folder)
        if read_file_status(self._number, self._stage) is not None or status is None:
            return None
        if not _fits(status, step.new):
            return f"{step.path} is kept as you changed it"
        move(self._name, folder, self._number, self._stage)
        if not _fits(read_file_status(self._number, self._stage), step.new):
            move(self._number, self._stage, self._name, folder)
            return f"{step.path} is kept as you changed it"
        return None

    def _swap_back(self, folder: int) -> str | None:
        step, staged = self._step, read_file_status(self._number, self._stage)
        if staged is None or (step.new is not None and staged.st_ino == step.new.inode):
            return None
        if not _fits(read_file_status(self._name, folder), step.new):
            return f"{step.path} is kept as you changed it; {self._say_where()}"
        exchange(self._number, self._stage, self._name, folder)
        if not _fits(read_file_status(self._number, self._stage), step.new):
            exchange(self._number, self._stage, self._name, folder)
            return f"{step.path} is kept as you changed it; {self._say_where()}"
        return None

    def _make_folder(self, folder: int, dress: FolderDress | None) -> None:
        """Make it in the stage, so that it has its name only once it is dressed."""
        if read_file_status(self._number, self._stage) is not None:
            os.rmdir(self._number, dir_fd=self._stage)
        os.mkdir(self._number, 0o700, dir_fd=self._stage)
        with open_folder(self._stage, self._number) as made:
            if dress is not None:
                _put_dress(made, dress)
        move(self._number, self._stage, self._name, folder)

    def _drop_folder(self, folder: int) -> None:
        """Files of the person may be in it: then it stays."""
        try:
            os.rmdir(self._name, dir_fd=folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR):
                raise

    def _dress(self, folder: int, old: FolderDress | None, new: FolderDress | None) -> None:
        with open_folder(folder, self._name) as opened:
            if old is None or new is None or read_dress(opened) == new:
                return
            if read_dress(opened) != old:
                raise StepRefused(self._step.path, "its mode or attributes were changed since the review")
            _put_dress(opened, new)

    def _explain(self, error: OSError) -> str:
        match error.errno:
            case errno.EEXIST:
                return "something stands there now"
            case errno.ENOENT | errno.ENOTDIR | errno.ELOOP:
                return "its folder is no longer there, or a link leads to it"
            case errno.EXDEV | errno.EBUSY:
                return "another file system, or a file of one, is mounted there; change it yourself"
            case errno.EINVAL:
                return "this file system cannot exchange two files; work without a layer there"
            case _:
                return _explain(error)

    def _say_where(self) -> str:
        return f"what it held before is in {self._kept_at}"


def mark_status(status: os.stat_result) -> PlaceMark:
    """The mark of a file."""
    return PlaceMark(
        inode=status.st_ino, modified_ns=status.st_mtime_ns, size=status.st_size, mode=status.st_mode
    )


def read_dress(folder: int | str) -> FolderDress:
    """What a folder has besides its files. Raises OSError."""
    status = os.stat(folder)
    path = f"/proc/self/fd/{folder}/." if isinstance(folder, int) else folder
    return FolderDress(
        mode=stat.S_IMODE(status.st_mode),
        owner=status.st_uid,
        group=status.st_gid,
        attributes={name: value.hex() for name, value in sorted(read_attributes(path).items())},
    )


def _put_dress(folder: int, dress: FolderDress) -> None:
    status = os.fstat(folder)
    if (status.st_uid, status.st_gid) != (dress.owner, dress.group):
        os.fchown(folder, dress.owner, dress.group)
    present = read_dress(folder).attributes
    for name in present.keys() - dress.attributes.keys():
        os.removexattr(folder, name)
    for name, value in dress.attributes.items():
        if present.get(name) != value:
            os.setxattr(folder, name, bytes.fromhex(value))
    os.fchmod(folder, dress.mode)


def _fits(status: os.stat_result | None, mark: PlaceMark | None) -> bool:
    return (None if status is None else mark_status(status)) == mark


def _explain(error: OSError) -> str:
    return error.strerror or str(error)
