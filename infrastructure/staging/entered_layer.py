"""The layer of a process: mounted over its workspace, searched for what it plants, and taken away while its
effects are applied."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from signal import SIGTERM
from threading import RLock

from quorum.domain.errors import StagingError
from quorum.domain.staging.planted_programs import describe_planted, may_plant
from quorum.domain.text.paths import is_below_any
from quorum.infrastructure.staging.layer_folder import LayerFolder, prepare_mount, read_layer
from quorum.infrastructure.staging.mounting import MountRefused, is_mounted, mount_layer, unmount

_UNSYNCED = (
    "the machine was started anew since the layer was last used: files that were written shortly before may be "
    "incomplete in it"
)


class EnteredLayer:
    """The layer in which this process works, until it ends.

    `waiting`: it holds effects of an earlier turn. `notices` are sentences about what was put in order before.
    """

    has_user_namespace = False

    def __init__(self, folder: LayerFolder, *, waiting: bool = False, notices: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.waiting = waiting
        self.notices = notices
        self.apart = set[Path]()  # where layers of subagents are kept that are open now
        self.told = set[str]()  # why such layers could not be merged
        self._lower = -1
        self._turns = 0
        self._renewed: list[Callable[[], None]] = []
        self._closing = RLock()
        self._held = ExitStack()

    @property
    def real(self) -> str:
        """A path to the workspace below the layer, for this process alone. Links of its name are not resolved:
        that would lead to the layer."""
        return f"/proc/self/fd/{self._lower}"

    def list_planted(self) -> tuple[str, ...]:
        """What was written in it that programs start by themselves, a clause each. Blocks."""
        return list_planted(str(self.folder.upper), self.real)

    def keep(self, held: ExitStack) -> None:
        """Have the layer to this process until it ends."""
        self._held = held

    def note_session(self, session_id: str) -> None:
        """Have it known whose work stands in the layer. Raises StagingError."""
        try:
            self.folder = read_layer(self.folder.place).note_session(session_id)
        except OSError as error:
            raise StagingError(f"the layer in {self.folder.place} cannot be written: {error}") from error

    @contextmanager
    def hold_turn(self) -> Iterator[None]:
        """Meanwhile the layer cannot be closed."""
        with self._closing:
            self._turns += 1
        try:
            yield
        finally:
            self._turns -= 1

    def on_renewal(self, forget: Callable[[], None]) -> None:
        """Have this called each time the layer was closed and is there again: what was known of its files by
        their numbers does not hold any more."""
        self._renewed.append(forget)

    def mount(self) -> None:
        """Mount it. Raises StagingError where it is not there afterwards."""
        folder, here = self.folder, os.getcwd()
        if prepare_mount(folder) and self.waiting:
            self.notices += (_UNSYNCED,)
        try:
            self._lower = mount_layer(folder.workspace, str(folder.upper), str(folder.work))
        except MountRefused as refused:
            raise StagingError(str(refused)) from refused
        if is_below_any(here, (folder.workspace,)):
            _change_folder(here, folder.workspace)

    @contextmanager
    def closed(self) -> Iterator[str]:
        """Have the workspace at its own path, which this yields, until the block ends; then the layer is there
        again. Raises StagingError while a turn runs, and where the layer cannot be taken away, or not be put
        back: the process ends then.
        """
        with self._closing:
            if self._turns:
                raise StagingError(
                    "a turn or a command of yours runs in this layer, perhaps in another tab: wait, or stop it"
                )
            self._take_away("end quorum")
            try:
                yield self.folder.workspace
            finally:
                self._put_back()

    def leave(self) -> bool:
        """Take the layer away, for a program that takes the place of this one. Returns whether that can do all
        that this one could before: no program gets out of a user namespace, in which `sudo` does nothing.

        Raises StagingError.
        """
        self._take_away("start quorum anew")
        return not self.has_user_namespace

    def _take_away(self, remedy: str) -> None:
        workspace, here = self.folder.workspace, os.getcwd()
        try:
            unmount(workspace)
        except OSError as error:
            raise StagingError(f"the layer cannot be taken away: {error.strerror}; {remedy}") from error
        os.close(self._lower)
        if is_below_any(here, (workspace,)):
            _change_folder(here, workspace)

    def _put_back(self) -> None:
        try:
            self.mount()
        except StagingError:
            os.kill(os.getpid(), SIGTERM)  # whatever came next would be done to the person's own files
            raise
        for forget in self._renewed:
            forget()

    def check(self) -> None:
        """Raise StagingError where the workspace is not the layer, so that nothing must run."""
        if not is_mounted(self.folder.workspace):
            raise StagingError("the layer over the workspace is gone; nothing runs any more: end quorum")


def _change_folder(wanted: str, workspace: str) -> None:
    """Be in the same folder as before, by its path; in the workspace where it is not there now."""
    try:
        os.chdir(wanted)
    except OSError:
        with suppress(OSError):
            os.chdir(workspace)


_MOST_ENTRIES = 20_000
_MOST_BYTES = 256 * 1024
_MOST_NAMED = 8
_PASSED_BY = frozenset({"node_modules", ".venv", "venv", "__pycache__", "objects", "target", ".tox", ".nox"})
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def list_planted(upper: str, lower: str) -> tuple[str, ...]:
    """What the layer in `upper` over the folder `lower` plants, a clause each, with the path first. Blocks."""
    found: list[str] = []
    for path in _list_files(upper):
        if may_plant(path):
            after = _read(f"{upper}/{path}")
            if after is not None:
                planted = describe_planted(path, _read(f"{lower}/{path}") or b"", after)
                found += [f"{path} {words}" for words in planted]
    more = f"and {len(found) - _MOST_NAMED} more files have programs start something"
    return (*found[:_MOST_NAMED], *((more,) if found[_MOST_NAMED:] else ()))


def _list_files(top: str) -> Iterator[str]:
    """The files below a folder by their relative paths, those of outer folders first."""
    waiting, left = deque([""]), _MOST_ENTRIES
    while waiting:
        folder = waiting.popleft()
        try:
            with os.scandir(f"{top}/{folder}") as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in listed:
            if (left := left - 1) < 0:
                return
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _PASSED_BY:
                    waiting.append(f"{folder}{entry.name}/")
            else:
                yield f"{folder}{entry.name}"


def _read(place: str) -> bytes | None:
    """What a file holds, or where a link leads; None where there is neither."""
    try:
        status = os.lstat(place)
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(os.readlink(place))
        if not stat.S_ISREG(status.st_mode):
            return None
        with open(os.open(place, _READ), "rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return None
