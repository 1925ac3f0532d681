"""Whether a layer can be mounted over a folder here: it is tried, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from quorum.application.program_lookup import select_loader_environment
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.staging import mounting
from quorum.infrastructure.staging.entering import explain_unfit

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
