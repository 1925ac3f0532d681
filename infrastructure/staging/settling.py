"""Has a layer that is not mounted hold the rest of its effects, once others of them stand in the workspace."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from quorum.infrastructure.staging.change_journal import ChangePlan
from quorum.infrastructure.staging.layer_folder import LayerFolder, find_top_mode, make_anew, remove_tree
from quorum.infrastructure.staging.layer_repository import LayerRepository
from quorum.infrastructure.staging.upper_folder import (
    UpperFolder,
    is_opaque,
    is_whiteout,
    opened_to_us,
    read_status,
    show_through,
)

_EMPTYING = "emptying"


def settle(upper: Path, lower: str, plan: ChangePlan, repository: LayerRepository) -> None:
    """What is cleared shows as the workspace has it; what is still gone stays deleted, each path by itself.

    Can be repeated. Raises OSError.
    """
    cleared = frozenset(plan.cleared)
    touched = frozenset(_list_above(cleared))
    for path in _list_hiding(str(upper), ""):
        if path in touched or path in cleared:
            whole = upper / path
            if is_whiteout(os.lstat(whole)):
                _unlink(whole)
            elif is_opaque(str(whole)):
                show_through(str(whole))
    for path in cleared:
        # A folder's own path ends in a slash: a file that took its name is another effect.
        status = None if path.endswith("/") else read_status(str(upper / path))
        if status is not None and not stat.S_ISDIR(status.st_mode):
            _unlink(upper / path)
    if plan.is_repository_cleared:
        _clear_repository(upper, repository)
    for path in plan.still_gone:
        _hide(upper, lower, path.rstrip("/"))
    _remove_empty_folders(str(upper), lower, touched, cleared)
    drop_copies(upper, lower)


def drop_copies(upper: Path, lower: str) -> None:
    """Have files show as the workspace has them, that a program in the layer only touched. Raises OSError."""
    for path in UpperFolder(str(upper), lower).list_touched():
        # Of a file with other names in the layer these are copies as well, and belong to it.
        if not path.startswith(".git/") and os.lstat(upper / path).st_nlink == 1:
            _unlink(upper / path)


def _unlink(path: Path) -> None:
    with opened_to_us(path.parent):
        path.unlink()


def empty(layer: LayerFolder) -> None:
    """Have a layer hold nothing. A process that is killed leaves it to `finish_emptying`. Raises OSError."""
    (layer.place / _EMPTYING).touch()
    finish_emptying(layer)


def abandon_emptying(layer: LayerFolder) -> None:
    """What is left in a layer stays. Raises OSError."""
    (layer.place / _EMPTYING).unlink(missing_ok=True)


def finish_emptying(layer: LayerFolder) -> bool:
    """Whether a layer was to be emptied, or a process was killed that did so; now it is. Raises OSError."""
    marker = layer.place / _EMPTYING
    if not marker.exists() and layer.upper.exists():
        return False
    make_anew(layer.upper, find_top_mode(layer))
    make_anew(layer.work, 0o700)
    marker.unlink(missing_ok=True)
    return True


def _list_above(paths: Collection[str]) -> Iterator[str]:
    """The folders that paths lie in, and the paths themselves."""
    for path in paths:
        whole = path.rstrip("/")
        while whole:
            yield whole
            whole = whole.rpartition("/")[0]
    yield "."


def _list_hiding(upper: str, folder: str) -> Iterator[str]:
    """The names that hide something of the workspace: what is gone, and folders that hide the one below
    them."""
    if not folder and is_opaque(upper):
        yield "."
    with os.scandir(upper + "/" + folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        path = folder + entry.name
        status = entry.stat(follow_symlinks=False)
        if is_whiteout(status):
            yield path
        elif stat.S_ISDIR(status.st_mode):
            if is_opaque(f"{upper}/{path}"):
                yield path
            yield from _list_hiding(upper, path + "/")


def _clear_repository(upper: Path, repository: LayerRepository) -> None:
    git = upper / ".git"
    for name in os.listdir(git) if git.is_dir() else ():
        path = git / name
        if repository.covers(f".git/{name}"):
            if path.is_dir() and not path.is_symlink():
                remove_tree(path)
            else:
                path.unlink()


def _hide(upper: Path, lower: str, path: str) -> None:
    """Have a name of the workspace be gone in the layer, if nothing else says so already."""
    folder = upper
    *above, name = path.split("/")
    for place, each in enumerate(above):
        folder = folder / each
        status = read_status(str(folder))
        if status is None:
            folder.mkdir()
            shutil.copystat(f"{lower}/{'/'.join(above[: place + 1])}", folder)
        elif not stat.S_ISDIR(status.st_mode) or is_opaque(str(folder)):
            return
    if read_status(str(folder / name)) is None:
        with opened_to_us(folder):
            os.mknod(folder / name, stat.S_IFCHR, os.makedev(0, 0))


def _remove_empty_folders(upper: str, lower: str, touched: Collection[str], cleared: Collection[str]) -> None:
    """What would look like a folder that the layer made, once the person removes the one in the workspace. One
    whose mode is an effect that is left stays."""
    for path in sorted(frozenset(touched) - {"."}, key=len, reverse=True):
        if os.path.isdir(f"{lower}/{path}") and not os.path.islink(f"{upper}/{path}"):
            whole = Path(upper, path)
            if f"{path}/" not in cleared and _differ_in_mode(f"{lower}/{path}", f"{upper}/{path}"):
                continue
            with suppress(OSError), opened_to_us(whole.parent):
                whole.rmdir()


def _differ_in_mode(one: str, other: str) -> bool:
    modes = [stat.S_IMODE(status.st_mode) for path in (one, other) if (status := read_status(path))]
    return len(modes) == 2 and modes[0] != modes[1]
