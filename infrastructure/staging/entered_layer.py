"""The layer of a process: mounted over its workspace, and taken away while its effects are applied."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from signal import SIGTERM
from threading import RLock

from quorum.domain.errors import StagingError
from quorum.domain.text.paths import is_below_any
from quorum.infrastructure.staging.layer_folder import LayerFolder, prepare_mount, read_layer
from quorum.infrastructure.staging.mounting import MountRefused, is_mounted, mount_layer, unmount
from quorum.infrastructure.staging.planted_files import list_planted

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
