"""The folders in which layers are kept: the files of one, its lock, what is known of it; and all there are."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from quorum.application.whole_file import write_synced_file
from quorum.domain.errors import StagingError

_FOLDER_NAME = "staged"
_VERSION = 1
_GIT_SECS, _CHANGING_SECS, _LOOK_SECS = 10.0, 60.0, 0.01
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class _Meta(Struct, frozen=True, kw_only=True):
    """`began_ns` is a reading of the file system's clock from before the first file of the layer was made."""

    v: int
    workspace: str
    began_ns: int
    made_ms: int
    session: str = ""


class LayerFolder(Struct, frozen=True, kw_only=True):
    """A layer over `workspace`, a canonical path, kept in `place`.

    What was changed in the workspace at `began_ns` or later, by its own times in nanoseconds, may have been
    changed by the person while the layer was there. `made_ms` is when it was made, `session` which one worked
    in it last; empty: none yet.
    """

    place: Path
    workspace: str
    began_ns: int
    made_ms: int
    session: str = ""

    @property
    def id(self) -> str:
        """Its name, which no other layer of this person has."""
        return f"{self.place.parent.name[:8]}x{self.place.name}"

    @property
    def upper(self) -> Path:
        """What was changed in the layer, as the kernel keeps it."""
        return self.place / "up"

    @property
    def work(self) -> Path:
        """The kernel's own folder: it lies on the file system of `upper`."""
        return self.place / "work"

    def renew_began(self) -> LayerFolder:
        """The same layer, which holds nothing yet that was changed before now. Raises OSError."""
        meta = _Meta(
            v=_VERSION,
            workspace=self.workspace,
            began_ns=_read_clock(self.place),
            made_ms=self.made_ms,
            session=self.session,
        )
        return _write_meta(self.place, meta)

    def note_session(self, session: str) -> LayerFolder:
        """The same layer, in which this session works. Raises OSError."""
        meta = _Meta(
            v=_VERSION,
            workspace=self.workspace,
            began_ns=self.began_ns,
            made_ms=self.made_ms,
            session=session,
        )
        return _write_meta(self.place, meta)


def locate_layers(state: Path) -> Path:
    """Where all layers are kept."""
    return state / _FOLDER_NAME


def locate_layers_of(state: Path, workspace: str) -> Path:
    """Where the layers over one workspace are kept."""
    return locate_layers(state) / hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]


def list_places(above: Path) -> list[Path]:
    """The folders of the layers of one workspace, the oldest first."""
    try:
        numbers = sorted(int(name) for name in os.listdir(above) if name.isdecimal())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StagingError(
            f"the layers in {above} cannot be listed ({error.strerror}): repair its rights, or "
            "name another state folder with XDG_STATE_HOME"
        ) from error
    return [above / str(number) for number in numbers]


def create_layer(state: Path, workspace: str) -> Path:
    """Make an empty layer over a canonical path; returns its folder. Raises StagingError."""
    above = locate_layers_of(state, workspace)
    try:
        above.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            place = above / str(max((int(each.name) for each in list_places(above)), default=0) + 1)
            with suppress(FileExistsError):
                place.mkdir(mode=0o700)
                break
        for name in ("up", "work"):
            (place / name).mkdir(mode=0o700)
        # The top of what the layer shows has the mode of the folder above its files.
        os.chmod(place / "up", stat.S_IMODE(os.stat(workspace).st_mode))
        made_ms = time.time_ns() // 1_000_000
        meta = _Meta(v=_VERSION, workspace=workspace, began_ns=_read_clock(place), made_ms=made_ms)
        _write_meta(place, meta)
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = (
            "make room there" if is_full else "repair that, or name another state folder with XDG_STATE_HOME"
        )
        raise StagingError(f"no layer can be kept in {above}: {error.strerror}; {remedy}") from error
    return place


def empty_layer(folder: LayerFolder) -> LayerFolder:
    """The same layer with nothing in it: it shows the workspace as it is. It must be held, and not be mounted.

    Raises StagingError.
    """
    try:
        make_anew(folder.upper, find_top_mode(folder))
        return folder.renew_began()
    except OSError as error:
        raise StagingError(f"the layer in {folder.place} cannot be emptied: {error}") from error


def prepare_mount(folder: LayerFolder) -> bool:
    """Make the kernel's folder anew, and note that this start of the machine writes the layer. Returns whether
    another start did before, which may have ended before all was on the disk. Raises StagingError.
    """
    note = folder.place / "boot"
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        before = note.read_text() if note.exists() else boot
        make_anew(folder.work, 0o700)
        note.write_text(boot)
    except OSError as error:
        raise StagingError(f"the layer in {folder.place} cannot be used: {error}") from error
    return before != boot


def find_top_mode(folder: LayerFolder) -> int:
    """The mode of what a layer shows as the workspace itself. A process that was killed while it emptied the
    layer leaves none, and then it is that of the workspace."""
    for place in (folder.upper, folder.workspace):
        with suppress(FileNotFoundError):
            return stat.S_IMODE(os.stat(place).st_mode)
    return 0o700


def make_anew(place: Path, mode: int) -> None:
    """Have an empty folder in the place of one, or of none. Raises OSError."""
    if place.exists():
        remove_tree(place)
    place.mkdir(mode=0o700)
    os.chmod(place, mode)


