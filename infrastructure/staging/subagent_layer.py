"""The layer of one subagent, over what that of its session showed when it began.

It is mounted at the same path, in mounts that only its own threads and programs have. What the session's layer
held is copied first, since nobody may change what lies below a layer. What was changed is merged at the end; a
process that was killed, or in which that failed, leaves it to whoever has the session's layer next.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from msgspec import MsgspecError, Struct, json

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.errors import StagingError
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.blocking import ThreadsApart
from quorum.infrastructure.staging.change_journal import RefMove, StepRefused
from quorum.infrastructure.staging.entered_layer import EnteredLayer
from quorum.infrastructure.staging.layer_folder import LayerFolder, make_anew, remove_tree
from quorum.infrastructure.staging.layer_repository import LayerRepository, drop_stale_locks, find_lock
from quorum.infrastructure.staging.merging import (
    ChangedMeanwhile,
    MergePlan,
    MergePlanner,
    carry_out,
    load_plan,
    store_plan,
)
from quorum.infrastructure.staging.mounting import (
    MountRefused,
    join_mounts,
    mount_folders,
    separate_thread,
    unmount,
)
from quorum.infrastructure.staging.upper_folder import OVERLAY_ATTRIBUTES, is_opaque, is_whiteout

_MOST_COPIED, _MOST_COPIED_BYTES = 2_000, 64 * 1024 * 1024
_OPAQUE = OVERLAY_ATTRIBUTES + "opaque"
_FOLDERS = ("up", "work", "frozen", "base")
_NAME, _ORIGIN, _PLAN, _CONTENTS = "name", "origin.json", "plan.json", "contents"
_OBJECTS = ".git/objects"
_UNNAMED = r"[^\w.-]+"
_T = TypeVar("_T")


class TooMuch(Exception):
    """The layer of the session holds more than is copied for each subagent."""


def describe_most_copied() -> str:
    """How much the layer of a session may hold for subagents to have layers of their own."""
    return f"{_MOST_COPIED:,} files and {_MOST_COPIED_BYTES >> 20} MB"


class WorkOrigin(Struct, frozen=True, kw_only=True):
    """Whose work it is: the subagent's of this id, for a call of its owner, the session `session_id`."""

    session_id: str
    subagent_id: str
    context: ToolExecutionContext


class SubagentLayer:
    """What `name` changes, mounted by `mounts` over the workspace, and `base`, a folder that shows what was
    below that. Both are descriptors."""

    def __init__(
        self, layer: EnteredLayer, place: Path, name: str, mounts: int, base: int, device: int
    ) -> None:
        self.name = name
        self._layer = layer
        self._place = place
        self._mounts = mounts
        self._base = base
        self._device = device
        workspace = layer.folder.workspace
        self.threads = ThreadsApart(lambda: join_mounts(mounts, workspace), name)

    @property
    def upper(self) -> str:
        """What was changed in it, as the kernel keeps it."""
        return str(self._place / "up")

    def check(self) -> None:
        """Raise StagingError where the workspace is not this layer, in the thread that asks."""
        if os.stat(self._layer.folder.workspace).st_dev != self._device:
            raise StagingError(f"the layer of {self.name} is gone; nothing of it runs any more")

    @property
    def is_begun(self) -> bool:
        """Whether a process was killed that merged it."""
        return (self._place / _PLAN).exists()

    def plan(self, environ: Mapping[str, str]) -> MergePlan:
        """What is to be done in the layer of the session, or was begun. Nothing may run here then. Raises
        StagingError."""
        folder, place = self._layer.folder, self._place

        def plan() -> MergePlan:
            if (begun := load_plan(place / _PLAN)) is not None:
                return begun
            make_anew(place / _CONTENTS, 0o700)
            base, name = f"/proc/self/fd/{self._base}", read_name(place)
            return MergePlanner(
                str(place / "up"), base, folder.workspace, name, place / _CONTENTS, folder.place, environ
            ).plan()

        return _explained(place, plan)

    def merge(self, plan: MergePlan, environ: Mapping[str, str]) -> None:
        """Carry it out. Raises ChangedMeanwhile: it is to be planned anew; and StagingError: what is missing is
        merged before the next review, or at the next start in the layer."""
        place, is_begun, workspace = self._place, self.is_begun, self._layer.folder.workspace

        def move_refs(refs: Sequence[RefMove]) -> None:
            if is_begun:
                drop_stale_locks(workspace, refs, 0)
            repository = LayerRepository(
                str(place / "up"), workspace, workspace, self._layer.folder.place, environ
            )
            try:
                repository.move_refs(refs, workspace, f"{self.name}: merged")
            except StepRefused as refused:
                if lock := find_lock(workspace, refs):
                    raise StagingError(
                        f"{lock} keeps git from moving {refused.path} to what {self.name} committed: end the "
                        f"git that works there, or remove that file if it was killed; it is kept in {place}"
                    ) from refused
                raise ChangedMeanwhile from refused

        def merge() -> None:
            self._layer.check()
            if not is_begun:
                store_plan(plan, place / _PLAN)
            try:
                carry_out(plan, place / _CONTENTS, workspace, move_refs, is_again=is_begun)
            except BaseException:  # who works on in the layer changes what was planned for
                (place / _PLAN).unlink()
                raise

        _explained(place, merge)

    def close(self) -> None:
        """End its threads. Blocks."""
        self.threads.close()
        os.close(self._mounts)
        os.close(self._base)
        self._layer.apart.discard(self._place)

    def remove(self) -> None:
        """Drop what it holds: it was merged. Raises StagingError."""
        _explained(self._place, lambda: _remove(self._place))


