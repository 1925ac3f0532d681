"""Programs that the app itself starts for the person: those on their PATH, and none of a workspace."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path


def find_program(name: str, environment: Mapping[str, str], workspace: Path) -> str | None:
    """Where a program of this name lies; None where there is none outside the workspace.

    They are started outside the sandbox, unasked. What a command of the model may write is none of them:
    neither by an entry of PATH that lies in the workspace, as that of a `.venv` may, nor by a relative one.
    """
    inside = os.path.realpath(workspace)
    entries = environment.get("PATH", os.defpath).split(os.pathsep)
    outside = [each for each in entries if os.path.isabs(each) and not _is_inside(each, inside)]
    found = shutil.which(name, path=os.pathsep.join(outside))
    return None if found is None or _is_inside(found, inside) else found


def _is_inside(path: str, folder: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(folder)