def remove_tree(place: Path) -> None:
    """Remove a folder, also one in which there are folders that nobody may enter: the kernel leaves such ones,
    and programs make them. Raises OSError."""
    for above, folders, _ in os.walk(place):
        for name in folders:
            folder = os.path.join(above, name)
            if not os.path.islink(folder):
                with suppress(OSError):
                    os.chmod(folder, 0o700)
    shutil.rmtree(place)


@contextmanager
def hold_layer(place: Path) -> Iterator[LayerFolder]:
    """Have the layer to oneself, until the block ends or the process does. Raises StagingError."""
    try:
        lock = os.open(place / "lock", _LOCK, 0o600)
    except OSError as error:
        raise StagingError(f"the layer in {place} cannot be used: {error.strerror}") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StagingError("another quorum works in this layer; end it, then try again") from error
        yield read_layer(place)
    finally:
        os.close(lock)


def locate_git_lock(place: Path) -> Path:
    """The file whose lock each git shares that reads or writes for a layer."""
    return place / "git.lock"


def wait_for_git(place: Path) -> None:
    """Wait for the end of every git that a process that was killed has left: it may be about to move a ref.

    Raises StagingError where one works on and on.
    """
    with open(os.open(locate_git_lock(place), _LOCK, 0o600), "rb") as lock:
        if not _wait_for_lock(lock.fileno(), _GIT_SECS):
            raise StagingError(
                f"a git that was started for the layer in {place} still runs; end it, then try again"
            )


@contextmanager
def hold_workspace(folder: LayerFolder, *, secs: float = _CHANGING_SECS) -> Iterator[None]:
    """Change the workspace of a layer, and have no other layer's effects carried over into it meanwhile.

    Raises StagingError where another process does so on and on.
    """
    with open(os.open(folder.place.parent / "changing.lock", _LOCK, 0o600), "rb") as lock:
        if not _wait_for_lock(lock.fileno(), secs):
            raise StagingError(
                f"another quorum applies changes to {folder.workspace}, and goes on; end it, then try again"
            )
        yield


def _wait_for_lock(lock: int, secs: float) -> bool:
    """Whether it could be had."""
    end = time.monotonic() + secs
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
        time.sleep(_LOOK_SECS)


def is_held(place: Path) -> bool:
    """Whether some process has the layer."""
    try:
        with hold_layer(place):
            return False
    except StagingError:
        return True


def read_layer(place: Path) -> LayerFolder:
    """What is known of a layer. Raises StagingError."""
    try:
        meta = msgspec.json.decode((place / "meta.json").read_bytes(), type=_Meta)
    except (OSError, msgspec.MsgspecError) as error:
        raise StagingError(f"the layer in {place} cannot be read: {error}") from error
    if meta.v != _VERSION:
        raise StagingError(f"the layer in {place} is of another version of quorum: use that one")
    return LayerFolder(
        place=place,
        workspace=meta.workspace,
        began_ns=meta.began_ns,
        made_ms=meta.made_ms,
        session=meta.session,
    )


def explain_unreadable(place: Path) -> str:
    """Why a folder that holds something of a layer cannot be read, and where that is, a sentence; empty where
    it can, or holds nothing."""
    try:
        read_layer(place)
    except StagingError as error:
        upper = place / "up"
        try:
            holds_any = bool(os.listdir(upper))
        except FileNotFoundError:
            return ""
        except OSError:
            holds_any = True
        return f"{error}; what was changed in it is in {upper}" if holds_any else ""
    return ""


def _read_clock(place: Path) -> int:
    """The time that a file gets which is made now. It is that of the workspace's files, unless these lie on
    another machine."""
    probe = place / "probe"
    probe.unlink(missing_ok=True)
    probe.touch(mode=0o600, exist_ok=False)
    return os.stat(probe).st_ctime_ns


def _write_meta(place: Path, meta: _Meta) -> LayerFolder:
    write_synced_file(place / "meta.json", msgspec.json.encode(meta))
    return read_layer(place)


class StoredLayer(Struct, frozen=True, kw_only=True):
    """A layer as it is listed. `is_held`: a process works in it now; `session` did last."""

    id: str
    workspace: str
    folder: Path
    made_ms: int
    is_held: bool
    session: str


def list_layers(state: Path, workspace: Path | None = None) -> tuple[StoredLayer, ...]:
    """The layers over a workspace, or over all, the oldest first. One that cannot be read is left out: see
    `list_unreadable`."""
    return tuple(sorted(_list_layers(state, workspace), key=lambda layer: layer.made_ms))


def _list_layers(state: Path, workspace: Path | None) -> Iterator[StoredLayer]:
    for place in _list_places(state, workspace):
        try:
            layer = read_layer(place)
        except StagingError:
            continue
        yield StoredLayer(
            id=layer.id,
            workspace=layer.workspace,
            folder=place,
            made_ms=layer.made_ms,
            is_held=is_held(place),
            session=layer.session,
        )


def list_unreadable(state: Path, workspace: Path | None = None) -> tuple[str, ...]:
    """What there is to say of those that hold something and cannot be read, a sentence each."""
    return tuple(filter(None, map(explain_unreadable, _list_places(state, workspace))))


def _list_places(state: Path, workspace: Path | None) -> list[Path]:
    if workspace is not None:
        above = [locate_layers_of(state, str(workspace))]
    else:
        top = locate_layers(state)
        above = [each for each in top.iterdir() if each.is_dir()] if top.is_dir() else []
    return [place for each in above for place in list_places(each)]
