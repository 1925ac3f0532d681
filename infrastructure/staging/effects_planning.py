"""What of a layer's effects is applied, as steps that all hold or none, with the files for them in a stage."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from quorum.domain.calls.effects import FileKind
from quorum.domain.replacing import replace
from quorum.domain.staging.layer_effects import EffectChoice, LayerEffect, LayerEffectKind
from quorum.domain.text.git_head import is_commit
from quorum.infrastructure.files.file_metadata import MetadataNotKept, copy_metadata
from quorum.infrastructure.staging.change_journal import (
    ChangePlan,
    FolderDress,
    JournalStep,
    RefMove,
    StepKind,
    StepRefused,
    mark_status,
    read_dress,
)
from quorum.infrastructure.staging.effects_reading import ReadEffects
from quorum.infrastructure.staging.layer_repository import HEAD, INDEX, LayerRepository
from quorum.infrastructure.staging.lower_files import LowerFiles
from quorum.infrastructure.staging.merged_content import NotMerged, leave_hunks_out, merge_texts
from quorum.infrastructure.staging.upper_folder import read_status, strip_overlay_attributes

_INDEX_BEGINS = b"DIRC"
_NO_LINKS = frozenset({errno.EPERM, errno.EXDEV, errno.EMLINK, errno.ENOTSUP, errno.EACCES})


class EffectsPlanner:
    """Plans what is applied of what was read; `lower` is the real folder. The files go to `stage`."""

    def __init__(
        self,
        read: ReadEffects,
        choice: EffectChoice,
        *,
        upper: Path,
        lower: str,
        stage: Path,
        known: LowerFiles,
        began_ns: int,
        environ: Mapping[str, str],
        repository: LayerRepository,
    ) -> None:
        self._read = read
        self._choice = choice
        self._upper = upper
        self._lower = lower
        self._stage = stage
        self._known = known
        self._began_ns = began_ns
        self._environ = environ
        self._repository = repository
        self._number = 0
        self._is_index_whole = INDEX in read.changes  # of a repository that is no other's
        self.refused: dict[str, str] = {}
        """Why, by path or ref, nothing of it can be applied."""
        effects = read.effects
        self._commits = [each for each in effects.commits if each.ref not in choice.left_out]
        left_refs = {each.ref for each in effects.commits} & choice.left_out
        self._left_out = choice.left_out | self._find_index_left_out(left_refs)
        self._chosen = [
            each
            for each in effects.effects
            if each.path not in self._left_out and each.kind is not LayerEffectKind.OTHER
        ]

    def plan(self) -> ChangePlan:
        """The plan; `refused` says why there is none. Raises OSError, StagingError."""
        self._check_choice()
        effects = self._read.effects
        by_kind = {kind: [e for e in self._chosen if e.kind is kind] for kind in LayerEffectKind}
        deleted = by_kind[LayerEffectKind.DELETE]
        written = [
            *by_kind[LayerEffectKind.CREATE],
            *by_kind[LayerEffectKind.REPLACE],
            *by_kind[LayerEffectKind.MODE],
        ]
        dressed = [self._dress(each) for each in written if each.path.endswith("/") and each.before is not None]
        made = list(self._make_folders(written))
        steps = [
            *(step for step in dressed if _is_closed(step.old_dress)),
            *(self._take(each) for each in deleted if not each.path.endswith("/")),
            *self._drop_folders(deleted),
            *(replace(step, new_dress=_open(step.new_dress)) for step in made),
            *(step for each in written if (step := self._write(each)) is not None),
            *self._move_head(),
            *(step for step in dressed if not _is_closed(step.old_dress)),
            *self._close_made(made),
        ]
        refs = tuple(
            RefMove(ref=each.ref, old=each.before, new=each.after)
            for each in self._commits
            if each.ref != "HEAD"
        )
        if self.refused:
            return ChangePlan(steps=())
        is_made = (step for step in steps if step.path == INDEX and not self._is_index_whole)
        index = next((self._stage / str(step.number) for step in is_made), None)
        commits = [each.after for each in self._commits if is_commit(each.after)]
        if commits or index is not None:
            self._repository.carry_objects(commits, index, effects.workspace)
        with_rest = {path for path in self._choice.hunks if self._choice.hunks[path]}
        is_all = not with_rest and len(self._chosen) == len(effects.effects)
        is_all = is_all and len(self._commits) == len(effects.commits)
        return ChangePlan(
            steps=tuple(steps),
            refs=refs,
            cleared=tuple(
                each
                for each in (*(effect.path for effect in self._chosen), *self._list_cleared_refs())
                if each not in with_rest
            ),
            still_gone=tuple(
                each.path
                for each in effects.effects
                if each.path in self._left_out and each.kind is LayerEffectKind.DELETE
            ),
            is_all=is_all,
            staged=self._repository.describe_index(index) if index is not None else "",
            indexes=dict(self._describe_indexes(steps)),
            is_repository_cleared=len(self._commits) == len(effects.commits) and INDEX not in self._left_out,
        )

    def _describe_indexes(self, steps: Sequence[JournalStep]) -> Iterator[tuple[str, str]]:
        """Those of repositories that arrive as files: new ones, and those of submodules."""
        for step in steps:
            place = self._stage / str(step.number)
            if (
                step.path.endswith("/index")
                and step.kind in (StepKind.PUT, StepKind.SWAP)
                and (step.path != INDEX or self._is_index_whole)
                and _begins_as_index(place)
                and (described := self._repository.describe_index(place))
            ):
                yield step.path, described

    def _find_index_left_out(self, left_refs: frozenset[str] | set[str]) -> frozenset[str]:
        """What is staged follows the commits of its branch."""
        follows = {"HEAD", self._repository.read_head_branch()} & left_refs
        return frozenset({INDEX}) if follows else frozenset()

    def _check_choice(self) -> None:
        effects = self._read.effects
        paths = {each.path for each in effects.effects}
        names = paths | {each.ref for each in effects.commits}
        choice = self._choice
        for name in sorted((choice.left_out | choice.overwrite) - names):
            self.refused[name] = "it is no effect of this layer"
        for name in sorted(set(choice.hunks) - paths):
            self.refused[name] = "it is no effect of this layer"
        for each in self._commits:
            if each.conflict and each.ref not in choice.overwrite:
                self.refused[each.ref] = each.conflict
        for effect in self._chosen:
            if effect.conflict and effect.path not in choice.overwrite and not self._may_merge(effect):
                self.refused[effect.path] = effect.conflict
            elif (why := self._find_obstacle(effect)) is not None:
                self.refused[effect.path] = why

    def _may_merge(self, effect: LayerEffect) -> bool:
        states = (effect.before, effect.after)
        return (
            effect.kind is LayerEffectKind.REPLACE
            and all(each is not None and each.kind is FileKind.FILE for each in states)
            and self._known.read_base(effect.path) is not None
        )

    def _find_obstacle(self, effect: LayerEffect) -> str | None:
        """What is left out, and stands where this effect has to be."""
        if effect.kind not in (LayerEffectKind.CREATE, LayerEffectKind.REPLACE):
            return None
        path = effect.path.rstrip("/")
        above = path
        while above := above.rpartition("/")[0]:
            change = self._read.changes.get(above)
            if change is not None and change.after is None and above in self._left_out:
                return f"{above} stands where its folder has to be; apply that it is deleted, too"
        gone = path + "/"
        if gone in self._read.folders.gone and not effect.path.endswith("/"):
            left = (each for each in self._left_out if each.startswith(gone))
            if (first := min(left, default=None)) is not None:
                return f"{first} lies in a folder in its place; apply that it is deleted, too"
        return None

    def _take(self, effect: LayerEffect) -> JournalStep:
        return self._step(StepKind.TAKE, effect, self._next())

    def _drop_folders(self, deleted: list[LayerEffect]) -> Iterator[JournalStep]:
        """Folders that are empty now, from below; those of which something is left out are not."""
        emptied: set[str] = set()
        for each in deleted:
            above = each.path.rstrip("/") if each.path.endswith("/") else each.path.rpartition("/")[0]
            while above and above + "/" not in emptied:
                emptied.add(above + "/")
                above = above.rpartition("/")[0]
        hollow = {each.path for each in deleted if each.path.endswith("/")}
        folders = emptied & {*self._read.folders.gone, *hollow}
        for path in sorted(folders - self._left_out, key=lambda path: (-path.count("/"), path)):
            dress = read_dress(f"{self._lower}/{path}")
            yield JournalStep(kind=StepKind.DROP_FOLDER, path=path, number=self._next(), old_dress=dress)

    def _make_folders(self, written: list[LayerEffect]) -> Iterator[JournalStep]:
        """The folders that new files need, from above, dressed as in the layer."""
        needed: set[str] = set()
        for each in written:
            above = (
                each.path if each.path.endswith("/") and each.before is None else each.path.rpartition("/")[0]
            )
            above = above.rstrip("/")
            while above:
                needed.add(above + "/")
                above = above.rpartition("/")[0]
        for path in sorted(needed.intersection(self._read.folders.made)):
            dress = read_dress(str(self._upper / path))
            yield JournalStep(kind=StepKind.MAKE_FOLDER, path=path, number=self._next(), new_dress=dress)

    def _close_made(self, made: list[JournalStep]) -> Iterator[JournalStep]:
        """New folders in which their owner may not write get their mode once they are full, from below."""
        for step in reversed(made):
            if _is_closed(step.new_dress):
                yield JournalStep(
                    kind=StepKind.DRESS_FOLDER,
                    path=step.path,
                    number=self._next(),
                    old_dress=_open(step.new_dress),
                    new_dress=step.new_dress,
                )

    def _dress(self, effect: LayerEffect) -> JournalStep:
        return JournalStep(
            kind=StepKind.DRESS_FOLDER,
            path=effect.path,
            number=self._next(),
            old_dress=read_dress(f"{self._lower}/{effect.path}"),
            new_dress=read_dress(str(self._upper / effect.path)),
        )

    def _write(self, effect: LayerEffect) -> JournalStep | None:
        if effect.path.endswith("/"):
            return None
        number = self._next()
        place = self._stage / str(number)
        try:
            if effect.path == INDEX and not self._is_index_whole:
                self._repository.make_index(place, self._known, self._began_ns)
            elif (content := self._find_content(effect)) is not None:
                _write_like(self._upper / effect.path, content, place)
            else:
                _link(self._upper / effect.path, place)
                self._require_reviewed(effect.path, place)
        except NotMerged as error:
            self.refused[effect.path] = str(error)
            return None
        except StepRefused as error:
            self.refused[error.path] = str(error)
            return None
        return self._step(StepKind.PUT if effect.before is None else StepKind.SWAP, effect, number)

    def _require_reviewed(self, path: str, place: Path) -> None:
        """Raises StepRefused where a program that outlived its turn has written in it since."""
        change = self._read.changes.get(path)
        now, read = os.lstat(place), change.after if change is not None else None
        if read is not None and (now.st_mtime_ns, now.st_size) != (read.st_mtime_ns, read.st_size):
            raise StepRefused(path, "it was changed in the layer since the review")

    def _find_content(self, effect: LayerEffect) -> bytes | None:
        """What is put there where that is not what the layer has."""
        left = self._choice.hunks.get(effect.path)
        is_merged = effect.conflict and effect.path not in self._choice.overwrite
        if not left and not is_merged:
            return None
        for state in (effect.before, effect.after):
            if state is not None and state.kind is not FileKind.FILE:
                raise NotMerged("only files have hunks")
        after = (self._upper / effect.path).read_bytes()
        before = Path(f"{self._lower}/{effect.path}").read_bytes() if effect.before is not None else b""
        if left:
            if is_merged:
                raise NotMerged(f"{effect.conflict}; leave out all of it, or nothing")
            return leave_hunks_out(before, after, left)
        base = self._known.read_base(effect.path)
        if base is None:
            raise NotMerged(effect.conflict)
        return merge_texts(before, base, after, self._stage.parents[2], self._environ)

    def _move_head(self) -> Iterator[JournalStep]:
        if any(each.ref == "HEAD" for each in self._commits):
            _link(self._upper / HEAD, self._stage / str(self._number))
            status = os.lstat(f"{self._lower}/{HEAD}")
            new = os.lstat(self._stage / str(self._number))
            yield JournalStep(
                kind=StepKind.SWAP,
                path=HEAD,
                number=self._next(),
                old=mark_status(status),
                new=mark_status(new),
            )

    def _step(self, kind: StepKind, effect: LayerEffect, number: int) -> JournalStep:
        change = self._read.changes.get(effect.path)
        before = change.before if change is not None else read_status(f"{self._lower}/{effect.path}")
        return JournalStep(
            kind=kind,
            path=effect.path,
            number=number,
            old=mark_status(before) if before is not None else None,
            old_sha256=effect.before.sha256 if effect.before is not None else None,
            new=mark_status(os.lstat(self._stage / str(number))) if kind is not StepKind.TAKE else None,
        )

    def _next(self) -> int:
        self._number += 1
        return self._number - 1

    def _list_cleared_refs(self) -> Iterator[str]:
        for each in self._commits:
            yield f".git/{each.ref}"
            yield f".git/logs/{each.ref}"


def _begins_as_index(place: Path) -> bool:
    if place.is_symlink() or not place.is_file():
        return False
    with open(place, "rb") as file:
        return file.read(len(_INDEX_BEGINS)) == _INDEX_BEGINS


def _is_closed(dress: FolderDress | None) -> bool:
    """Whether its owner may not change what is in such a folder, unless he is root."""
    return dress is not None and dress.mode & stat.S_IRWXU != stat.S_IRWXU


def _open(dress: FolderDress | None) -> FolderDress | None:
    return replace(dress, mode=dress.mode | stat.S_IRWXU) if dress is not None else None


def _link(source: Path, target: Path) -> None:
    """A second name for a file of the layer, without what the overlay noted: it costs nothing, and the layer
    loses the first one once the change holds. A file that has other names there is copied: what a program
    writes to one of these later would else stand in the workspace at once. Raises OSError."""
    status = os.lstat(source)
    if status.st_nlink > 1:
        _copy(source, status, target)
    else:
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _copy(source, status, target)
    strip_overlay_attributes(str(target))


def _copy(source: Path, status: os.stat_result, target: Path) -> None:
    shutil.copy2(source, target, follow_symlinks=False)
    made = os.lstat(target)
    if (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid):
        os.chown(target, status.st_uid, status.st_gid, follow_symlinks=False)
        if not stat.S_ISLNK(status.st_mode):  # a new owner takes away what a mode grants beyond him
            os.chmod(target, stat.S_IMODE(status.st_mode))


def _write_like(model: Path, content: bytes, target: Path) -> None:
    """A file with this content, and all that another has besides. Raises OSError."""
    with open(target, "xb") as file, open(model, "rb") as source:
        file.write(content)
        file.flush()
        try:
            copy_metadata(source.fileno(), file.fileno())
        except MetadataNotKept as error:
            raise NotMerged("a file with other content cannot get its owner and attributes") from error
    strip_overlay_attributes(str(target))
