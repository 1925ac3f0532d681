"""Starts the resident gate, once a call is answered: the next one finds it loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import quorum
from quorum.domain.errors import ConfigError
from quorum.gate.resident_key import identify_resident
from quorum.infrastructure.remote.place import remove_dead_sockets, resolve_own_path

OPTION = "--resident"
_PROGRAM = os.path.join(os.path.abspath(quorum.__path__[0]), "__main__.py")
_MOST = 4  # an agent that gives each call another environment must not fill the memory with them


def start_resident() -> None:
    """Start it, if this environment has none yet. Raises OSError where that cannot be done."""
    if (key := identify_resident(os.environ)) is None:
        return
    folder = Path(key.socket).parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        resolve_own_path(Path(key.socket))
    except ConfigError:
        return  # it could not listen there
    if remove_dead_sockets(folder) >= _MOST or os.path.lexists(key.socket):
        return
    # -P, and the file by its path: neither the caller's folder nor another `quorum` can come in between.
    subprocess.Popen(
        [sys.executable, "-P", _PROGRAM, "gate", OPTION],
        cwd="/",
        env=dict(os.environ),  # what a library has set past Python would be in no key
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=True,
        start_new_session=True,
    )
