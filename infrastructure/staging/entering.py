"""Whether a layer can be had here, and this process put to work in it: it is the workspace from then on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from quorum.application.program_lookup import select_loader_environment
from quorum.domain.errors import StagingError
from quorum.domain.text.paths import is_below_any
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.staging import mounting
from quorum.infrastructure.staging.entered import find_entered, note_entered
from quorum.infrastructure.staging.entered_layer import EnteredLayer
from quorum.infrastructure.staging.layer_folder import (
    LayerFolder,
    create_layer,
    empty_layer,
    explain_unreadable,
    hold_layer,
    list_places,
    locate_layers_of,
    read_layer,
)
from quorum.infrastructure.staging.mounting import (
    MountRefused,
    enter_namespaces,
    find_mount,
    is_mounted,
    list_mounts,
)

_MOST_CREATED = 20
_WEAKER = "work in a worktree (/worktree), or in another mode"


def enter_layer(
    root: Path,
    environ: Mapping[str, str],
    *,
    session: str = "",
    is_shared: bool = True,
    recover: Callable[[LayerFolder], tuple[str, ...]] = lambda _folder: (),
    has_effects: Callable[[LayerFolder], bool] = lambda folder: bool(os.listdir(folder.upper)),
) -> EnteredLayer:
    """Work in a layer over the canonical folder `root` from now on.

    It is the first one that nobody uses and in which effects wait, or a new one; of those, one in which this
    `session`, an id or its beginning, worked last comes before all others. Unless layers are `is_shared` by all
    sessions of the folder, effects of others stay with them. `recover` puts in order what a process left that
    was killed. Nothing else of this process may have begun: no thread, no program. Raises
    StagingError, and then the process works where it did before.
    """
    workspace = str(root)
    if explained := explain_unfit(workspace, environ):
        raise StagingError(f"no layer can be had: {explained}; {_WEAKER}")
    state = locate_state_folder(environ)
    assert state is not None  # or there would be an explanation
    with ExitStack() as held:
        places = _sort_places(list_places(locate_layers_of(state, workspace)), session)
        entered = _choose(
            places, state, workspace, held, recover, has_effects, owner="" if is_shared else session
        )
        try:
            entered.has_user_namespace = enter_namespaces()
        except (MountRefused, OSError) as refused:
            raise StagingError(f"no layer can be had: {refused}; {_WEAKER}") from refused
        try:
            entered.mount()
        except StagingError as error:
            raise StagingError(f"no layer can be had: {error}; {_WEAKER}") from error
        entered.keep(held.pop_all())
    note_entered(entered)
    return entered


def explain_unfit(workspace: str, environ: Mapping[str, str]) -> str:
    """Why no layer can be over a workspace, a clause; empty where nothing speaks against trying."""
    if sys.platform != "linux":
        return "there are none on this system"
    if find_entered() is not None:
        return "this process works in one already"
    if is_mounted(workspace):
        return "the workspace is a layer already, of the quorum that this one was started from"
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
    return _explain_apart(state, workspace)


def _explain_apart(state: Path, workspace: str) -> str:
    """All or nothing is applied because files are renamed from the layer into the workspace."""
    existing = next(each for each in (state, *state.parents) if os.path.isdir(each))
    try:
        if find_mount(str(existing)) == find_mount(workspace):
            return ""
    except OSError as error:
        return f"{error.filename} cannot be looked into ({error.strerror})"
    return (
        f"quorum's state ({state}) lies on another file system than the workspace, so nothing could be applied "
        "at once; XDG_STATE_HOME can name a folder on it"
    )


def _sort_places(places: Sequence[Path], session: str) -> list[Path]:
    """The folders of layers, first those in which this session worked last; empty: none."""

    def is_of_another(place: Path) -> bool:
        try:
            return not (session and read_layer(place).session.startswith(session))
        except StagingError:  # what is there is none of ours, as is found out below
            return True

    return sorted(places, key=is_of_another)


def _choose(
    places: Sequence[Path],
    state: Path,
    workspace: str,
    held: ExitStack,
    recover: Callable[[LayerFolder], tuple[str, ...]],
    has_effects: Callable[[LayerFolder], bool],
    *,
    owner: str,
) -> EnteredLayer:
    """`owner`: where effects of another session wait, that is passed by; empty: of none."""
    notices: list[str] = []
    empty: LayerFolder | None = None
    with ExitStack() as spare:  # two that begin at once must not both choose the same empty one
        for place in places:
            with ExitStack() as trying:
                try:
                    folder = trying.enter_context(hold_layer(place))
                except StagingError:  # another process has it, or it cannot be read
                    notices += filter(None, [explain_unreadable(place)])
                    continue
                notices += recover(folder)
                if has_effects(folder):
                    if owner and folder.session != owner:
                        continue
                    held.push(trying.pop_all())
                    return EnteredLayer(folder, waiting=True, notices=tuple(notices))
                if empty is None:
                    empty = folder
                    spare.push(trying.pop_all())
        if empty is not None:
            held.push(spare.pop_all())
            return EnteredLayer(empty_layer(empty), notices=tuple(notices))
    return EnteredLayer(_create(state, workspace, held), notices=tuple(notices))


def _create(state: Path, workspace: str, held: ExitStack) -> LayerFolder:
    """A new layer. Another process that begins may find it before it is held here: then that one has it."""
    for _ in range(_MOST_CREATED):
        place = create_layer(state, workspace)
        with suppress(StagingError):
            return held.enter_context(hold_layer(place))
    return held.enter_context(hold_layer(create_layer(state, workspace)))


_SECS = 5.0
_ROOM_BYTES = 64 * 1024
"""More than a layer takes before anything is written in it. On a full disk folders can often still be made."""
_TRIAL = (sys.executable, "-I", "-S", str(Path(mounting.__file__)))


def find_obstacle(root: Path, environ: Mapping[str, str], trial: Sequence[str] = _TRIAL) -> str:
    """Why no layer can be over the canonical folder `root`, a clause; empty where one can. Blocks.

    `trial` is the program that mounts one over it, for itself alone.
    """
    return explain_unfit(str(root), environ) or _try_mount(str(root), environ, trial)


def find_mount_obstacle(environ: Mapping[str, str], trial: Sequence[str] = _TRIAL) -> str:
    """Why no layer can be over any folder on the file system of the state; empty where some can. Blocks."""
    if sys.platform != "linux":
        return explain_unfit("", environ)
    return _try_mount("", environ, trial)


def _try_mount(root: str, environ: Mapping[str, str], trial: Sequence[str]) -> str:
    """The same, tried over `root`, or over an empty folder where that is empty."""
    state = locate_state_folder(environ)
    if state is None:
        return explain_unfit(root, environ)
    existing = next(each for each in (state, *state.parents) if os.path.isdir(each))
    try:
        with TemporaryDirectory(prefix="quorum-layer-", dir=existing, ignore_cleanup_errors=True) as folder:
            places = [os.path.join(folder, name) for name in ("up", "work")]
            lower = root or os.path.join(folder, "lower")
            for place in places if root else (lower, *places):
                os.mkdir(place, 0o700)
            _check_room(os.path.join(folder, "room"))
            done = subprocess.run(
                [*trial, lower, *places],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECS,
                check=False,
                env={**select_loader_environment(os.environ), "PATH": os.defpath, "LC_ALL": "C"},
            )
            inner = os.path.join(places[1], "work")
            if os.path.isdir(inner):  # nobody may enter it, as the kernel makes it
                os.chmod(inner, 0o700)
    except subprocess.TimeoutExpired:
        return f"it could not be mounted within {_SECS:g} s"
    except OSError as error:
        return f"the state folder cannot hold one: {error.strerror or error}"
    if done.returncode == 0:
        return ""
    said = (done.stdout or done.stderr).decode("utf-8", "replace").strip().splitlines()
    return said[-1][:300] if said else f"the trial ended with {done.returncode}"


def _check_room(place: str) -> None:
    """Raise OSError where the disk is full."""
    with open(place, "xb", buffering=0) as file:
        os.posix_fallocate(file.fileno(), 0, _ROOM_BYTES)
