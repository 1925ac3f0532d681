"""The roots of a workspace that are still what they were when they were added."""

from __future__ import annotations

import os
from collections.abc import Sequence


def list_standing_roots(roots: Sequence[str]) -> tuple[str, ...]:
    """The roots of a workspace, links resolved, without added ones that are gone or lead elsewhere by now."""
    first, *added = roots
    standing = [folder for folder in added if os.path.isdir(folder) and os.path.realpath(folder) == folder]
    return tuple(dict.fromkeys((os.path.realpath(first), *standing)))
