"""Reads a text file that a project or a person brings along, as far as it may be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from quorum.infrastructure.files.held_files import refuse_held
from quorum.infrastructure.files.opened_path import read_opened_path


def read_bytes(
    path: Path,
    *,
    inside: Path | None,
    limit: int,
    is_sensitive: Callable[[str], bool] = lambda _path: False,
) -> bytes | None:
    """The first `limit` bytes of a regular file. Blocks, and never waits for a pipe.

    None where there is none, it cannot be read, or it is sensitive or lies elsewhere than `inside` once links
    are followed.
    """

    def may_be_read(found: str) -> bool:
        return (inside is None or Path(found).is_relative_to(inside)) and not is_sensitive(found)

    try:
        canonical = Path(os.path.realpath(path))  # raises where a link is changed while it is followed
        if not may_be_read(str(canonical)):
            return None
        refuse_held(canonical)
        descriptor = os.open(canonical, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        # A link may have been put into the way since it was resolved.
        opened = read_opened_path(descriptor)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or not may_be_read(opened or str(canonical)):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(limit)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def decode_text(data: bytes) -> str:
    """Bytes as text, whatever they are; lines end in a newline alone."""
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
