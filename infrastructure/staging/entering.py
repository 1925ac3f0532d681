"""Has this process work in a layer: from then on its workspace is the layer, for all it does and starts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import RLock

from quorum.domain.errors import StagingError
from quorum.domain.text.paths import is_below_any
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.staging.layer_folder import (
    LayerFolder,
    create_layer,
    empty_layer,
    hold_layer,
    list_places,
    locate_layers_of,
    prepare_mount,
)
from quorum.infrastructure.staging.mounting import (
    MountRefused,
    enter_namespaces,
    is_mounted,
    list_mounts,
    mount_layer,
    unmount,
)

_UNSYNCED = (
    "the machine was started anew since the layer was last used: files that were written shortly before may be "
    "incomplete in it"
)
_WEAKER = "work in a worktree (/worktree), or in another mode"


class EnteredLayer:
    """The layer in which this process works, until it ends.

    `waiting`: it holds effects of an earlier turn. `notices` are sentences about what was put in order before.
    """

    def __init__(self, folder: LayerFolder, *, waiting: bool = False, notices: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.waiting = waiting
        self.notices = notices
        self._lower = -1
        self._closing = RLock()
        self._held = ExitStack()

    @property
    def real(self) -> str:
        """A path to the workspace below the layer, for this process alone. Links of its name are not resolved:
        that would lead to the layer."""
        return f"/proc/self/fd/{self._lower}"

    def keep(self, held: ExitStack) -> None:
        """Have the layer to this process until it ends."""
        self._held = held

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
        again. Nothing of the session may run. Raises StagingError where the layer cannot be taken away, or not
        be put back: this process must end then.
        """
        with self._closing:
            workspace, here = self.folder.workspace, os.getcwd()
            try:
                unmount(workspace)
            except OSError as error:
                raise StagingError(f"the layer cannot be taken away: {error.strerror}; end quorum") from error
            os.close(self._lower)
            if is_below_any(here, (workspace,)):
                _change_folder(here, workspace)
            try:
                yield workspace
            finally:
                self.mount()

    def check(self) -> None:
        """Raise StagingError where the workspace is not the layer, so that nothing must run."""
        if not is_mounted(self.folder.workspace):
            raise StagingError("the layer over the workspace is gone; nothing runs any more: end quorum")


_entered: list[EnteredLayer] = []


def find_entered() -> EnteredLayer | None:
    """The layer of this process; None where it works in the workspace itself."""
    return _entered[0] if _entered else None


def enter_layer(
    root: Path,
    environ: Mapping[str, str],
    *,
    recover: Callable[[LayerFolder], tuple[str, ...]] = lambda _folder: (),
    has_effects: Callable[[LayerFolder], bool] = lambda folder: any(os.scandir(folder.upper)),
) -> EnteredLayer:
    """Work in a layer over the canonical folder `root` from now on.

    It is the first one that nobody uses and in which effects wait, or a new one. `recover` puts in order what a
    process left that was killed. Nothing else of this process may have begun: no thread, no program. Raises
    StagingError, and then the process works where it did before.
    """
    workspace = str(root)
    if explained := explain_unfit(workspace, environ):
        raise StagingError(f"no layer can be had: {explained}; {_WEAKER}")
    state = locate_state_folder(environ)
    assert state is not None  # or there would be an explanation
    with ExitStack() as held:
        entered = _choose(state, workspace, held, recover, has_effects)
        try:
            enter_namespaces()
        except (MountRefused, OSError) as refused:
            raise StagingError(f"no layer can be had: {refused}; {_WEAKER}") from refused
        try:
            entered.mount()
        except StagingError as error:
            raise StagingError(f"no layer can be had: {error}; {_WEAKER}") from error
        entered.keep(held.pop_all())
    _entered[:] = [entered]
    return entered


def explain_unfit(workspace: str, environ: Mapping[str, str]) -> str:
    """Why no layer can be over a workspace, a clause; empty where nothing speaks against trying."""
    if sys.platform != "linux":
        return "there are none on this system"
    if _entered:
        return "this process works in one already"
    if workspace == "/":
        return "the workspace is the whole file system"
    state = locate_state_folder(environ)
    if state is None:
        return "there is no home folder to keep it in"
    if is_below_any(os.path.realpath(state), (workspace,)):
        return f"the workspace holds quorum's own state ({state}), which must outlive what is dropped"
    if is_below_any(workspace, (os.path.realpath(state),)):
        return "the workspace lies in quorum's own state"
    inside = [mount.place for mount in list_mounts() if mount.place.startswith(f"{workspace}/")]
    if inside:
        return f"{inside[0]} in the workspace is a mount of its own, which a layer does not hold"
    return ""


def _choose(
    state: Path,
    workspace: str,
    held: ExitStack,
    recover: Callable[[LayerFolder], tuple[str, ...]],
    has_effects: Callable[[LayerFolder], bool],
) -> EnteredLayer:
    notices: list[str] = []
    empty: Path | None = None
    for place in list_places(locate_layers_of(state, workspace)):
        with ExitStack() as trying:
            try:
                folder = trying.enter_context(hold_layer(place))
            except StagingError:  # another process has it, or what is there is none of ours
                continue
            notices += recover(folder)
            if has_effects(folder):
                held.push(trying.pop_all())
                return EnteredLayer(folder, waiting=True, notices=tuple(notices))
            empty = empty or place
    folder = held.enter_context(hold_layer(empty or create_layer(state, workspace)))
    return EnteredLayer(empty_layer(folder) if empty else folder, notices=tuple(notices))


def _change_folder(wanted: str, workspace: str) -> None:
    """Be in the same folder as before, by its path; in the workspace where it is not there now."""
    try:
        os.chdir(wanted)
    except OSError:
        with suppress(OSError):
            os.chdir(workspace)