def open_subagent_layer(layer: EnteredLayer, name: str, origin: WorkOrigin | None = None) -> SubagentLayer:
    """A layer for a subagent of the session in `layer`. While it is made, nothing may be written there. Blocks.

    Raises StagingError, and TooMuch.
    """
    name = compile_once(_UNNAMED).sub("-", name)
    try:
        place = _create_place(layer.folder, name, origin)
    except OSError as error:
        raise StagingError(f"no layer for {name} can be kept: {error}") from error
    try:
        _Copying(layer.folder.upper / _OBJECTS).copy(layer.folder.upper, place / "frozen", is_top=True)
        return _open(layer, place, name)
    except (MountRefused, OSError) as error:
        remove_tree(place)
        raise StagingError(f"no layer for {name} can be had: {error}") from error
    except BaseException:
        remove_tree(place)
        raise


def reopen_subagent_layer(layer: EnteredLayer, place: Path) -> SubagentLayer:
    """The layer of a subagent that works no more, to be merged. Blocks. Raises StagingError."""
    return _explained(place, lambda: _open(layer, place, read_name(place)))


def _open(layer: EnteredLayer, place: Path, name: str) -> SubagentLayer:
    layer.apart.add(place)
    try:
        with ThreadPoolExecutor(1) as thread:  # its mounts end with it, but for those who have joined them
            mounts, base, device = thread.submit(_mount, layer.folder.workspace, place).result()
    except BaseException:
        layer.apart.discard(place)
        raise
    return SubagentLayer(layer, place, name, mounts, base, device)


def read_origin(place: Path) -> WorkOrigin | None:
    """Whose work is kept there; None where that is not known."""
    try:
        return json.decode((place / _ORIGIN).read_bytes(), type=WorkOrigin)
    except (OSError, MsgspecError):
        return None


def describe_unmerged(folder: LayerFolder, apart: Collection[Path] = ()) -> tuple[str, ...]:
    """What subagents did that is not in the layer, a sentence each, but for those `apart`. Raises OSError."""
    return tuple(
        f"what {read_name(place)} changed could not be merged and is left out: it is kept in {place}"
        for place in list_subagents(folder)
        if place not in apart and holds_work(place)
    )


def drop_subagents(folder: LayerFolder) -> None:
    """Drop what subagents did that is not merged. None may work now. Raises OSError."""
    for place in list_subagents(folder):
        _remove(place)


