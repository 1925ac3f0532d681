"""Where programs are looked for that quorum itself starts outside the sandbox: not in a workspace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path


def filter_program_path(path: str, untrusted: Sequence[Path]) -> str:
    """A PATH without its relative entries and without those that lie in these folders, all links resolved."""
    kept = (entry for entry in path.split(os.pathsep) if os.path.isabs(entry))
    return os.pathsep.join(entry for entry in kept if not _is_below(Path(os.path.realpath(entry)), untrusted))


def _is_below(folder: Path, untrusted: Iterable[Path]) -> bool:
    return any(folder.is_relative_to(each) for each in untrusted)
