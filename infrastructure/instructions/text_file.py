"""Reads a text file that a project or a person brings along, as far as it may be read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from infrastructure.files.held_files import refuse_held


def read_bytes(path: Path, *, inside: Path | None, limit: int) -> bytes | None:
    """The first `limit` bytes of a regular file; None where there is none, it cannot be read, or it lies
    elsewhere than `inside` once links are followed. Blocks, and never waits for a pipe."""
    canonical = Path(os.path.realpath(path))
    if inside is not None and not canonical.is_relative_to(inside):
        return None
    try:
        refuse_held(canonical)
        descriptor = os.open(canonical, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
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