def list_subagents(folder: LayerFolder) -> list[Path]:
    """Where subagents have left something that is not merged, the first first."""
    above = folder.place / "subagents"
    try:
        numbers = sorted(int(name) for name in os.listdir(above) if name.isdecimal())
    except FileNotFoundError:
        return []
    return [above / str(number) for number in numbers]


def _mount(workspace: str, place: Path) -> tuple[int, int, int]:
    """Mount the layer kept in `place` for this thread: its mounts, what lies below it, and its device."""
    make_anew(place / "work", 0o700)
    outer = os.stat(workspace).st_dev
    mounts = separate_thread()
    try:
        unmount(workspace)
        frozen, base = str(place / "frozen"), str(place / "base")
        mount_folders(base, [frozen, workspace])
        below = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        mount_folders(workspace, [frozen, workspace], str(place / "up"), str(place / "work"))
        if (device := os.stat(workspace).st_dev) == outer:
            raise MountRefused("the kernel shows the layer of the session in place of another")
        return mounts, below, device
    except BaseException:
        os.close(mounts)
        raise


def _create_place(folder: LayerFolder, name: str, origin: WorkOrigin | None) -> Path:
    above = folder.place / "subagents"
    above.mkdir(mode=0o700, exist_ok=True)
    while True:
        place = above / str(max((int(each.name) for each in list_subagents(folder)), default=0) + 1)
        with suppress(FileExistsError):
            place.mkdir(mode=0o700)
            break
    (place / _NAME).write_text(name, encoding="utf-8")
    if origin is not None:
        (place / _ORIGIN).write_bytes(json.encode(origin))
    for each in _FOLDERS:
        (place / each).mkdir(mode=0o700)
    os.chmod(place / "up", stat.S_IMODE(os.stat(folder.upper).st_mode))
    return place


class _Copying:
    """Copies what a layer holds, as it holds it, up to a limit. Raises TooMuch, OSError."""

    def __init__(self, objects: Path) -> None:
        self._objects = str(objects)
        self._count = self._bytes = 0

    def copy(self, source: Path, target: Path, *, is_top: bool = False) -> None:
        """The content of a folder into an empty one."""
        with os.scandir(source) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if str(source).startswith(self._objects) and stat.S_ISREG(status.st_mode):
                    os.link(entry.path, target / entry.name)  # git never writes in one that is there
                    continue
                self._count += 1
                self._bytes += status.st_size
                if self._count > _MOST_COPIED or self._bytes > _MOST_COPIED_BYTES:
                    raise TooMuch
                place = target / entry.name
                if stat.S_ISDIR(status.st_mode):
                    place.mkdir(mode=0o700)
                    self.copy(Path(entry.path), place)
                    shutil.copystat(entry.path, place, follow_symlinks=False)
                elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                    shutil.copy2(entry.path, place, follow_symlinks=False)
                elif is_whiteout(status):
                    os.mknod(place, stat.S_IFCHR)
        if is_opaque(str(source)):
            os.setxattr(target, _OPAQUE, b"y")
        if is_top:
            os.chmod(target, stat.S_IMODE(os.stat(source).st_mode))


def _explained(place: Path, work: Callable[[], _T]) -> _T:
    try:
        return work()
    except (OSError, MountRefused, ValueError) as error:
        raise StagingError(
            f"what {read_name(place)} changed is not in the layer of its session yet ({error}): it is kept in "
            f"{place}, and merged before the next review if that can be"
        ) from error


def read_name(place: Path) -> str:
    try:
        return (place / _NAME).read_text(encoding="utf-8")
    except OSError:
        return "subagent"


def holds_work(place: Path) -> bool:
    """Whether something is to be merged from there. Raises OSError."""
    return (place / _PLAN).exists() or ((place / "up").is_dir() and bool(os.listdir(place / "up")))


def _remove(place: Path) -> None:
    gone = place.with_name(f"{place.name}.gone")
    os.rename(place, gone)
    remove_tree(gone)
