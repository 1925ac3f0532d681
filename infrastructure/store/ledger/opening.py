"""The database that the settings name, opened, or made where there is none."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from quorum.infrastructure.storage_backend import ContentObjects, OpenBlobs
from quorum.infrastructure.store.ledger.database import Database, open_no_blobs
from quorum.infrastructure.store.ledger.place import locate_database
from quorum.infrastructure.store.ledger.trouble import translate_database_errors
from quorum.infrastructure.wall_clock import read_wall_clock_ms


def open_database(
    url: str,
    environ: Mapping[str, str],
    *,
    open_blobs: OpenBlobs = open_no_blobs,
    objects: ContentObjects | None = None,
    clock: Callable[[], int] = read_wall_clock_ms,
) -> Database:
    """Open the database of sessions, or make it. Blocks.

    A damaged one is mended: what can be read is saved and the damaged file kept aside, which `notices` says.
    Raises ConfigError for a url that cannot be used, and LedgerError, which names the file and the remedy.
    """
    path = locate_database(url, environ)
    with translate_database_errors("cannot be opened", path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A folder that the person named is theirs to open to others.
        if not url and stat.S_IMODE(path.parent.stat().st_mode) & 0o077:
            path.parent.chmod(0o700)
    return Database(Path(os.path.realpath(path)), open_blobs=open_blobs, objects=objects, clock=clock)
